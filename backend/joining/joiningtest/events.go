package joiningtest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Event is one thing that happened to an object: a line of a watch.
type Event struct {
	Type   string          `json:"type"`
	Object json.RawMessage `json:"object"` // as it was then
	Path   string          `json:"-"`

	version int
}

// tell notes what happened at the present version; Mu is held.
func (f *API) tell(e Event) {
	e.version = f.version
	f.log = append(f.log, e)
	close(f.more)
	f.more = make(chan struct{})
}

// Follow hands on all that happened in a collection after a version, deletions too,
// and what happens from now on, until done is closed or take returns false.
func (f *API) Follow(collection string, since int, done <-chan struct{}, take func(Event) bool) {
	for told := 0; ; {
		f.Mu.Lock()
		news, more := f.log[told:], f.more
		f.Mu.Unlock()
		told += len(news)
		for _, e := range news {
			if e.version > since && within(e.Path, collection) && !take(e) {
				return
			}
		}
		select {
		case <-done:
			return
		case <-more:
		}
	}
}

func (f *API) watch(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		Refuse(w, http.StatusUnprocessableEntity, "Invalid", "no streaming lists here") // clients fall back to a list
		return
	}
	// What happened since the version asked for, deletions too, as a watch cache
	// would say.
	since, err := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	if err != nil {
		Refuse(w, http.StatusBadRequest, "BadRequest", "a watch here needs the version it starts from")
		return
	}
	watch := func(change int) {
		f.Mu.Lock()
		defer f.Mu.Unlock()
		f.Watchers += change
	}
	watch(1)
	defer watch(-1)
	w.Header().Set("Content-Type", "application/json")
	w.(http.Flusher).Flush()
	only, _ := strings.CutPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name=")
	f.Follow(r.URL.Path, since, r.Context().Done(), func(e Event) bool {
		if only != "" && !strings.HasSuffix(e.Path, "/"+only) {
			return true
		}
		data, _ := json.Marshal(e)
		_, err := w.Write(append(data, '\n'))
		w.(http.Flusher).Flush()
		return err == nil
	})
}

// Parent is the path of the collection that an object is in.
func Parent(path string) string { return path[:strings.LastIndex(path, "/")] }

// within says whether an object is in a collection, which may be that of one
// namespace or of all.
func within(path, collection string) bool {
	parts := strings.Split(Parent(path), "/")
	if at := slices.Index(parts, "namespaces"); at >= 0 && at < len(parts)-1 && Parent(path) != collection {
		parts = slices.Delete(parts, at, at+2)
	}
	return strings.Join(parts, "/") == collection
}
