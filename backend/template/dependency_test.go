package template_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1alpha1 "muster.dev/muster/backend/apis/apps/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/template"
)

func withDependencies(_ *metav1.ObjectMeta, s *policyv1alpha1.PropagationSpec) {
	s.PropagateDeps = true
}

func using(d *appsv1.Deployment, configMap string) *appsv1.Deployment {
	d.Spec.Template.Spec.Volumes = append(d.Spec.Template.Spec.Volumes, corev1.Volume{Name: configMap, VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: configMap}},
	}})
	return d
}

func parents(b *workv1alpha2.ResourceBinding) []string {
	if b == nil {
		return nil
	}
	names := []string{}
	for _, s := range b.Spec.RequiredBy {
		var in []string
		for _, c := range s.Clusters {
			in = append(in, c.Name)
		}
		names = append(names, s.Name+":"+strings.Join(in, ","))
	}
	slices.Sort(names)
	return names
}

func (f *fixture) awaitParents(t *testing.T, ns, name string, want ...string) *workv1alpha2.ResourceBinding {
	t.Helper()
	var b *workv1alpha2.ResourceBinding
	defer func() {
		if t.Failed() {
			t.Logf("%s is needed by %v", name, parents(b))
		}
	}()
	f.Await(t, "the parents of "+name, func(ctx context.Context) bool {
		b = f.binding(ctx, ns, name)
		return b != nil && slices.Equal(parents(b), want)
	})
	return b
}

func testDependencies(t *testing.T, f *fixture) {
	ns := f.namespace(t, "dependencies")
	conf := newConfigMap(ns, "conf")
	f.Create(t, conf)
	pp := newPP(ns, "p", sel("apps/v1", "Deployment", "", nil), clusters("member1"), withDependencies)
	f.Create(t, pp)
	app := using(newDeployment(ns, "app", 1), "conf")
	f.Create(t, app)
	b := f.awaitParents(t, ns, "conf-configmap", "app-deployment:member1")
	if b.Spec.Placement != nil || b.Spec.Resource.UID != conf.UID || b.Spec.ConflictResolution != policyv1alpha1.ConflictAbort {
		t.Errorf("the attached binding is %+v", b.Spec)
	}
	owner := f.binding(t.Context(), ns, "app-deployment")
	if !slices.Contains(owner.Finalizers, workv1alpha2.DependenciesDistributorFinalizer) ||
		owner.Annotations[workv1alpha2.DependenciesAnnotation] != `[{"apiVersion":"v1","kind":"ConfigMap","namespace":"dependencies","name":"conf"}]` {
		t.Errorf("the parent has %v, %v", owner.Finalizers, owner.Annotations)
	}

	// A second parent, one whose dependent comes later, and other clusters.
	f.Create(t, using(using(newDeployment(ns, "web", 1), "conf"), "late"))
	f.awaitParents(t, ns, "conf-configmap", "app-deployment:member1", "web-deployment:member1")
	late := newConfigMap(ns, "late")
	f.Create(t, late)
	f.awaitParents(t, ns, "late-configmap", "web-deployment:member1")
	f.update(t, owner, func() { owner.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "member2"}} })
	f.awaitParents(t, ns, "conf-configmap", "app-deployment:member2", "web-deployment:member1")

	// A dependent's change reaches its binding.
	f.update(t, conf, func() { conf.Data["k"] = "w" })
	f.Await(t, "the new version", func(ctx context.Context) bool {
		return f.binding(ctx, ns, "conf-configmap").Spec.Resource.ResourceVersion == conf.ResourceVersion
	})

	// A policy of its own adds a placement and keeps the parents.
	own := newPP(ns, "own", sel("v1", "ConfigMap", "conf", nil), clusters("member3"))
	f.Create(t, own)
	f.awaitClaim(t, conf, "conf-configmap", own)
	b = f.awaitParents(t, ns, "conf-configmap", "app-deployment:member2", "web-deployment:member1")
	if b.Spec.Placement == nil {
		t.Error("the policy's placement is missing")
	}

	// A parent that needs it no longer, and one that goes.
	f.update(t, app, func() { app.Spec.Template.Spec.Volumes = nil })
	f.awaitParents(t, ns, "conf-configmap", "web-deployment:member1")
	f.remove(t, newDeployment(ns, "web", 1))
	f.awaitParents(t, ns, "late-configmap")
	f.awaitParents(t, ns, "conf-configmap")
	f.Await(t, "the parent's release", func(ctx context.Context) bool {
		b := f.binding(ctx, ns, "web-deployment")
		return b != nil && !slices.Contains(b.Finalizers, workv1alpha2.DependenciesDistributorFinalizer)
	})
	f.remove(t, late)
	f.Await(t, "the end of the attached binding", func(ctx context.Context) bool {
		f.finish(ctx, ns, "late-configmap")
		return f.binding(ctx, ns, "late-configmap") == nil
	})
}

// What an object needs is read from it: there people look when that fails.
func testSecretiveDependencies(t *testing.T, f *fixture) {
	ns := f.namespace(t, "secretive")
	f.Create(t, newPP(ns, "p", sel("apps/v1", "Deployment", "", nil), clusters("member1"), withDependencies))
	app := newDeployment(ns, "app", 1)
	app.Annotations = map[string]string{"secretive": "yes"}
	f.Create(t, app)
	f.Await(t, "the complaint", func(ctx context.Context) bool { return f.event(ctx, ns, "app", "GetDependenciesFailed") })
	about := template.Sending(types.NamespacedName{Namespace: ns, Name: "app-deployment"})
	if trouble, _ := f.troubles.Of(about); trouble.Reason != "GetDependenciesFailed" || trouble.Message != "it does not say what it needs" {
		t.Errorf("the trouble that is known: %+v", trouble)
	}
	f.update(t, app, func() { delete(app.Annotations, "secretive") })
	f.Await(t, "its end", func(ctx context.Context) bool {
		return f.event(ctx, ns, "app-deployment", "SyncScheduleResultToDependenciesSucceed")
	})
	if trouble, still := f.troubles.Of(about); still {
		t.Errorf("the trouble that is known: %+v", trouble)
	}
}

func testRebalancer(t *testing.T, f *fixture) {
	ns := f.namespace(t, "rebalance")
	pp := newPP(ns, "p", sel("apps/v1", "Deployment", "", nil), clusters("member1"))
	f.Create(t, pp)
	app := newDeployment(ns, "app", 1)
	f.Create(t, app)
	f.awaitClaim(t, app, "app-deployment", pp)
	asked := &appsv1alpha1.WorkloadRebalancer{ObjectMeta: metav1.ObjectMeta{Name: "again"}}
	ref := appsv1alpha1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: ns, Name: "app"}
	missing := ref
	missing.Name = "nobody"
	asked.Spec.Workloads = []appsv1alpha1.ObjectReference{ref, missing}
	f.Create(t, asked)
	f.Await(t, "the result", func(ctx context.Context) bool {
		return f.Client.Get(ctx, client.ObjectKeyFromObject(asked), asked) == nil && asked.Status.FinishTime != nil
	})
	want := []appsv1alpha1.ObservedWorkload{
		{Workload: ref, Result: appsv1alpha1.RebalanceSuccessful},
		{Workload: missing, Result: appsv1alpha1.RebalanceFailed, Reason: appsv1alpha1.RebalanceObjectNotFound},
	}
	if diff := difference(want, asked.Status.ObservedWorkloads); diff != "" || asked.Status.ObservedGeneration != asked.Generation {
		t.Error(diff, asked.Status.ObservedGeneration)
	}
	if at := f.binding(t.Context(), ns, "app-deployment").Spec.RescheduleTriggeredAt; at == nil || !at.Equal(&asked.CreationTimestamp) {
		t.Errorf("the binding is stamped %v, want %v", at, asked.CreationTimestamp)
	}
	// Its time to live is over at once.
	zero := int32(0)
	f.update(t, asked, func() { asked.Spec.TTLSecondsAfterFinished = &zero })
	f.Await(t, "its end", func(ctx context.Context) bool { return f.Gone(ctx, client.ObjectKeyFromObject(asked), asked) })
}
