package main

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// longestWatch ends watches whose clients set no limit.
const longestWatch = time.Hour

// metadataOnly says whether the client wants objects without their content.
func (c *call) metadataOnly() bool {
	return strings.Contains(c.r.Header.Get("Accept"), "as=PartialObjectMetadata")
}

// shown is an object as the client wants it.
func (c *call) shown(o *object) []byte {
	if !c.metadataOnly() {
		return o.json
	}
	return encode(map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": o.decode().Object["metadata"]})
}

func (c *call) answer(code int, o *object) { answer(c.w, code, jsonType, c.shown(o)) }

// list answers with all objects at once: no member is large enough for pages.
func (c *call) list() error {
	selector, err := c.selector()
	if err != nil {
		return err
	}
	found, revision := c.store.list(c.table(), c.name().Namespace, selector)
	var body bytes.Buffer
	apiVersion, kind := c.kind.GroupVersion.String(), c.kind.name+"List"
	if c.metadataOnly() {
		apiVersion, kind = "meta.k8s.io/v1", "PartialObjectMetadataList"
	}
	body.WriteString(`{"apiVersion":"` + apiVersion + `","kind":"` + kind + `","metadata":{"resourceVersion":"` + strconv.FormatUint(revision, 10) + `"},"items":[`)
	separator := ""
	for _, o := range found {
		if c.info.Name != "" && o.Name != c.info.Name { // field selector metadata.name
			continue
		}
		body.WriteString(separator)
		body.Write(c.shown(o))
		separator = ","
	}
	body.WriteString("]}")
	answer(c.w, http.StatusOK, jsonType, body.Bytes())
	return nil
}

// watch sends events until the client goes or its limit is reached.
func (c *call) watch() error {
	selector, err := c.selector()
	if err != nil {
		return err
	}
	query := c.r.URL.Query()
	limit := longestWatch
	if seconds, err := strconv.Atoi(query.Get("timeoutSeconds")); err == nil && seconds > 0 {
		limit = time.Duration(seconds) * time.Second
	}
	end := time.NewTimer(limit)
	defer end.Stop()
	revision, err := strconv.ParseUint(query.Get("resourceVersion"), 10, 64)
	initial := query.Get("sendInitialEvents") == "true"
	stream := stream{call: c, selector: selector}
	if initial || err != nil || revision == 0 {
		revision = stream.begin(initial)
	}
	for {
		events, next, kept := c.store.since(c.table(), revision)
		if !kept {
			return stream.expire()
		}
		stream.open()
		for _, e := range events {
			stream.send(e)
			revision = e.revision
		}
		stream.flush()
		select {
		case <-next:
		case <-end.C:
			return nil
		case <-c.r.Context().Done():
			return nil
		}
	}
}

// stream is the answer to a watch.
type stream struct {
	*call
	selector labels.Selector
	opened   bool
}

// open sends the head of the answer, once.
func (s *stream) open() {
	if !s.opened {
		s.opened = true
		s.w.Header().Set("Content-Type", jsonType)
		s.w.WriteHeader(http.StatusOK)
	}
}

func (s *stream) flush() { _ = http.NewResponseController(s.w).Flush() }

// begin sends what there is, with a bookmark at its end if the client wants one,
// and returns its revision.
func (s *stream) begin(bookmark bool) uint64 {
	found, revision := s.store.list(s.table(), s.name().Namespace, s.selector)
	s.open()
	for _, o := range found {
		s.write("ADDED", s.shown(o))
	}
	if bookmark {
		mark := &unstructured.Unstructured{Object: map[string]any{}}
		mark.SetAPIVersion(s.kind.GroupVersion.String())
		mark.SetKind(s.kind.name)
		if s.metadataOnly() {
			mark.SetAPIVersion("meta.k8s.io/v1")
			mark.SetKind("PartialObjectMetadata")
		}
		mark.SetResourceVersion(strconv.FormatUint(revision, 10))
		mark.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
		s.write("BOOKMARK", encode(mark.Object))
	}
	return revision
}

// send tells of an event as a client with this selector sees it.
func (s *stream) send(e event) {
	if namespace := s.name().Namespace; namespace != "" && namespace != e.Namespace || s.info.Name != "" && s.info.Name != e.Name {
		return
	}
	was := e.before != nil && s.selector.Matches(e.before)
	is := !e.gone && s.selector.Matches(e.labels)
	switch {
	case is && !was:
		s.write("ADDED", s.shown(e.object))
	case is:
		s.write("MODIFIED", s.shown(e.object))
	case was:
		s.write("DELETED", s.shown(e.object))
	}
}

func (s *stream) write(kind string, object []byte) {
	_, _ = s.w.Write([]byte(`{"type":"` + kind + `","object":`)) // a client that has gone ends the request
	_, _ = s.w.Write(object)
	_, _ = s.w.Write([]byte("}\n"))
}

// expire tells that the events the client wants are no longer kept.
func (s *stream) expire() error {
	gone := apierrors.NewResourceExpired("too old resource version")
	if !s.opened {
		return gone
	}
	status := gone.Status()
	status.Kind, status.APIVersion = "Status", "v1"
	s.write("ERROR", encode(status))
	s.flush()
	return nil
}
