package registry_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/controlplane/registry"
)

// markAdmission puts a label on all that is written, and refuses what a label asks
// it to.
type markAdmission struct {
	seen   []string
	within context.Context // of the last write
}

var errUnwanted = errors.New("unwanted")

func (*markAdmission) Handles(admission.Operation) bool { return true }

func (a *markAdmission) Admit(ctx context.Context, at admission.Attributes, _ admission.ObjectInterfaces) error {
	a.within = ctx
	a.seen = append(a.seen, string(at.GetOperation())+" "+at.GetResource().Resource+"/"+at.GetSubresource()+" "+at.GetNamespace()+"/"+at.GetName()+" by "+at.GetUserInfo().GetName())
	o := at.GetObject().(metav1.Object)
	labels := maps.Clone(o.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	labels["admitted"] = string(at.GetOperation())
	o.SetLabels(labels)
	return nil
}

func (*markAdmission) Validate(_ context.Context, at admission.Attributes, _ admission.ObjectInterfaces) error {
	if at.GetObject().(metav1.Object).GetLabels()["unwanted"] != "" {
		return admission.NewForbidden(at, errUnwanted)
	}
	return nil
}

func newWork(name string) *workv1alpha1.Work {
	return &workv1alpha1.Work{
		ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-m1", Name: name, Finalizers: []string{workv1alpha1.ExecutionControllerFinalizer}},
		Spec: workv1alpha1.WorkSpec{Workload: workv1alpha1.WorkloadTemplate{Manifests: []workv1alpha1.Manifest{
			{RawExtension: runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"x":"1"}}`)}},
		}}},
	}
}

func TestDirectWrites(t *testing.T) {
	admit := &markAdmission{}
	direct := groupsOverEtcd(t, nil).Direct(admit)
	work := newWork("a")
	work.Status.Conditions = []metav1.Condition{{Type: "Applied"}}
	if err := direct.Create(t.Context(), work); err != nil {
		t.Fatal(err)
	}
	if work.UID == "" || work.ResourceVersion == "" || work.Generation != 1 || len(work.Status.Conditions) != 0 || work.Labels["admitted"] != "CREATE" {
		t.Errorf("created: %+v", work)
	}
	if err := direct.Create(t.Context(), newWork("a")); !apierrors.IsAlreadyExists(err) {
		t.Errorf("created twice: %v", err)
	}

	if admit.within.Err() == nil {
		t.Error("what admission holds for a write would be held for ever")
	}

	// A status is written by who knows nothing else of the object.
	first := work.ResourceVersion
	before := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: work.Namespace, Name: work.Name, UID: work.UID, ResourceVersion: first}}
	after := before.DeepCopy()
	after.Status.Conditions = []metav1.Condition{{Type: "Applied", Status: "True", Reason: "AppliedSuccessful", LastTransitionTime: metav1.Now()}}
	locked := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := direct.Patch(t.Context(), after, locked, registry.StatusSubresource); err != nil {
		t.Fatal(err)
	}
	if after.ResourceVersion == first || after.Generation != 1 || !cmp.Equal(after.Finalizers, work.Finalizers) || !cmp.Equal(after.Spec, work.Spec) || after.Status.Conditions[0].Status != "True" {
		t.Errorf("after its status: %+v", after)
	}
	stale := before.DeepCopy()
	stale.Status.ManifestStatuses = []workv1alpha1.ManifestStatus{{Health: "Healthy"}}
	if err := direct.Patch(t.Context(), stale, locked, registry.StatusSubresource); !apierrors.IsConflict(err) {
		t.Errorf("an old version: %v", err)
	}

	// So is a whole status.
	told := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: work.Namespace, Name: work.Name}}
	told.Status = *after.Status.DeepCopy()
	told.Status.Conditions[0].Message = "as it should be"
	if err := direct.Report(t.Context(), told.DeepCopy(), first); !apierrors.IsConflict(err) {
		t.Errorf("a status of an old version: %v", err)
	}
	if err := direct.Report(t.Context(), told, after.ResourceVersion); err != nil {
		t.Fatal(err)
	}
	if told.ResourceVersion == after.ResourceVersion || told.UID != work.UID || told.Generation != 1 || !cmp.Equal(told.Labels, after.Labels) || !cmp.Equal(told.Spec, work.Spec) ||
		told.Status.Conditions[0].Message != "as it should be" {
		t.Errorf("after a report: %+v", told)
	}
	if err := direct.Report(t.Context(), newWork("b"), "1"); !apierrors.IsNotFound(err) {
		t.Errorf("nothing to report of: %v", err)
	}
	after = told

	// What a patch does not tell of stays, and what it takes away goes.
	held := after.DeepCopy()
	after.Labels["mine"], after.Spec.SuspendDispatching = "x", new(bool)
	delete(after.Labels, "admitted")
	if err := direct.Patch(t.Context(), after, client.MergeFrom(held), ""); err != nil {
		t.Fatal(err)
	}
	if after.Generation != 2 || !cmp.Equal(after.Labels, map[string]string{"admitted": "UPDATE", "mine": "x"}) || after.Spec.SuspendDispatching == nil ||
		!cmp.Equal(after.Spec.Workload, work.Spec.Workload) || len(after.Status.Conditions) != 1 {
		t.Errorf("after a patch: %+v", after)
	}
	if admit.within.Err() == nil {
		t.Error("what admission holds for a patch would be held for ever")
	}
	version := after.ResourceVersion
	if err := direct.Patch(t.Context(), after, client.MergeFrom(after.DeepCopy()), ""); err != nil || after.ResourceVersion != version {
		t.Errorf("a patch of nothing was written: %v", err)
	}
	held = after.DeepCopy()
	after.Labels["unwanted"] = "yes"
	if err := direct.Patch(t.Context(), after, client.MergeFrom(held), ""); !apierrors.IsForbidden(err) {
		t.Errorf("what admission refuses: %v", err)
	}
	gone := newWork("b")
	if err := direct.Patch(t.Context(), gone, client.MergeFrom(newWork("c")), ""); !apierrors.IsNotFound(err) {
		t.Errorf("nothing to patch: %v", err)
	}
	invalid := newWork("d")
	invalid.Spec.Workload.Manifests[0].Raw = []byte(`{}`)
	if err := direct.Create(t.Context(), invalid); !apierrors.IsInvalid(err) {
		t.Errorf("an invalid work: %v", err)
	}
	for _, want := range []string{
		"CREATE works/ karmada-es-m1/a by " + user.APIServerUser, "UPDATE works/status karmada-es-m1/a by " + user.APIServerUser, "UPDATE works/ karmada-es-m1/a by " + user.APIServerUser,
	} {
		if !slices.Contains(admit.seen, want) {
			t.Errorf("admission did not see %q, but %q", want, admit.seen)
		}
	}
}

// A binding is created with its status, and is let go with its last finalizer.
func TestDirectBinding(t *testing.T) {
	groups := groupsOverEtcd(t, nil)
	direct := groups.Direct(&markAdmission{})
	b := &workv1alpha2.ResourceBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-deployment", Finalizers: []string{workv1alpha2.BindingControllerFinalizer}},
		Spec:       workv1alpha2.ResourceBindingSpec{Resource: workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}, ConflictResolution: "Abort"},
		Status:     workv1alpha2.ResourceBindingStatus{SchedulerObservedGeneration: 1},
	}
	if err := direct.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if b.Status.SchedulerObservedGeneration != 1 {
		t.Error("the status that it was created with is lost")
	}
	bindings := storages(groups.Infos)["work.karmada.io/v1alpha2/resourcebindings"]
	if _, deleted, err := bindings.(rest.GracefulDeleter).Delete(as(t, "system:admin", "default"), b.Name, rest.ValidateAllObjectFunc, &metav1.DeleteOptions{}); err != nil || deleted {
		t.Fatalf("deleted %v, %v", deleted, err)
	}
	released := b.DeepCopy()
	released.Finalizers = nil
	if err := direct.Patch(t.Context(), released, client.MergeFrom(b), ""); err != nil {
		t.Fatal(err)
	}
	if err := direct.Patch(t.Context(), released, client.MergeFrom(b), ""); !apierrors.IsNotFound(err) {
		t.Errorf("it is still there: %v", err)
	}
}

// An informer over Direct knows what was there and what comes.
func TestDirectListWatch(t *testing.T) {
	direct := groupsOverEtcd(t, nil).Direct(&markAdmission{})
	if direct.Serves(&metav1.PartialObjectMetadata{}) || !direct.Serves(&workv1alpha1.Work{}) || !direct.Serves(&clusterv1alpha1.Cluster{}) {
		t.Error("it serves other kinds than the typed ones")
	}
	if err := direct.Create(t.Context(), newWork("before")); err != nil {
		t.Fatal(err)
	}
	events := make(chan string, 10)
	informer := cache.NewSharedIndexInformer(direct.ListWatch(&workv1alpha1.Work{}), &workv1alpha1.Work{}, 0, cache.Indexers{})
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { events <- "added " + o.(*workv1alpha1.Work).Name },
		UpdateFunc: func(_, o any) { events <- "changed " + o.(*workv1alpha1.Work).Name },
	}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(ended)
		informer.RunWithContext(ctx)
	}()
	expectEvent(t, events, "added before")
	after := newWork("after")
	if err := direct.Create(t.Context(), after); err != nil {
		t.Fatal(err)
	}
	expectEvent(t, events, "added after")
	held := after.DeepCopy()
	after.Labels["a"] = "b"
	if err := direct.Patch(t.Context(), after, client.MergeFrom(held), ""); err != nil {
		t.Fatal(err)
	}
	expectEvent(t, events, "changed after")
	cancel()
	<-ended
}

// A cache of metadata knows owners, and neither specs nor who wrote what.
func TestDirectMetadata(t *testing.T) {
	direct := groupsOverEtcd(t, nil).Direct(&markAdmission{})
	for _, other := range []schema.GroupVersionResource{
		workv1alpha1.GroupVersion.WithResource("bindings"), workv1alpha2.GroupVersion.WithResource("works"), {Version: "v1", Resource: "secrets"},
	} {
		if _, ok := direct.Metadata(other); ok {
			t.Errorf("there is metadata of %s", other)
		}
	}
	source, ok := direct.Metadata(workv1alpha1.GroupVersion.WithResource("works"))
	if !ok {
		t.Fatal("there is no metadata of works")
	}
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: "u"}
	before := newWork("before")
	before.OwnerReferences, before.ManagedFields = []metav1.OwnerReference{owner}, []metav1.ManagedFieldsEntry{{Manager: "m", Operation: "Update"}}
	if err := direct.Create(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	events := make(chan string, 10)
	tell := func(verb string, o any) {
		known := o.(*metav1.PartialObjectMetadata)
		if len(known.ManagedFields) > 0 || len(known.OwnerReferences) != 1 || known.UID == "" || known.ResourceVersion == "" {
			t.Errorf("metadata: %+v", known)
		}
		events <- verb + " " + known.Namespace + "/" + known.Name
	}
	informer := cache.NewSharedIndexInformer(source, &metav1.PartialObjectMetadata{}, 0, cache.Indexers{})
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { tell("added", o) }, UpdateFunc: func(_, o any) { tell("changed", o) },
	}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(ended)
		informer.RunWithContext(ctx)
	}()
	expectEvent(t, events, "added karmada-es-m1/before")
	after := newWork("after")
	after.OwnerReferences = []metav1.OwnerReference{owner}
	if err := direct.Create(t.Context(), after); err != nil {
		t.Fatal(err)
	}
	expectEvent(t, events, "added karmada-es-m1/after")
	cancel()
	<-ended
}

func expectEvent(t *testing.T, events <-chan string, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), etcdReady)
	defer cancel()
	select {
	case got := <-events:
		if got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	case <-ctx.Done():
		t.Fatalf("no event, want %q", want)
	}
}
