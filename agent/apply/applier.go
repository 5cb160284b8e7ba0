package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"muster.dev/muster/agent/interpret"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

// Applier applies Works to one member. Its methods may be called side by side,
// but not twice at once for one Work.
type Applier struct {
	client   dynamic.Interface
	watcher  dynamic.Interface // the same member, without a limit for each request
	metadata metadata.Interface
	mapper   *mapper
	clock    clock.PassiveClock

	interpreter *interpret.Interpreter

	mu       sync.Mutex
	watching context.Context // that of Watch; nil before
	over     bool            // Watch has ended, or is about to
	notify   func(workNamespace, workName string)
	watches  map[schema.GroupVersionResource]*kindWatch
	memos    map[objectKey]workMemo
	running  sync.WaitGroup // the informers
}

type objectKey struct {
	resource        schema.GroupVersionResource
	namespace, name string
}

type workMemo struct {
	memo
	work types.NamespacedName
}

// Option changes what an Applier works with.
type Option func(*Applier)

// WithInterpreter lets an interpreter judge the objects. Default:
// interpret.Native().
func WithInterpreter(i *interpret.Interpreter) Option {
	return func(a *Applier) { a.interpreter = i }
}

// New returns an applier for the member that cfg reaches. It does not connect.
// The configuration is copied; its rate limits are lifted.
func New(cfg *rest.Config, options ...Option) (*Applier, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.RateLimiter = -1, nil
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("client of the member: %w", err)
	}
	objects, err := metadata.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("metadata client of the member: %w", err)
	}
	disc, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("discovery client of the member: %w", err)
	}
	a := newApplier(client, objects, disc)
	forever := rest.CopyConfig(cfg)
	forever.Timeout = 0 // it would end watches, too
	if a.watcher, err = dynamic.NewForConfig(forever); err != nil {
		return nil, fmt.Errorf("watching client of the member: %w", err)
	}
	for _, option := range options {
		option(a)
	}
	return a, nil
}

func newApplier(client dynamic.Interface, objects metadata.Interface, disc discovery.DiscoveryInterface) *Applier {
	return &Applier{
		client: client, watcher: client, metadata: objects, mapper: newMapper(disc, clock.RealClock{}), clock: clock.RealClock{},
		interpreter: interpret.Native(),
		watches:     map[schema.GroupVersionResource]*kindWatch{}, memos: map[objectKey]workMemo{},
	}
}

// Apply makes the member's objects what a Work says and returns the Work's new
// status: the conditions Dispatching and Applied, whose times are kept from the
// Work's status where nothing has turned, and an entry for each manifest that the
// member holds for us. What could not be interpreted is said in the condition
// Degraded, which is absent as long as there was no such trouble; the entry then
// keeps the status it had. The error is not nil if something was not applied, or
// not interpreted, and is worth trying again; the status is filled in all the
// same. A suspended Work is only looked at. The Work is not changed.
func (a *Applier) Apply(ctx context.Context, work *workv1alpha1.Work) (workv1alpha1.WorkStatus, error) {
	status := workv1alpha1.WorkStatus{Conditions: slices.Clone(work.Status.Conditions)}
	suspended := ptr.Deref(work.Spec.SuspendDispatching, false)
	var failed []error
	var troubled troubles
	var repaired []string
	for i := range work.Spec.Workload.Manifests {
		desired, err := wanted(work, i)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		observed, drifted, err := a.applyManifest(ctx, work, i, desired, suspended)
		if err != nil {
			failed = append(failed, err)
		}
		if drifted {
			repaired = append(repaired, title(desired))
		}
		if observed != nil && managed(observed) {
			status.ManifestStatuses = append(status.ManifestStatuses, a.interpret(ctx, work, observed, identifier(desired, i), &troubled))
		}
	}
	err := errors.Join(failed...)
	a.setConditions(&status, work, suspended, err)
	a.setDegraded(&status, work, troubled)
	a.setDrifted(&status, work, repaired)
	return status, errors.Join(err, troubled.join())
}

func (a *Applier) setConditions(status *workv1alpha1.WorkStatus, work *workv1alpha1.Work, suspended bool, err error) {
	if suspended {
		a.set(status, work, metav1.Condition{Type: workv1alpha1.WorkDispatching, Status: metav1.ConditionFalse, Reason: workv1alpha1.ReasonSuspendDispatching,
			Message: "Dispatching is suspended; what was applied before stays."})
		return
	}
	a.set(status, work, metav1.Condition{Type: workv1alpha1.WorkDispatching, Status: metav1.ConditionTrue, Reason: workv1alpha1.ReasonDispatching,
		Message: "The manifests are sent to the cluster."})
	if err != nil {
		a.set(status, work, metav1.Condition{Type: workv1alpha1.WorkApplied, Status: metav1.ConditionFalse, Reason: workv1alpha1.ReasonAppliedFailed, Message: brief(err)})
		return
	}
	a.set(status, work, metav1.Condition{Type: workv1alpha1.WorkApplied, Status: metav1.ConditionTrue, Reason: workv1alpha1.ReasonAppliedSuccessful,
		Message: "All manifests are applied."})
}

func (a *Applier) set(status *workv1alpha1.WorkStatus, work *workv1alpha1.Work, c metav1.Condition) {
	c.ObservedGeneration = work.Generation
	c.LastTransitionTime = metav1.NewTime(a.clock.Now()).Rfc3339Copy()
	meta.SetStatusCondition(&status.Conditions, c)
}

// brief bounds what goes into a condition.
func brief(err error) string {
	const limit = 4096
	text := err.Error()
	if len(text) > limit {
		return text[:limit] + "…"
	}
	return text
}

// applyManifest applies one object, that of a Work's manifest i, or only reads it. It returns the object as
// the member has it, nil if it has none or it is unknown, and whether it had to be
// set back to what was applied before.
func (a *Applier) applyManifest(ctx context.Context, work *workv1alpha1.Work, i int, desired *unstructured.Unstructured, readOnly bool) (*unstructured.Unstructured, bool, error) {
	mapping, err := a.mapper.mapping(desired.GroupVersionKind())
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", title(desired), err)
	}
	key := types.NamespacedName{Namespace: work.Namespace, Name: work.Name}
	a.use(mapping.Resource, desired.GroupVersionKind(), key)
	target := target{Applier: a, resource: mapping.Resource, api: a.client.Resource(mapping.Resource), desired: desired,
		manifest: work.Spec.Workload.Manifests[i].Raw, work: key}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if desired.GetNamespace() == "" {
			desired.SetNamespace(metav1.NamespaceDefault)
		}
		target.api = a.client.Resource(mapping.Resource).Namespace(desired.GetNamespace())
	} else {
		desired.SetNamespace("")
	}
	if readOnly {
		observed, err := target.read(ctx, false)
		return observed, false, describe(desired, err)
	}
	observed, err := target.apply(ctx)
	return observed, target.drifted, describe(desired, err)
}

func describe(o *unstructured.Unstructured, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", title(o), err)
}

// target is one object on its way into the member.
type target struct {
	*Applier
	resource schema.GroupVersionResource
	api      dynamic.ResourceInterface
	desired  *unstructured.Unstructured
	manifest []byte // that desired is made of
	work     types.NamespacedName
	drifted  bool // it was as it should be before, and had to be written again
}

// attempts bounds how often one apply starts over because the watch was behind
// or somebody else wrote at the same time.
const attempts = 4

func (t *target) apply(ctx context.Context) (*unstructured.Unstructured, error) {
	key := objectKey{t.resource, t.desired.GetNamespace(), t.desired.GetName()}
	retain := func(desired, observed *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		return t.interpreter.Retain(ctx, desired, observed)
	}
	var err error
	for try := range attempts {
		var observed, merged, written *unstructured.Unstructured
		if observed, err = t.read(ctx, try > 0); err != nil {
			return nil, err
		}
		last, now := t.recall(key), memo{}
		if observed != nil {
			now = remember(t.manifest, observed, last)
		}
		var what action
		if what, merged, err = decide(t.desired, observed, now.same(last), retain); err != nil {
			return observed, err
		}
		switch what {
		case nothing:
			t.keep(key, now)
			return observed, nil
		case conflict:
			return nil, errConflict
		case wait:
			return observed, errors.New("the object is being deleted; it is made again once it is gone")
		case create:
			written, err = t.api.Create(ctx, t.desired, metav1.CreateOptions{})
		case update:
			written, err = t.api.Update(ctx, merged, metav1.UpdateOptions{})
		}
		if err == nil {
			now = remember(t.manifest, written, last)
			t.drifted = last.desired == now.desired
			t.keep(key, now)
			return written, nil
		}
		if !startOver(what, err) {
			return observed, wayOut(err)
		}
	}
	return nil, err
}

// startOver says whether an error means that the object was not what we thought.
func startOver(what action, err error) bool {
	return apierrors.IsConflict(err) || what == create && apierrors.IsAlreadyExists(err) || what == update && apierrors.IsNotFound(err)
}

// wayOut adds to a member's refusal of an object what may be done about it.
func wayOut(err error) error {
	switch {
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), " cannot ") && strings.Contains(err.Error(), " resource "): // the authorizer's words
		return fmt.Errorf("%w: grant this right there to the account that the object comes by, or join the cluster again", err)
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return fmt.Errorf("%w: change the object, override it for this cluster, or change the rule there", err)
	}
	return err
}

// read returns the object of the member, nil if it is absent. Unless fresh, the
// watch may answer; then nil means that there is none of ours.
func (t *target) read(ctx context.Context, fresh bool) (*unstructured.Unstructured, error) {
	if !fresh {
		if o, known := t.cached(t.resource, t.desired.GetNamespace(), t.desired.GetName()); known {
			return o, nil
		}
	}
	o, err := t.api.Get(ctx, t.desired.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return o, nil
}

// recall returns what is remembered of an object for the Work.
func (t *target) recall(key objectKey) memo {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m := t.memos[key]; m.work == t.work {
		return m.memo
	}
	return memo{}
}

func (t *target) keep(key objectKey, m memo) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.memos[key] = workMemo{memo: m, work: t.work}
}
