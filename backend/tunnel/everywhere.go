package tunnel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

const (
	memberPatience  = 10 * time.Second // for one member's answer, so that a silent one delays the others' no longer
	membersAtOnce   = 16
	maxMemberAnswer = 64 << 20
	justMetadata    = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
)

var requestInfos = &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

// Everywhere returns how to serve a request for all members at once, which is
// what clusters/*/proxy means (contract section 12.1). A list is the lists of all
// of them, in order of their names; one object is read in the only member that has
// it. All else is refused: nobody means to delete a pod wherever one of that name
// may run. A member that cannot be asked is left out of a list and named in a
// warning; if none can, the answer is an error.
func (p *Proxy) Everywhere(ctx context.Context, clusters []clusterv1alpha1.Cluster, path string, who user.Info) (http.Handler, error) {
	if _, err := impersonate(who); err != nil {
		return nil, err
	}
	clusters = slices.SortedFunc(slices.Values(clusters), func(a, b clusterv1alpha1.Cluster) int { return strings.Compare(a.Name, b.Name) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := p.answer(w, r, everywhere{clusters: clusters, path: path, who: who}); err != nil {
			refuse(w, err)
		}
	}), nil
}

// everywhere is a request for all members: which they are, the path in each of
// them, and whom it is for.
type everywhere struct {
	clusters []clusterv1alpha1.Cluster
	path     string
	who      user.Info
}

func (p *Proxy) answer(w http.ResponseWriter, r *http.Request, all everywhere) error {
	info, err := readOf(r, all.path)
	if err != nil {
		return err
	}
	if info.Verb == "list" {
		return p.list(w, r, all, info)
	}
	return p.one(w, r, all, info)
}

// readOf says what a request reads, or why it is not for all members at once.
func readOf(r *http.Request, path string) (*request.RequestInfo, error) {
	asked := r.Clone(r.Context())
	asked.URL.Path = "/" + strings.TrimPrefix(path, "/")
	info, err := requestInfos.NewRequestInfo(asked)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	resource := schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}
	switch {
	case r.Method != http.MethodGet:
		return nil, apierrors.NewMethodNotSupported(resource, strings.ToLower(r.Method)+" in all clusters at once")
	case !info.IsResourceRequest:
		return nil, apierrors.NewBadRequest("only objects can be read in all clusters at once; ask one cluster for " + asked.URL.Path)
	case info.Verb == "watch":
		return nil, apierrors.NewMethodNotSupported(resource, "watch in all clusters at once")
	}
	return info, nil
}

// reply is what one member said, or why it said nothing.
type reply struct {
	cluster *clusterv1alpha1.Cluster
	code    int
	body    map[string]any
	err     error
}

// list answers with what all members list. Where in a list one was is known to no
// member of the others: pages and versions are left out.
func (p *Proxy) list(w http.ResponseWriter, r *http.Request, all everywhere, info *request.RequestInfo) error {
	query := r.URL.Query()
	for _, key := range []string{"limit", "continue", "resourceVersion", "resourceVersionMatch"} {
		query.Del(key)
	}
	replies := p.ask(r, all, all.path+"?"+query.Encode(), textOnly(r.Header.Get("Accept")))
	var merged map[string]any
	for _, said := range replies {
		if said.code != http.StatusOK {
			continue
		}
		mark(said)
		if merged == nil {
			merged = said.body
			merged["metadata"] = map[string]any{"resourceVersion": ""}
			continue
		}
		for _, key := range []string{"items", "rows"} {
			more, _ := said.body[key].([]any)
			if have, _ := merged[key].([]any); len(have)+len(more) > 0 {
				merged[key] = append(have, more...)
			}
		}
	}
	if merged == nil {
		return nothing(replies, info)
	}
	warn(w, replies)
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(merged)
}

// one passes the request on to the only member that has the object, as if the
// client had named that member: logs and upgraded connections work, too.
func (p *Proxy) one(w http.ResponseWriter, r *http.Request, all everywhere, info *request.RequestInfo) error {
	path := strings.TrimSuffix(all.path, "/")
	if len(info.Parts) > 2 {
		path = strings.TrimSuffix(path, "/"+strings.Join(info.Parts[2:], "/"))
	}
	replies := p.ask(r, all, path, justMetadata)
	var owners []*clusterv1alpha1.Cluster
	for _, said := range replies {
		if said.code == http.StatusOK {
			owners = append(owners, said.cluster)
		}
	}
	resource := schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}
	switch len(owners) {
	case 0:
		return nothing(replies, info)
	case 1:
	default:
		names := make([]string, len(owners))
		for i, owner := range owners {
			names[i] = owner.Name
		}
		return apierrors.NewConflict(resource, info.Name, fmt.Errorf("clusters %s all have it; ask one of them", strings.Join(names, ", ")))
	}
	handler, err := p.Handler(r.Context(), owners[0], all.path, all.who)
	if err != nil {
		return err
	}
	warn(w, replies)
	handler.ServeHTTP(w, r)
	return nil
}

// ask sends a GET to all members and returns their replies in the same order.
func (p *Proxy) ask(r *http.Request, all everywhere, path, accept string) []reply {
	replies := make([]reply, len(all.clusters))
	var group errgroup.Group
	group.SetLimit(membersAtOnce)
	for i := range all.clusters {
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(r.Context(), memberPatience)
			defer cancel()
			replies[i] = p.read(ctx, &all.clusters[i], path, accept, all.who)
			return nil
		})
	}
	_ = group.Wait()
	return replies
}

func (p *Proxy) read(ctx context.Context, cluster *clusterv1alpha1.Cluster, path, accept string, who user.Info) reply {
	said := reply{cluster: cluster}
	bare, query, _ := strings.Cut(path, "?")
	location, forward, err := p.way(ctx, cluster, bare, who)
	if err != nil {
		said.err = err
		return said
	}
	location.RawQuery = query
	asked, err := http.NewRequestWithContext(ctx, http.MethodGet, location.String(), nil)
	if err != nil {
		said.err = fmt.Errorf("build request: %w", err)
		return said
	}
	asked.Header.Set("Accept", accept)
	response, err := forward.RoundTrip(asked)
	if err != nil {
		said.err = err
		return said
	}
	defer response.Body.Close()
	said.code = response.StatusCode
	body, err := io.ReadAll(io.LimitReader(response.Body, maxMemberAnswer+1))
	switch {
	case err != nil:
	case len(body) > maxMemberAnswer:
		err = fmt.Errorf("its answer is longer than %d MiB", maxMemberAnswer>>20)
	case said.code == http.StatusOK:
		err = json.Unmarshal(body, &said.body)
	}
	if err != nil {
		said.code, said.err = 0, fmt.Errorf("read its answer: %w", err)
	}
	return said
}

// mark writes onto each object of a list which cluster it is in.
func mark(said reply) {
	items, _ := said.body["items"].([]any)
	rows, _ := said.body["rows"].([]any)
	for _, row := range rows {
		if fields, ok := row.(map[string]any); ok {
			items = append(items, fields["object"])
		}
	}
	for _, item := range items {
		if fields, ok := item.(map[string]any); ok {
			object := unstructured.Unstructured{Object: fields}
			annotations := maps.Clone(object.GetAnnotations())
			if annotations == nil {
				annotations = map[string]string{}
			}
			annotations[apis.CachedFromClusterAnnotation] = said.cluster.Name
			object.SetAnnotations(annotations)
		}
	}
}

// nothing is the error of a request that no member has answered well: not found,
// if all of them say so.
func nothing(replies []reply, info *request.RequestInfo) error {
	resource := schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}
	for _, said := range replies {
		switch {
		case said.code == http.StatusNotFound:
		case said.code == http.StatusForbidden || said.code == http.StatusUnauthorized:
			return apierrors.NewForbidden(resource, info.Name, fmt.Errorf("cluster %s refuses it", said.cluster.Name))
		default:
			return apierrors.NewInternalError(errors.New(complaint(said)))
		}
	}
	if info.Name == "" {
		return apierrors.NewNotFound(resource, "of any cluster")
	}
	return apierrors.NewNotFound(resource, info.Name)
}

// warn names the members that were not heard. One that does not serve the kind
// has been heard: it has none of it.
func warn(w http.ResponseWriter, replies []reply) {
	for _, said := range replies {
		if said.code != http.StatusOK && said.code != http.StatusNotFound {
			w.Header().Add("Warning", fmt.Sprintf("299 - %q", complaint(said)))
		}
	}
}

func complaint(said reply) string {
	if said.err != nil {
		return fmt.Sprintf("cluster %s cannot be asked: %v", said.cluster.Name, said.err)
	}
	return fmt.Sprintf("cluster %s answers with code %d", said.cluster.Name, said.code)
}

// textOnly leaves of an Accept header what we can read.
func textOnly(accept string) string {
	var kept []string
	for _, media := range strings.Split(accept, ",") {
		if media = strings.TrimSpace(media); strings.HasPrefix(media, "application/json") {
			kept = append(kept, media)
		}
	}
	if len(kept) == 0 {
		return "application/json"
	}
	return strings.Join(kept, ",")
}

// refuse answers with an error of ours, as a Status.
func refuse(w http.ResponseWriter, err error) {
	var known apierrors.APIStatus
	if !errors.As(err, &known) {
		known = apierrors.NewInternalError(err)
	}
	status := known.Status()
	status.Kind, status.APIVersion = "Status", "v1"
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(status.Code))
	_ = json.NewEncoder(w).Encode(status)
}
