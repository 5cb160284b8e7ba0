package clustermanager

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	"muster.dev/muster/backend/operator/component"
	"muster.dev/muster/deploy"
)

const testImage = "muster:test"

func managerWith(change func(*ocmoperatorv1.ClusterManagerSpec)) *ocmoperatorv1.ClusterManager {
	cm := &ocmoperatorv1.ClusterManager{ObjectMeta: metav1.ObjectMeta{Name: "cluster-manager"}}
	cm.Spec.RegistrationImagePullSpec, cm.Spec.WorkImagePullSpec = ocmoperatorv1.DefaultRegistrationImage, ocmoperatorv1.DefaultWorkImage
	cm.Spec.PlacementImagePullSpec, cm.Spec.AddOnManagerImagePullSpec = ocmoperatorv1.DefaultPlacementImage, ocmoperatorv1.DefaultAddOnManagerImage
	if change != nil {
		change(&cm.Spec)
	}
	return cm
}

func mustPlan(t *testing.T, cm *ocmoperatorv1.ClusterManager) plan {
	t.Helper()
	p, err := newPlan(cm, Settings{HubImage: testImage, AgentImage: "muster-agent:test"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func hosted(s *ocmoperatorv1.ClusterManagerSpec) {
	s.DeployOption.Mode = "Hosted"
	s.DeployOption.Hosted = &ocmoperatorv1.HostedClusterManagerConfiguration{
		RegistrationWebhookConfiguration: &ocmoperatorv1.HostedWebhookConfiguration{Address: "management-control-plane", Port: 30443},
		WorkWebhookConfiguration:         &ocmoperatorv1.HostedWebhookConfiguration{Address: "10.77.0.2"},
	}
}

// The hub's API server must find the webhooks: behind the Service in mode Default, at the port of the resource in mode Hosted.
func TestWebhookConfigurationsLeadToTheWebhooks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name               string
		change             func(*ocmoperatorv1.ClusterManagerSpec)
		registration, work map[string]any
	}{
		{"default", nil,
			map[string]any{"name": "cluster-manager-registration-webhook", "namespace": "open-cluster-management-hub", "port": int64(9443)},
			map[string]any{"name": "cluster-manager-work-webhook", "namespace": "open-cluster-management-hub", "port": int64(9443)}},
		{"default with a port", func(s *ocmoperatorv1.ClusterManagerSpec) {
			s.DeployOption.Default = &ocmoperatorv1.DefaultClusterManagerConfiguration{}
			s.DeployOption.Default.WorkWebhookConfiguration.BindConfiguration.Port = 10443
		},
			map[string]any{"name": "cluster-manager-registration-webhook", "namespace": "open-cluster-management-hub", "port": int64(9443)},
			map[string]any{"name": "cluster-manager-work-webhook", "namespace": "open-cluster-management-hub", "port": int64(10443)}},
		{"hosted", hosted, map[string]any{"url": "https://management-control-plane:30443"}, map[string]any{"url": "https://10.77.0.2:443"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			configurations, err := mustPlan(t, managerWith(c.change)).configurations(deploy.Webhooks(), []byte("bundle"))
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, configuration := range configurations {
				names = append(names, configuration.GetName())
				want := c.registration
				if strings.Contains(configuration.GetName(), ".work.") {
					want = c.work
				}
				checkTarget(t, configuration.(*unstructured.Unstructured), want)
			}
			slices.Sort(names)
			if diff := cmp.Diff([]string{
				"managedclustermutators.admission.cluster.open-cluster-management.io", "managedclustersetbindingvalidators.admission.cluster.open-cluster-management.io",
				"managedclustervalidators.admission.cluster.open-cluster-management.io", "manifestworkvalidators.admission.work.open-cluster-management.io",
			}, names); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func checkTarget(t *testing.T, configuration *unstructured.Unstructured, want map[string]any) {
	t.Helper()
	webhooks, _, _ := unstructured.NestedSlice(configuration.Object, "webhooks")
	target, _, _ := unstructured.NestedMap(webhooks[0].(map[string]any), "clientConfig")
	if target["caBundle"] != "YnVuZGxl" {
		t.Errorf("%s is verified by %v", configuration.GetName(), target["caBundle"])
	}
	if url, ok := want["url"].(string); ok {
		got, _ := target["url"].(string)
		if !strings.HasPrefix(got, url+"/") || target["service"] != nil {
			t.Errorf("%s is asked at %v, want %s", configuration.GetName(), target, url)
		}
		return
	}
	service, _ := target["service"].(map[string]any)
	path, _ := service["path"].(string)
	if delete(service, "path"); path == "" || !cmp.Equal(want, service) {
		t.Errorf("%s is asked at %v, want %v", configuration.GetName(), target, want)
	}
}

func TestHostedNeedsBothAddresses(t *testing.T) {
	t.Parallel()
	if _, err := newPlan(managerWith(func(s *ocmoperatorv1.ClusterManagerSpec) { s.DeployOption.Mode = "Hosted" }), Settings{}); err == nil {
		t.Error("a hosted hub without addresses is taken")
	}
}

func TestDeploymentsAreWhatUsersSelect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		change    func(*ocmoperatorv1.ClusterManagerSpec)
		namespace string
		stored    storage
		replicas  []int32
		args      []string // that the hub is given, among others
	}{
		{"default", nil, "open-cluster-management-hub", storage{}, []int32{1, 3, 3}, []string{"--plane=external", "--install-crds=false", "--webhook-configurations=false"}},
		{"with a database", nil, "open-cluster-management-hub", storage{database: true}, []int32{3, 3, 3}, []string{"--database=$(MUSTER_DATABASE)"}},
		{"hosted", hosted, "cluster-manager", storage{}, []int32{1, 3, 3}, []string{"--kubeconfig=/var/run/secrets/hub/kubeconfig"}},
		{"approving", func(s *ocmoperatorv1.ClusterManagerSpec) {
			s.RegistrationConfiguration = &ocmoperatorv1.RegistrationHubConfiguration{
				AutoApproveUsers: []string{"b"}, FeatureGates: []ocmoperatorv1.FeatureGate{{Feature: gateAutoApproval, Mode: "Enable"}},
				RegistrationDrivers: []ocmoperatorv1.RegistrationDriverHub{{AuthType: "csr", CSR: &ocmoperatorv1.AutoApprovedIdentities{AutoApprovedIdentities: []string{"a", "b"}}}},
			}
		}, "open-cluster-management-hub", storage{}, []int32{1, 3, 3}, []string{"--auto-approve-users=a", "--auto-approve-users=b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := mustPlan(t, managerWith(c.change))
			names := []string{"cluster-manager-registration-controller", "cluster-manager-registration-webhook", "cluster-manager-work-webhook"}
			apps := []string{"clustermanager-registration-controller", "cluster-manager-registration-webhook", "cluster-manager-work-webhook"}
			for i, d := range p.deployments(c.stored, 3, "muster-agent:test") {
				if d.Name != names[i] || d.Namespace != c.namespace || d.Spec.Template.Labels["app"] != apps[i] || *d.Spec.Replicas != c.replicas[i] {
					t.Errorf("%s/%s, app %s, %d replicas", d.Namespace, d.Name, d.Spec.Template.Labels["app"], *d.Spec.Replicas)
				}
				for _, arg := range c.args {
					if i == 0 && !slices.Contains(d.Spec.Template.Spec.Containers[0].Args, arg) {
						t.Errorf("arguments %v lack %s", d.Spec.Template.Spec.Containers[0].Args, arg)
					}
				}
			}
		})
	}
}

func TestApprovalWithoutTheGateIsNoApproval(t *testing.T) {
	t.Parallel()
	p := mustPlan(t, managerWith(func(s *ocmoperatorv1.ClusterManagerSpec) {
		s.RegistrationConfiguration = &ocmoperatorv1.RegistrationHubConfiguration{AutoApproveUsers: []string{"a"}}
	}))
	if len(p.autoApprove) > 0 {
		t.Errorf("%v are approved", p.autoApprove)
	}
}

func TestWhatIsNotActedOnIsSaid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*ocmoperatorv1.ClusterManagerSpec)
		want   string
	}{
		{"schema defaults", nil, ""},
		{"what clusteradm writes", func(s *ocmoperatorv1.ClusterManagerSpec) {
			s.WorkConfiguration = &ocmoperatorv1.WorkHubConfiguration{WorkDriver: "kube"}
			s.RegistrationConfiguration = &ocmoperatorv1.RegistrationHubConfiguration{
				FeatureGates:        []ocmoperatorv1.FeatureGate{{Feature: "ResourceCleanup", Mode: "Enable"}, {Feature: "DefaultClusterSet", Mode: "Enable"}},
				RegistrationDrivers: []ocmoperatorv1.RegistrationDriverHub{{AuthType: "csr"}},
			}
		}, ""},
		{"other image of the original", func(s *ocmoperatorv1.ClusterManagerSpec) {
			s.RegistrationImagePullSpec = ocmoperatorv1.DefaultRegistrationImage + ":latest"
		}, "registrationImagePullSpec"},
		{"placement image", func(s *ocmoperatorv1.ClusterManagerSpec) { s.PlacementImagePullSpec = "registry.example/placement:v1" }, "placementImagePullSpec"},
		{"driver", func(s *ocmoperatorv1.ClusterManagerSpec) {
			s.WorkConfiguration = &ocmoperatorv1.WorkHubConfiguration{WorkDriver: "mqtt"}
		}, "workDriver"},
		{"grpc", func(s *ocmoperatorv1.ClusterManagerSpec) {
			s.ServerConfiguration = &ocmoperatorv1.ServerConfiguration{}
		}, "serverConfiguration"},
		{"gate", func(s *ocmoperatorv1.ClusterManagerSpec) {
			s.PlacementConfiguration = &ocmoperatorv1.FeatureGateConfiguration{FeatureGates: []ocmoperatorv1.FeatureGate{{Feature: "PlacementDebugServer", Mode: "Enable"}}}
		}, "PlacementDebugServer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := mustPlan(t, managerWith(c.change))
			if c.want == "" != (len(p.unsupported) == 0) || !strings.Contains(strings.Join(p.unsupported, "\n"), c.want) {
				t.Errorf("%q said, want something on %q", p.unsupported, c.want)
			}
		})
	}
}

func TestProgressIsThatOfTheDeployments(t *testing.T) {
	t.Parallel()
	good := component.Rollout{Name: "hub", Desired: 1, Available: 1, Updated: 1, Observed: true}
	down := component.Rollout{Name: "hub", Desired: 1, Updated: 1, Observed: true}
	for _, c := range []struct {
		name string
		hub  component.Rollout
		want map[string]string
	}{
		{"good", good, map[string]string{"Progressing": "ClusterManagerUpToDate", "HubRegistrationDegraded": "RegistrationFunctional", "HubPlacementDegraded": "PlacementFunctional"}},
		{"down", down, map[string]string{"Progressing": "ClusterManagerDeploymentRolling", "HubRegistrationDegraded": "UnavailableRegistrationPod", "HubPlacementDegraded": "UnavailablePlacementPod"}},
		{"missing", component.Rollout{Name: "hub", Missing: true}, map[string]string{
			"Progressing": "ClusterManagerDeploymentRolling", "HubRegistrationDegraded": "GetRegistrationDeploymentFailed", "HubPlacementDegraded": "GetPlacementDeploymentFailed"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cm := managerWith(nil)
			setProgress(cm, c.hub, good)
			got := map[string]string{}
			for _, condition := range cm.Status.Conditions {
				got[condition.Type] = condition.Reason
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A certificate is kept while it is good, replaced in its last fifth, and always verified by the bundle.
func TestCertificatesAreRotated(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ca, err := newAuthority("cluster-manager", start)
	if err != nil {
		t.Fatal(err)
	}
	hosts := []string{"cluster-manager-work-webhook.ns.svc", "10.77.0.2"}
	first, err := ca.serving(pair{}, hosts, start)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tls.X509KeyPair(first.cert, first.key); err != nil {
		t.Error(err)
	}
	day := 24 * time.Hour
	for _, c := range []struct {
		name string
		age  time.Duration
		kept bool
	}{{"young", 20 * day, true}, {"old", 25 * day, false}} {
		again, err := ca.serving(first, hosts, start.Add(c.age))
		if err != nil {
			t.Fatal(err)
		}
		if kept := string(again.cert) == string(first.cert); kept != c.kept {
			t.Errorf("%s: kept = %v, want %v", c.name, kept, c.kept)
		}
	}
	if other, err := ca.serving(first, append(hosts, "elsewhere"), start); err != nil || string(other.cert) == string(first.cert) {
		t.Errorf("a further name needs another certificate (%v)", err)
	}
	if _, err := readAuthority(ca.pair, start.Add(200*day)); err != nil {
		t.Errorf("the authority ended early: %v", err)
	}
	if _, err := readAuthority(ca.pair, start.Add(300*day)); err == nil {
		t.Error("the authority signs in its last fifth")
	}
	next, err := newAuthority("cluster-manager", start.Add(300*day))
	if err != nil {
		t.Fatal(err)
	}
	verified := x509.NewCertPool()
	verified.AppendCertsFromPEM(next.bundle(ca.bundle(nil, start), start.Add(300*day)))
	block, _ := pem.Decode(first.cert)
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: verified, DNSName: hosts[0], CurrentTime: start.Add(day)}); err != nil {
		t.Errorf("what the last authority signed is not verified: %v", err)
	}
}

// All that is asked of pods is asked of each, and what resolves names for the operator does so for them.
func TestPodsHonourWhatIsAsked(t *testing.T) {
	t.Parallel()
	cm := managerWith(func(s *ocmoperatorv1.ClusterManagerSpec) {
		s.NodePlacement.NodeSelector = map[string]string{"zone": "a"}
		s.NodePlacement.Tolerations = []corev1.Toleration{{Key: "hub", Operator: corev1.TolerationOpExists}}
		s.ResourceRequirement = &ocmoperatorv1.ResourceQuota{Type: "ResourceRequirement", ResourceRequirements: sevenCPUs()}
		s.RegistrationImagePullSpec, s.WorkImagePullSpec = "registry.example/hub:v2", "registry.example/hub:v3"
	})
	aliases := []corev1.HostAlias{{IP: "10.0.0.1", Hostnames: []string{"lab"}}}
	p, err := newPlan(cm, Settings{HubImage: testImage, HostAliases: aliases})
	if err != nil {
		t.Fatal(err)
	}
	images := []string{"registry.example/hub:v2", "registry.example/hub:v2", "registry.example/hub:v3"}
	for i, d := range p.deployments(storage{}, 1, "") {
		pod := d.Spec.Template.Spec
		got := []any{pod.NodeSelector, pod.Tolerations, pod.Containers[0].Resources, pod.HostAliases, pod.Containers[0].Image}
		want := []any{cm.Spec.NodePlacement.NodeSelector, cm.Spec.NodePlacement.Tolerations, *sevenCPUs(), aliases, images[i]}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", d.Name, diff)
		}
	}
}
