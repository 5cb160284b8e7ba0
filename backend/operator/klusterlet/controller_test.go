package klusterlet_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	"muster.dev/muster/backend/operator/operatortest"
)

// conditions checks a Klusterlet for several conditions, each "Type=Status/Reason".
func conditions(p *operatortest.Plane, name string, want ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		k := &ocmoperatorv1.Klusterlet{}
		if err := p.API.Get(ctx, client.ObjectKey{Name: name}, k); err != nil {
			return err
		}
		for _, text := range want {
			kind, value, _ := strings.Cut(text, "=")
			status, reason, _ := strings.Cut(value, "/")
			if err := operatortest.Condition(k.Status.Conditions, kind, metav1.ConditionStatus(status), reason); err != nil {
				return err
			}
		}
		return nil
	}
}

func hubConfig(t *testing.T, user string) []byte {
	t.Helper()
	if user == "" {
		return planes.hub.KubeconfigText(t)
	}
	path, err := planes.hub.KubeconfigFor(user)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func deployment(ctx context.Context, p *operatortest.Plane, namespace, name string) (*appsv1.Deployment, error) {
	d := &appsv1.Deployment{}
	return d, p.API.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, d)
}

// One Klusterlet in mode Default from its creation to its end: the plane is afterwards as it was before.
func TestDefaultKlusterletComesAndGoes(t *testing.T) {
	p := planes.member
	const namespace = "open-cluster-management-default"
	before := settled(t, p)
	operate(t, p)
	p.Kubelet(t, namespace)
	k := newKlusterlet("klusterlet", "Default", namespace)
	if err := p.API.Create(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	operatortest.Eventually(t, "no secrets yet", conditions(p, k.Name, "Applied=True/KlusterletApplied", "ValidFeatureGates=True/FeatureGatesAllValid",
		"NotSupported=False", "HubConnectionDegraded=True/BootstrapSecretMissing,HubKubeConfigSecretMissing", "RegistrationDesiredDegraded=False"))

	create(t, p, namespace, "bootstrap-hub-kubeconfig", map[string][]byte{"kubeconfig": hubConfig(t, "")})
	operatortest.Eventually(t, "bootstrap secret", conditions(p, k.Name, "HubConnectionDegraded=True/BootstrapSecretFunctional,HubKubeConfigSecretMissing"))
	if work, err := deployment(t.Context(), p, namespace, "klusterlet-work-agent"); err != nil || *work.Spec.Replicas != 0 {
		t.Fatalf("work agent without credentials: %v, %v", work.Spec.Replicas, err)
	}

	// The agent's own credentials come; first they are good for nothing, then for all.
	create(t, p, namespace, "hub-kubeconfig-secret", map[string][]byte{"kubeconfig": hubConfig(t, "agent"), "cluster-name": []byte("cluster1")})
	operatortest.Eventually(t, "denied", conditions(p, k.Name, "HubConnectionDegraded=True/BootstrapSecretFunctional,HubKubeConfigUnauthorized", "Available=True/KlusterletAvailable"))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "hub-kubeconfig-secret"}}
	if err := p.API.Patch(t.Context(), secret, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"stringData":{"kubeconfig":%q}}`, hubConfig(t, "")))); err != nil {
		t.Fatal(err)
	}
	operatortest.Eventually(t, "connected", conditions(p, k.Name, "HubConnectionDegraded=False/HubConnectionFunctional", "WorkDesiredDegraded=False/DeploymentsFunctional"))
	checkDefaultObjects(t, p, k.Name, namespace)

	removeKlusterlet(t, p, k)
	p.AsBefore(t, before)
}

// settled lists what a plane has once nothing of an earlier test is about to go.
func settled(t *testing.T, p *operatortest.Plane) map[string]string {
	t.Helper()
	return p.Settled(t, "open-cluster-management-", "work.open-cluster-management.io", "/clusterclaims.")
}

func checkDefaultObjects(t *testing.T, p *operatortest.Plane, name, namespace string) {
	t.Helper()
	stored := &ocmoperatorv1.Klusterlet{}
	if err := p.API.Get(t.Context(), client.ObjectKey{Name: name}, stored); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(stored.Finalizers, ocmoperatorv1.KlusterletFinalizer) || stored.Status.ObservedGeneration != stored.Generation {
		t.Errorf("finalizers %v, observed generation %d of %d", stored.Finalizers, stored.Status.ObservedGeneration, stored.Generation)
	}
	related := map[string]bool{}
	for _, r := range stored.Status.RelatedResources {
		related[r.Resource+" "+r.Namespace+"/"+r.Name] = true
	}
	// Of objects/member-cluster1-joined.
	for _, want := range []string{
		"customresourcedefinitions /appliedmanifestworks.work.open-cluster-management.io", "customresourcedefinitions /clusterclaims.cluster.open-cluster-management.io",
		"serviceaccounts NS/klusterlet-registration-sa", "serviceaccounts NS/klusterlet-work-sa",
		"clusterroles /open-cluster-management:klusterlet-registration:agent", "clusterroles /open-cluster-management:klusterlet-registration:addon-management",
		"clusterroles /open-cluster-management:klusterlet-work:agent", "clusterroles /open-cluster-management:klusterlet-work:execution",
		"clusterrolebindings /open-cluster-management:klusterlet-work:aggregate", "clusterrolebindings /open-cluster-management:klusterlet-work:execution-admin",
		"roles kube-system/open-cluster-management:management:klusterlet:extension-apiserver", "roles NS/open-cluster-management:management:klusterlet-registration:agent",
		"rolebindings kube-system/open-cluster-management:management:klusterlet-work:agent", "clusterroles /open-cluster-management:management:klusterlet-registration:addon-management",
		"deployments NS/klusterlet-registration-agent", "deployments NS/klusterlet-work-agent",
	} {
		if want = strings.Replace(want, "NS/", namespace+"/", 1); !related[want] {
			t.Errorf("not related: %s", want)
		}
	}
	if len(stored.Status.Generations) != 2 || stored.Status.Generations[1].LastGeneration < 2 {
		t.Errorf("generations %+v", stored.Status.Generations)
	}
}

func removeKlusterlet(t *testing.T, p *operatortest.Plane, k *ocmoperatorv1.Klusterlet) {
	t.Helper()
	if err := p.API.Delete(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	p.Gone(t, k)
}

// Applied workload stays when the agent goes; other agents' records are left alone.
func TestRemovalLeavesWorkload(t *testing.T) {
	p := planes.member
	operate(t, p)
	k := newKlusterlet("leaver", "Singleton", "open-cluster-management-leaver")
	if err := p.API.Create(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	operatortest.Eventually(t, "applied", conditions(p, k.Name, "Applied=True"))
	record := func(name, agent string) *ocmworkv1.AppliedManifestWork {
		r := &ocmworkv1.AppliedManifestWork{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{ocmworkv1.AppliedManifestWorkFinalizer}}}
		r.Spec = ocmworkv1.AppliedManifestWorkSpec{HubHash: "h", ManifestWorkName: name, AgentID: agent}
		if err := p.API.Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	ours, others := record("ours", string(k.UID)), record("others", "somebody")
	workload := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "workload", OwnerReferences: []metav1.OwnerReference{{
		APIVersion: "work.open-cluster-management.io/v1", Kind: "AppliedManifestWork", Name: ours.Name, UID: ours.UID,
	}}}}
	if err := p.API.Create(t.Context(), workload); err != nil {
		t.Fatal(err)
	}
	removeKlusterlet(t, p, k)
	p.Gone(t, ours)
	if err := p.API.Get(t.Context(), client.ObjectKeyFromObject(workload), workload); err != nil || len(workload.OwnerReferences) > 0 || workload.DeletionTimestamp != nil {
		t.Errorf("workload did not stay as it was: %v, owners %v", err, workload.OwnerReferences)
	}
	if err := p.API.Get(t.Context(), client.ObjectKeyFromObject(others), others); err != nil || len(others.Finalizers) == 0 {
		t.Errorf("another agent's record was touched: %v", err)
	}
	others.Finalizers = nil
	if err := p.API.Update(t.Context(), others); err != nil {
		t.Fatal(err)
	}
	if err := p.API.Delete(t.Context(), others); err != nil {
		t.Fatal(err)
	}
}

// A mode or namespace that changes takes what the old one had with it.
func TestChangesCleanUpBehindThem(t *testing.T) {
	p := planes.member
	operate(t, p)
	k := newKlusterlet("mover", "Default", "open-cluster-management-old")
	if err := p.API.Create(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	operatortest.Eventually(t, "applied", conditions(p, k.Name, "Applied=True"))
	if err := p.API.Patch(t.Context(), k, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"namespace":"open-cluster-management-new","deployOption":{"mode":"Singleton"}}}`))); err != nil {
		t.Fatal(err)
	}
	p.Gone(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "open-cluster-management-old"}})
	operatortest.Eventually(t, "one deployment", func(ctx context.Context) error {
		list := &appsv1.DeploymentList{}
		if err := p.API.List(ctx, list, client.MatchingLabels{ocmoperatorv1.CreatedByKlusterletLabel: k.Name}); err != nil {
			return err
		}
		if len(list.Items) != 1 || list.Items[0].Name != "mover-agent" || list.Items[0].Namespace != "open-cluster-management-new" {
			return fmt.Errorf("%d deployments", len(list.Items))
		}
		return nil
	})
	removeKlusterlet(t, p, k)
}

// Hosted: everything that is said and done before, during and after the managed cluster can be reached.
func TestHostedKlusterlet(t *testing.T) {
	management, managed := planes.management, planes.member
	operate(t, management)
	before, around := settled(t, managed), settled(t, management)
	k := newKlusterlet("hosted", "Hosted", "open-cluster-management-hosted")
	management.Kubelet(t, k.Name)
	if err := management.API.Create(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	operatortest.Eventually(t, "told what is missing", conditions(management, k.Name, "ReadyToApply=False/KlusterletPrepareFailed",
		"HubConnectionDegraded=True/BootstrapSecretMissing,HubKubeConfigSecretMissing"))

	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: k.Name}}
	if err := management.API.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	create(t, management, k.Name, "bootstrap-hub-kubeconfig", map[string][]byte{"kubeconfig": hubConfig(t, "")})
	create(t, management, k.Name, "external-managed-kubeconfig", map[string][]byte{"kubeconfig": managed.KubeconfigText(t)})
	operatortest.Eventually(t, "applied", conditions(management, k.Name, "ReadyToApply=True/KlusterletPrepared", "Applied=True/KlusterletApplied"))
	for _, name := range []string{"external-managed-kubeconfig-registration", "external-managed-kubeconfig-work"} {
		secret := &corev1.Secret{}
		if err := management.API.Get(t.Context(), client.ObjectKey{Namespace: k.Name, Name: name}, secret); err != nil {
			t.Fatal(err)
		}
		if len(secret.Data["token"]) == 0 || len(secret.Data["expiration"]) == 0 || !strings.Contains(string(secret.Data["kubeconfig"]), "tokenFile: /spoke/config/token") {
			t.Errorf("secret %s has keys that agents cannot use", name)
		}
	}
	account := &corev1.ServiceAccount{}
	if err := managed.API.Get(t.Context(), client.ObjectKey{Namespace: "open-cluster-management-hosted", Name: "hosted-work-sa"}, account); err != nil {
		t.Errorf("account on the managed cluster: %v", err)
	}
	if _, err := deployment(t.Context(), management, k.Name, "hosted-registration-agent"); err != nil {
		t.Error(err)
	}
	removeKlusterlet(t, management, k)
	management.Gone(t, namespace)
	managed.AsBefore(t, before)
	management.AsBefore(t, around)
}
