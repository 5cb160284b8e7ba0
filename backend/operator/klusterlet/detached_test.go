package klusterlet_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	"muster.dev/muster/backend/controlplane/controlplanetest"
	"muster.dev/muster/backend/operator/klusterlet"
	"muster.dev/muster/backend/operator/operatortest"
)

// hold keeps an object from going until its removal is looked at.
const hold = "muster.test/hold"

// Detached is what mode Hosted was called before. From its creation to its end, with a managed cluster behind a proxy: what runs where, what
// is said, in which order all of it is taken away, and that both clusters are afterwards as they were before.
func TestDetachedKlusterlet(t *testing.T) {
	management, managed := planes.management, planes.member
	operate(t, management)
	before, around := settled(t, managed), settled(t, management)
	k := newKlusterlet("detached", "Detached", "open-cluster-management-detached")
	management.Kubelet(t, k.Name)
	if err := management.API.Create(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	operatortest.Eventually(t, "told what is missing", conditions(management, k.Name, "ReadyToApply=False/KlusterletPrepareFailed", "NotSupported=False",
		"ValidFeatureGates=True", "HubConnectionDegraded=True/BootstrapSecretMissing,HubKubeConfigSecretMissing"))

	proxy := controlplanetest.StartForwardProxy(t)
	if err := management.API.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: k.Name}}); err != nil {
		t.Fatal(err)
	}
	create(t, management, k.Name, "bootstrap-hub-kubeconfig", map[string][]byte{"kubeconfig": hubConfig(t, "")})
	create(t, management, k.Name, "external-managed-kubeconfig", map[string][]byte{"kubeconfig": managed.KubeconfigBehind(t, proxy)})
	operatortest.Eventually(t, "applied", conditions(management, k.Name, "ReadyToApply=True/KlusterletPrepared", "Applied=True/KlusterletApplied",
		"HubConnectionDegraded=True/BootstrapSecretFunctional,HubKubeConfigSecretMissing", "RegistrationDesiredDegraded=False/DeploymentsFunctional"))
	if work, err := deployment(t.Context(), management, k.Name, "detached-work-agent"); err != nil || *work.Spec.Replicas != 0 {
		t.Errorf("work agent without credentials: %+v, %v", work.Spec.Replicas, err)
	}
	create(t, management, k.Name, "hub-kubeconfig-secret", map[string][]byte{"kubeconfig": hubConfig(t, ""), "cluster-name": []byte("cluster1")})
	operatortest.Eventually(t, "connected", conditions(management, k.Name, "HubConnectionDegraded=False/HubConnectionFunctional",
		"Available=True/KlusterletAvailable", "WorkDesiredDegraded=False/DeploymentsFunctional"))
	checkDetachedSides(t, k, proxy)
	removeInOrder(t, k)
	managed.AsBefore(t, before)
	management.AsBefore(t, around)
}

// checkDetachedSides checks that the agents run on the one cluster and are accounts of the other, whom they reach by its proxy.
func checkDetachedSides(t *testing.T, k *ocmoperatorv1.Klusterlet, proxy *controlplanetest.ForwardProxy) {
	t.Helper()
	management, managed := planes.management, planes.member
	if err := management.API.Get(t.Context(), client.ObjectKeyFromObject(k), k); err != nil {
		t.Fatal(err)
	}
	for _, finalizer := range []string{ocmoperatorv1.KlusterletFinalizer, ocmoperatorv1.KlusterletHostedFinalizer} {
		if !slices.Contains(k.Finalizers, finalizer) {
			t.Errorf("the Klusterlet is not held by %s, only by %v", finalizer, k.Finalizers)
		}
	}
	if k.Status.ObservedGeneration != k.Generation || len(k.Status.Generations) != 2 {
		t.Errorf("observed generation %d of %d, generations %+v", k.Status.ObservedGeneration, k.Generation, k.Status.Generations)
	}
	if _, err := deployment(t.Context(), managed, k.Spec.Namespace, "detached-registration-agent"); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("an agent runs on the managed cluster: %v", err)
	}
	for _, agent := range []string{"registration", "work"} {
		d, err := deployment(t.Context(), management, k.Name, "detached-"+agent+"-agent")
		if err != nil {
			t.Fatal(err)
		}
		if *d.Spec.Replicas != 1 || !slices.Contains(d.Spec.Template.Spec.Containers[0].Args, "--spoke-kubeconfig=/spoke/config/kubeconfig") {
			t.Errorf("%s: %d replicas, arguments %v", d.Name, *d.Spec.Replicas, d.Spec.Template.Spec.Containers[0].Args)
		}
		if who, want := whoIs(t, k.Name, "external-managed-kubeconfig-"+agent, proxy), "system:serviceaccount:"+k.Spec.Namespace+":detached-"+agent+"-sa"; who != want {
			t.Errorf("the %s agent is %s, want %s", agent, who, want)
		}
	}
}

// whoIs signs in with the credential that an agent finds in its pod.
func whoIs(t *testing.T, namespace, name string, proxy *controlplanetest.ForwardProxy) string {
	t.Helper()
	secret := &corev1.Secret{}
	if err := planes.management.API.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, secret); err != nil {
		t.Fatal(err)
	}
	raw, err := clientcmd.Load(secret.Data["kubeconfig"])
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range raw.AuthInfos {
		if user.TokenFile != "/spoke/config/token" {
			t.Errorf("%s: the token is looked for in %q", name, user.TokenFile)
		}
		user.TokenFile, user.Token = "", string(secret.Data["token"])
	}
	config, err := clientcmd.NewDefaultClientConfig(*raw, nil).ClientConfig()
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimPrefix(planes.member.Server, "https://")
	asked := proxy.Asked(address)
	review, err := kubernetes.NewForConfigOrDie(config).AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if proxy.Asked(address) == asked {
		t.Errorf("%s leads to the managed cluster past its proxy", name)
	}
	return review.Status.UserInfo.Username
}

// removeInOrder deletes a hosted Klusterlet and holds up each part of its removal: what comes later is there until then, and what is waited
// for is said.
func removeInOrder(t *testing.T, k *ocmoperatorv1.Klusterlet) {
	t.Helper()
	management, managed := planes.management, planes.member
	pod := heldPod(t, management, k.Name)
	record := &ocmworkv1.AppliedManifestWork{ObjectMeta: metav1.ObjectMeta{Name: "held", Finalizers: []string{hold, ocmworkv1.AppliedManifestWorkFinalizer}}}
	record.Spec = ocmworkv1.AppliedManifestWorkSpec{HubHash: "h", ManifestWorkName: "held", AgentID: string(k.UID)}
	if err := managed.API.Create(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	there := func(what string, p *operatortest.Plane, objects ...client.Object) {
		t.Helper()
		for _, object := range objects {
			if err := p.API.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil || object.GetDeletionTimestamp() != nil {
				t.Errorf("%s: %T %s is on its way: %v", what, object, object.GetName(), err)
			}
		}
	}
	managedSide := func() []client.Object {
		return []client.Object{
			&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: k.Spec.Namespace, Name: "detached-work-sa"}},
			&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "open-cluster-management:detached-work:agent"}},
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: k.Spec.Namespace}},
		}
	}
	managementSide := func() []client.Object {
		return []client.Object{
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: k.Name, Name: "hub-kubeconfig-secret"}},
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: k.Name, Name: "external-managed-kubeconfig-work"}},
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: k.Name}},
		}
	}

	if err := management.API.Delete(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	operatortest.Eventually(t, "waits for the agents", conditions(management, k.Name, klusterlet.ConditionCleanupBlocked+"=True/AgentPodsRemain"))
	there("the agents first", managed, append(managedSide(), record)...)
	there("the agents first", management, managementSide()...)
	release(t, management, pod)
	operatortest.Eventually(t, "waits for the records", conditions(management, k.Name, klusterlet.ConditionCleanupBlocked+"=True/AppliedManifestWorksRemain"))
	there("the records of works second", managed, managedSide()...)
	there("the records of works second", management, managementSide()...)
	if _, err := deployment(t.Context(), management, k.Name, "detached-registration-agent"); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the agents are still there: %v", err)
	}
	release(t, managed, record)
	management.Gone(t, k)
	for _, object := range managedSide() {
		managed.Gone(t, object)
	}
	for _, object := range managementSide() {
		management.Gone(t, object)
	}
}

// heldPod puts a finalizer on the pod of a registration agent.
func heldPod(t *testing.T, p *operatortest.Plane, namespace string) *corev1.Pod {
	t.Helper()
	var pod *corev1.Pod
	operatortest.Eventually(t, "a pod is held", func(ctx context.Context) error {
		names, err := registrationPods(ctx, p, namespace)
		if err != nil {
			return err
		}
		if len(names) == 0 {
			return errors.New("there is no pod")
		}
		pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names[0]}}
		return p.API.Patch(ctx, pod, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"finalizers":[%q]}}`, hold)))
	})
	return pod
}

// release takes the test's finalizer, which is the last, away.
func release(t *testing.T, p *operatortest.Plane, object client.Object) {
	t.Helper()
	if err := p.API.Patch(t.Context(), object, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatal(err)
	}
}
