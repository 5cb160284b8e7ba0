package tunnel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/agentapi"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	"muster.dev/muster/backend/registration"
)

// A member that was registered here is shown to clients of Open Cluster Management
// as a ManagedCluster, and may be given ManifestWorks as well. Its agent carries
// them out, over the link: it is told of the works in the cluster's namespace, and
// writes their finalizer and their status. Whoever registered by that dialect has
// an agent of that dialect, which the link leaves alone.

// parallelPatches bounds the patches of one session that go on at once.
const parallelPatches = agentapi.MaxManifestPatches

// followManifestWorks hears of ManifestWorks, where the hub has them.
func (l *Link) followManifestWorks(ctx context.Context) error {
	if !l.options.ManifestWorks {
		return nil
	}
	informer, err := l.options.Store.GetInformer(ctx, &ocmworkv1.ManifestWork{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch manifest works: %w", err)
	}
	managed, err := l.options.Store.GetInformer(ctx, &ocmv1.ManagedCluster{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch managed clusters: %w", err)
	}
	tell := func(object any) {
		if gone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if work, ok := object.(*ocmworkv1.ManifestWork); ok {
			if s := l.session(work.Namespace); s != nil && s.carries() {
				s.outbox.manifest(work.Name)
			}
		}
	}
	followed, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: tell, UpdateFunc: func(_, o any) { tell(o) }, DeleteFunc: tell})
	if err != nil {
		return fmt.Errorf("watch manifest works: %w", err)
	}
	// Whose the works of a cluster are shows when its ManagedCluster comes, or turns.
	_, err = managed.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: l.managedChanged, UpdateFunc: func(before, after any) {
		b, okB := before.(*ocmv1.ManagedCluster)
		a, okA := after.(*ocmv1.ManagedCluster)
		if !okB || !okA || registration.Mirrored(b) != registration.Mirrored(a) {
			l.managedChanged(after)
		}
	}})
	if err != nil {
		return fmt.Errorf("watch managed clusters: %w", err)
	}
	if !toolscache.WaitForCacheSync(ctx.Done(), followed.HasSynced) {
		return ctx.Err()
	}
	return nil
}

func (l *Link) managedChanged(object any) {
	cluster, ok := object.(*ocmv1.ManagedCluster)
	if !ok || !registration.Mirrored(cluster) {
		return
	}
	if s := l.session(cluster.Name); s != nil {
		s.beginManifestWorks()
	}
}

// carries says whether the agent at the other end carries out ManifestWorks.
func (s *session) carries() bool {
	return s.link.options.ManifestWorks && s.protocol >= agentapi.ProtocolManifestWorks && s.mirrored()
}

func (s *session) mirrored() bool {
	cluster := &ocmv1.ManagedCluster{}
	err := s.link.options.Store.Get(s.ctx, client.ObjectKey{Name: s.cluster}, cluster)
	return err == nil && registration.Mirrored(cluster)
}

// beginManifestWorks queues all works of the cluster, and the word that they are
// all. It may be said again.
func (s *session) beginManifestWorks() {
	if !s.carries() {
		return
	}
	works := &ocmworkv1.ManifestWorkList{}
	if err := s.link.options.Store.List(s.ctx, works, client.InNamespace(s.cluster)); err != nil {
		if s.ctx.Err() == nil {
			s.log.Warn("manifest works not listed", "error", err)
		}
		return
	}
	names := make([]string, 0, len(works.Items)+1)
	for i := range works.Items {
		names = append(names, works.Items[i].Name)
	}
	s.outbox.manifest(append(names, "")...)
}

// manifestDelivery makes the frame that tells of a work as it is now; no name tells
// that all have been told.
func (s *session) manifestDelivery(name string) (*agentapi.ManifestWork, error) {
	if name == "" {
		return &agentapi.ManifestWork{Op: agentapi.ManifestAll}, nil
	}
	work := &ocmworkv1.ManifestWork{}
	err := s.link.options.Store.Get(s.ctx, client.ObjectKey{Namespace: s.cluster, Name: name}, work)
	if apierrors.IsNotFound(err) {
		return &agentapi.ManifestWork{Op: agentapi.ManifestGone, Name: name}, nil
	}
	if err != nil {
		return nil, err
	}
	object, err := encodeWork(work)
	if err != nil {
		return nil, err
	}
	return &agentapi.ManifestWork{Op: agentapi.ManifestIs, Name: name, Object: object}, nil
}

func encodeWork(work *ocmworkv1.ManifestWork) (json.RawMessage, error) {
	sent := work.DeepCopy()
	sent.ManagedFields = nil
	sent.APIVersion, sent.Kind = ocmworkv1.GroupVersion.String(), "ManifestWork"
	return json.Marshal(sent)
}

// patchManifest answers what the agent writes to a work. It does not wait for the
// store: the reader has to hear the agent.
func (s *session) patchManifest(f *agentapi.ManifestPatch) error {
	if !s.carries() {
		s.outbox.answer(&agentapi.ManifestAnswer{ID: f.ID, Code: http.StatusForbidden, Message: "the works of this cluster are another agent's"})
		return nil
	}
	select {
	case s.patches <- struct{}{}:
	default:
		return &agentapi.MalformedError{Type: f.Type(), Reason: "too many patches at once"}
	}
	s.inbox.finished.Go(func() {
		defer func() { <-s.patches }()
		s.outbox.answer(s.writeManifest(f))
	})
	return nil
}

// writeManifest writes what the frame has been found to be: the finalizers or the
// status of a work in the cluster's own namespace, of the version that was seen.
func (s *session) writeManifest(f *agentapi.ManifestPatch) *agentapi.ManifestAnswer {
	work := &ocmworkv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: s.cluster, Name: f.Name}}
	var err error
	switch hub := s.link.options.Client; {
	case len(f.Patch) == 0:
		err = hub.Get(s.ctx, client.ObjectKeyFromObject(work), work)
	case f.Status:
		err = hub.Status().Patch(s.ctx, work, client.RawPatch(types.MergePatchType, f.Patch))
	default:
		err = hub.Patch(s.ctx, work, client.RawPatch(types.MergePatchType, f.Patch))
	}
	answer := &agentapi.ManifestAnswer{ID: f.ID, Code: http.StatusOK}
	if err == nil {
		answer.Object, err = encodeWork(work)
	}
	var status apierrors.APIStatus
	switch {
	case err == nil:
	case errors.As(err, &status) && status.Status().Code > 0:
		answer.Code, answer.Message = int(status.Status().Code), status.Status().Message
	default:
		s.log.Debug("manifest work not written", "name", f.Name, "error", err)
		answer.Code, answer.Message = http.StatusServiceUnavailable, "the hub cannot write now"
	}
	return answer
}

// manifest queues works to be told of, each once.
func (o *outbox) manifest(names ...string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, name := range names {
		if _, waiting := o.manifestSet[name]; !waiting {
			o.manifestSet[name] = struct{}{}
			o.manifests = append(o.manifests, name)
		}
	}
	o.wake()
}

// answer queues an answer. They go first: somebody waits.
func (o *outbox) answer(f *agentapi.ManifestAnswer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answers = append(o.answers, f)
	o.wake()
}

// popManifest takes the next work to be told of. The lock is held.
func (o *outbox) popManifest() (name string, ok bool) {
	if len(o.manifests) == 0 {
		o.manifests = nil
		return "", false
	}
	name = o.manifests[0]
	o.manifests = o.manifests[1:]
	delete(o.manifestSet, name)
	return name, true
}
