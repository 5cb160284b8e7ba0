package clustermanager_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	"muster.dev/muster/backend/controlplane/controlplanetest"
	"muster.dev/muster/backend/operator/operatortest"
)

// A hub elsewhere that does not answer: that is said before anything was put there, and when it holds a removal up. Nobody has to do more
// than to have it answer.
func TestHostedClusterManagerOfASilentHub(t *testing.T) {
	management, hub := planes.management, planes.hub
	before, around := settled(t, hub), settled(t, management)
	operate(t, management)
	proxy := controlplanetest.StartForwardProxy(t)
	proxy.Shut()
	cm := newHosted()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: cm.Name}}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: cm.Name, Name: ocmoperatorv1.ExternalHubKubeconfigSecret},
		Data: map[string][]byte{"kubeconfig": hub.KubeconfigBehind(t, proxy)}}
	management.Kubelet(t, cm.Name)
	for _, object := range []client.Object{namespace, secret, cm} {
		if err := management.API.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	operatortest.Eventually(t, "says that the hub does not answer", conditions(management, cm.Name, "ReadyToApply=False/HubUnreachable"))
	proxy.Open()
	operatortest.Eventually(t, "applied without anybody's doing", conditions(management, cm.Name, "ReadyToApply=True/ClusterManagerPrepared",
		"Applied=True/ClusterManagerApplied", "Progressing=False/ClusterManagerUpToDate"))

	proxy.Shut()
	if err := management.API.Delete(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	operatortest.Eventually(t, "says what the removal waits for", blockedBy(management, cm.Name, "HubUnreachable",
		"The hub has to be cleaned up, and cannot be: reach the hub by secret cluster-manager/external-hub-kubeconfig"))
	for _, name := range []string{"registration-controller", "registration-webhook", "work-webhook"} {
		deployment := &appsv1.Deployment{}
		err := management.API.Get(t.Context(), client.ObjectKey{Namespace: cm.Name, Name: cm.Name + "-" + name}, deployment)
		if err != nil || deployment.DeletionTimestamp != nil {
			t.Errorf("Deployment %s goes while the hub's API may ask it: %v", name, err)
		}
	}
	proxy.Open()
	management.Gone(t, cm)
	management.Gone(t, namespace)
	hub.AsBefore(t, before)
	management.AsBefore(t, around)
}
