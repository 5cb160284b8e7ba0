package clustermanager_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	"muster.dev/muster/backend/operator/clustermanager"
	"muster.dev/muster/backend/operator/operatortest"
	"muster.dev/muster/deploy"
)

// The planes are shared by the package; its tests run one after the other.
var planes struct{ management, hub *operatortest.Plane }

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "clustermanager")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	var group errgroup.Group
	for name, plane := range map[string]**operatortest.Plane{"management": &planes.management, "hub": &planes.hub} {
		group.Go(func() (err error) {
			*plane, err = operatortest.Start(filepath.Join(dir, name), name)
			return err
		})
	}
	err = group.Wait()
	for _, p := range []*operatortest.Plane{planes.management, planes.hub} {
		if p != nil {
			defer p.Stop() //nolint:errcheck // killed processes end with an error
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func operate(t *testing.T, p *operatortest.Plane) {
	t.Helper()
	p.Operate(t, func(ctx context.Context, m ctrl.Manager) error {
		return clustermanager.SetupWithManager(ctx, m, clustermanager.Settings{
			HubImage: "muster:test", AgentImage: "muster-agent:test", Namespace: ocmoperatorv1.OperatorNamespace,
			Manifests: deploy.Operator(), Kinds: deploy.HubCRDs(), Webhooks: deploy.Webhooks(), Rights: deploy.ExternalRBAC(),
		})
	})
}

// conditions checks a ClusterManager for several conditions, each "Type=Status/Reason".
func conditions(p *operatortest.Plane, name string, want ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		cm := &ocmoperatorv1.ClusterManager{}
		if err := p.API.Get(ctx, client.ObjectKey{Name: name}, cm); err != nil {
			return err
		}
		for _, text := range want {
			kind, value, _ := strings.Cut(text, "=")
			status, reason, _ := strings.Cut(value, "/")
			if err := operatortest.Condition(cm.Status.Conditions, kind, metav1.ConditionStatus(status), reason); err != nil {
				return err
			}
		}
		return nil
	}
}

func webhookConfigurations(t *testing.T, p *operatortest.Plane) []string {
	t.Helper()
	var names []string
	validating, mutating := &admissionregistrationv1.ValidatingWebhookConfigurationList{}, &admissionregistrationv1.MutatingWebhookConfigurationList{}
	for _, list := range []client.ObjectList{validating, mutating} {
		if err := p.API.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range validating.Items {
		names = append(names, c.Name)
	}
	for _, c := range mutating.Items {
		names = append(names, c.Name)
	}
	return names
}

// A ClusterManager in mode Default from its creation to its end: the cluster is afterwards as it was before, and what holds the end up is
// said meanwhile.
func TestDefaultClusterManagerComesAndGoes(t *testing.T) {
	p := planes.hub
	before := settled(t, p)
	operate(t, p)
	cm := &ocmoperatorv1.ClusterManager{ObjectMeta: metav1.ObjectMeta{Name: "cluster-manager"}}
	if err := p.API.Create(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	operatortest.Eventually(t, "applied", conditions(p, cm.Name, "Applied=True/ClusterManagerApplied", "Progressing=True/ClusterManagerDeploymentRolling",
		"HubRegistrationDegraded=True/UnavailableRegistrationPod", "HubPlacementDegraded=True/UnavailablePlacementPod", "ValidFeatureGates=True", "NotSupported=False"))
	if names := webhookConfigurations(t, p); len(names) > 0 {
		t.Errorf("the API server is told to ask before anybody answers: %v", names)
	}
	// Now, since nobody answers webhooks here: somebody's work, whose agent is gone.
	works := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "cluster1"}}
	work := &ocmworkv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: works.Name, Name: "web", Finalizers: []string{ocmworkv1.ManifestWorkFinalizer}}}
	work.Spec.Workload.Manifests = []ocmworkv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default"}}`)}}}
	cluster := &ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "cluster1", Finalizers: []string{ocmv1.ResourceCleanupFinalizer}}}
	for _, object := range []client.Object{works, work, cluster} {
		operatortest.Eventually(t, "a "+object.GetName(), func(ctx context.Context) error { // its kind has only just been made
			return client.IgnoreAlreadyExists(p.API.Create(ctx, object))
		})
	}
	p.Kubelet(t, ocmoperatorv1.HubNamespace)
	operatortest.Eventually(t, "up to date", conditions(p, cm.Name, "Progressing=False/ClusterManagerUpToDate",
		"HubRegistrationDegraded=False/RegistrationFunctional", "HubPlacementDegraded=False/PlacementFunctional"))
	operatortest.Eventually(t, "webhooks", func(context.Context) error {
		if names := webhookConfigurations(t, p); len(names) != 4 {
			return fmt.Errorf("%v", names)
		}
		return nil
	})
	checkStatus(t, p, cm.Name, ocmoperatorv1.HubNamespace)

	if err := p.API.Delete(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	operatortest.Eventually(t, "names the work", blockedBy(p, cm.Name, "ManifestWorksRemain", "cluster1/web (held by "+ocmworkv1.ManifestWorkFinalizer+")"))
	releaseByHand(t, p, work)
	operatortest.Eventually(t, "names the cluster", blockedBy(p, cm.Name, "ManagedClustersRemain", "cluster1 (held by "+ocmv1.ResourceCleanupFinalizer+")"))
	releaseByHand(t, p, cluster)
	p.Gone(t, cm)
	if err := p.API.Delete(t.Context(), works); err != nil {
		t.Fatal(err)
	}
	p.AsBefore(t, before)
}

func settled(t *testing.T, p *operatortest.Plane) map[string]string {
	t.Helper()
	return p.Settled(t, "managedclusters.cluster", "clustermanagers.operator.open-cluster-management.io//cluster-manager", "namespaces//cluster-manager", "/"+ocmoperatorv1.HubNamespace)
}

func blockedBy(p *operatortest.Plane, name, reason, text string) func(context.Context) error {
	return func(ctx context.Context) error {
		cm := &ocmoperatorv1.ClusterManager{}
		if err := p.API.Get(ctx, client.ObjectKey{Name: name}, cm); err != nil {
			return err
		}
		found := meta.FindStatusCondition(cm.Status.Conditions, clustermanager.ConditionCleanupBlocked)
		if found == nil || found.Status != metav1.ConditionTrue || found.Reason != reason || !strings.Contains(found.Message, text) {
			return fmt.Errorf("%+v", found)
		}
		return nil
	}
}

// releaseByHand does what the hub or an agent would: it deletes the object and takes the finalizers away. Nobody answers webhooks here, so that these go first.
func releaseByHand(t *testing.T, p *operatortest.Plane, object client.Object) {
	t.Helper()
	if err := p.API.DeleteAllOf(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{}); err != nil {
		t.Fatal(err)
	}
	if err := p.API.DeleteAllOf(t.Context(), &admissionregistrationv1.MutatingWebhookConfiguration{}); err != nil {
		t.Fatal(err)
	}
	operatortest.Eventually(t, "deletion", func(ctx context.Context) error { // the API asks webhooks for a moment longer
		return client.IgnoreNotFound(p.API.Delete(ctx, object))
	})
	operatortest.Eventually(t, "release", func(ctx context.Context) error {
		return client.IgnoreNotFound(p.API.Patch(ctx, object, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))))
	})
}

func checkStatus(t *testing.T, p *operatortest.Plane, name, namespace string) {
	t.Helper()
	cm := &ocmoperatorv1.ClusterManager{}
	if err := p.API.Get(t.Context(), client.ObjectKey{Name: name}, cm); err != nil {
		t.Fatal(err)
	}
	related := map[string]bool{}
	for _, r := range cm.Status.RelatedResources {
		related[r.Resource+" "+r.Namespace+"/"+r.Name] = true
	}
	for _, want := range []string{
		"customresourcedefinitions /managedclusters.cluster.open-cluster-management.io", "namespaces /NS",
		"clusterroles /open-cluster-management:cluster-manager-registration:controller", "serviceaccounts NS/registration-controller-sa",
		"clusterroles /open-cluster-management:cluster-manager-work-executor-admin:webhook", "clusterroles /open-cluster-management:cluster-manager-work:webhook",
		"roles NS/open-cluster-management:cluster-manager-registration:controller", "roles kube-system/open-cluster-management:cluster-manager-registration:controller",
		"deployments NS/cluster-manager-registration-controller", "deployments NS/cluster-manager-registration-webhook", "deployments NS/cluster-manager-work-webhook",
		"validatingwebhookconfigurations /managedclustervalidators.admission.cluster.open-cluster-management.io",
		"mutatingwebhookconfigurations /managedclustermutators.admission.cluster.open-cluster-management.io",
	} {
		if want = strings.ReplaceAll(want, "NS", namespace); !related[want] {
			t.Errorf("not related: %s", want)
		}
	}
	if len(cm.Status.Generations) != 3 || cm.Status.ObservedGeneration != cm.Generation {
		t.Errorf("generations %+v, observed %d of %d", cm.Status.Generations, cm.Status.ObservedGeneration, cm.Generation)
	}
}

func newHosted() *ocmoperatorv1.ClusterManager {
	cm := &ocmoperatorv1.ClusterManager{ObjectMeta: metav1.ObjectMeta{Name: "cluster-manager"}}
	cm.Spec.DeployOption = ocmoperatorv1.ClusterManagerDeployOption{Mode: "Hosted", Hosted: &ocmoperatorv1.HostedClusterManagerConfiguration{
		RegistrationWebhookConfiguration: &ocmoperatorv1.HostedWebhookConfiguration{Address: "localhost", Port: 30443},
		WorkWebhookConfiguration:         &ocmoperatorv1.HostedWebhookConfiguration{Address: "localhost", Port: 31443},
	}}
	return cm
}

// Hosted: it says what is missing, works on two clusters, and leaves nothing on the hub.
func TestHostedClusterManager(t *testing.T) {
	management, hub := planes.management, planes.hub
	before, around := settled(t, hub), settled(t, management)
	operate(t, management)
	cm := newHosted()
	management.Kubelet(t, cm.Name)
	if err := management.API.Create(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	operatortest.Eventually(t, "says what is missing", conditions(management, cm.Name, "ReadyToApply=False/ExternalHubKubeconfigMissing"))
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: cm.Name}}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: cm.Name, Name: ocmoperatorv1.ExternalHubKubeconfigSecret},
		Data: map[string][]byte{"kubeconfig": hub.KubeconfigText(t)}}
	for _, object := range []client.Object{namespace, secret} {
		if err := management.API.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	operatortest.Eventually(t, "up to date", conditions(management, cm.Name, "ReadyToApply=True/ClusterManagerPrepared", "Applied=True/ClusterManagerApplied",
		"Progressing=False/ClusterManagerUpToDate", "HubRegistrationDegraded=False/RegistrationFunctional"))
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	operatortest.Eventually(t, "webhooks on the hub", func(ctx context.Context) error {
		return hub.API.Get(ctx, client.ObjectKey{Name: "manifestworkvalidators.admission.work.open-cluster-management.io"}, configuration)
	})
	if url := configuration.Webhooks[0].ClientConfig.URL; url == nil || *url != "https://localhost:31443/validate-work-open-cluster-management-io-v1-manifestwork" {
		t.Errorf("the hub is told to ask at %v", url)
	}
	checkHostedSides(t, cm.Name)
	checkStatus(t, management, cm.Name, cm.Name)

	if err := management.API.Delete(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	management.Gone(t, cm)
	management.Gone(t, namespace)
	hub.AsBefore(t, before)
	management.AsBefore(t, around)
}

func checkHostedSides(t *testing.T, namespace string) {
	t.Helper()
	for _, account := range []string{"registration-controller-sa", "registration-webhook-sa", "work-webhook-sa"} {
		if err := planes.hub.API.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: account}, &corev1.ServiceAccount{}); err != nil {
			t.Errorf("account on the hub: %v", err)
		}
		secret := &corev1.Secret{}
		if err := planes.management.API.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: account + "-kubeconfig"}, secret); err != nil {
			t.Errorf("credential where the components run: %v", err)
		} else if !strings.Contains(string(secret.Data["kubeconfig"]), "tokenFile: /var/run/secrets/hub/token") || len(secret.Data["token"]) == 0 {
			t.Errorf("credential of %s cannot be used", account)
		}
	}
	err := planes.management.API.Get(t.Context(), client.ObjectKey{Name: "managedclusters.cluster.open-cluster-management.io"}, &apiextensionsv1.CustomResourceDefinition{})
	if client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the hub's kinds are on the management cluster, too: %v", err)
	}
}
