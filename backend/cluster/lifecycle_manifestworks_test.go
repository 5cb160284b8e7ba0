package cluster_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	"muster.dev/muster/backend/cluster"
	"muster.dev/muster/backend/registration"
	"muster.dev/muster/deploy"
)

// testRemovalWithManifestWorks removes a member that carries out works of the
// other dialect, too: it stays known until its agent is done with them.
func testRemovalWithManifestWorks(t *testing.T, h *hubUnderTest) {
	h.InstallDefinitions(t, deploy.HubCRDs())
	h.pullCluster(t, "m1")
	h.setReady(t, "m1", metav1.ConditionTrue)
	h.awaitSpace(t, "m1")
	mirror := &ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "m1", Annotations: map[string]string{registration.AnnotationOrigin: "Cluster"}}}
	work := &ocmworkv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "m1", Name: "shop", Finalizers: []string{ocmworkv1.ManifestWorkFinalizer}}}
	work.Spec.Workload.Manifests = []ocmworkv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default"}}`)}}}
	for _, object := range []client.Object{mirror, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "m1"}}, work} {
		h.Create(t, object)
	}
	h.remove(t, "m1")
	h.Await(t, "explanation", func(ctx context.Context) bool {
		c := h.cluster(ctx, "m1")
		if c == nil {
			t.Fatal("the cluster is gone before its manifest work")
		}
		removing := meta.FindStatusCondition(c.Status.Conditions, cluster.ConditionRemoving)
		return removing != nil && removing.Reason == cluster.ReasonWaitingForManifestWorks && strings.Contains(removing.Message, "shop")
	})
	// The mirror's clean-up deletes the work, its agent lets it go.
	if err := h.Client.Delete(t.Context(), work); err != nil {
		t.Fatal(err)
	}
	h.Await(t, "release", func(ctx context.Context) bool {
		if err := h.Client.Get(ctx, client.ObjectKeyFromObject(work), work); err != nil {
			return apierrors.IsNotFound(err)
		}
		work.Finalizers = nil
		return h.Client.Update(ctx, work) == nil
	})
	h.awaitRemoved(t, "m1")

	// Where another member bears the name in the other dialect, its works are its own.
	h.pullCluster(t, "m2")
	h.setReady(t, "m2", metav1.ConditionTrue)
	h.awaitSpace(t, "m2")
	other := work.DeepCopy()
	other.ObjectMeta = metav1.ObjectMeta{Namespace: "m2", Name: "shop", Finalizers: []string{ocmworkv1.ManifestWorkFinalizer}}
	for _, object := range []client.Object{
		&ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "m2"}}, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "m2"}}, other,
	} {
		h.Create(t, object)
	}
	h.remove(t, "m2")
	h.awaitRemoved(t, "m2")
}
