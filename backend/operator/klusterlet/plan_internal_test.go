package klusterlet

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	"muster.dev/muster/backend/operator/component"
)

const testImage = "muster-agent:test"

func klusterletWith(change func(*ocmoperatorv1.KlusterletSpec)) *ocmoperatorv1.Klusterlet {
	k := &ocmoperatorv1.Klusterlet{ObjectMeta: metav1.ObjectMeta{Name: "klusterlet", UID: "72bd752d"}}
	k.Spec.ClusterName = "cluster1"
	if change != nil {
		change(&k.Spec)
	}
	return k
}

func mustPlan(t *testing.T, k *ocmoperatorv1.Klusterlet) plan {
	t.Helper()
	p, err := newPlan(k, Settings{AgentImage: testImage, HostAliases: []corev1.HostAlias{{IP: "10.0.0.1", Hostnames: []string{"lab"}}}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestModesDecideWhereThingsAre(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode                  ocmoperatorv1.InstallMode
		namespace             string
		agents, managed       string
		first, second         string
		accounts, credentials []string
	}{
		{"", "", "open-cluster-management-agent", "open-cluster-management-agent", "klusterlet-registration-agent", "klusterlet-work-agent",
			[]string{"klusterlet-registration-sa", "klusterlet-work-sa"}, nil},
		{"Default", "open-cluster-management-x", "open-cluster-management-x", "open-cluster-management-x", "klusterlet-registration-agent", "klusterlet-work-agent",
			[]string{"klusterlet-registration-sa", "klusterlet-work-sa"}, nil},
		{"Singleton", "", "open-cluster-management-agent", "open-cluster-management-agent", "klusterlet-agent", "klusterlet-agent",
			[]string{"klusterlet-work-sa"}, nil},
		{"Hosted", "", "klusterlet", "open-cluster-management-agent", "klusterlet-registration-agent", "klusterlet-work-agent",
			[]string{"klusterlet-registration-sa", "klusterlet-work-sa"}, []string{"external-managed-kubeconfig-registration", "external-managed-kubeconfig-work"}},
		{"Detached", "", "klusterlet", "open-cluster-management-agent", "klusterlet-registration-agent", "klusterlet-work-agent",
			[]string{"klusterlet-registration-sa", "klusterlet-work-sa"}, []string{"external-managed-kubeconfig-registration", "external-managed-kubeconfig-work"}},
		{"SingletonHosted", "open-cluster-management-x", "klusterlet", "open-cluster-management-x", "klusterlet-agent", "klusterlet-agent",
			[]string{"klusterlet-work-sa"}, []string{"external-managed-kubeconfig-agent"}},
	} {
		t.Run(string(c.mode), func(t *testing.T) {
			t.Parallel()
			p := mustPlan(t, klusterletWith(func(s *ocmoperatorv1.KlusterletSpec) { s.DeployOption.Mode, s.Namespace = c.mode, c.namespace }))
			first, second := p.deployments()
			var credentials []string
			for _, credential := range p.credentials() {
				credentials = append(credentials, credential.Secret.Name)
			}
			got := []any{p.agentNamespace, p.managedNamespace, first, second, p.accounts(), credentials}
			if diff := cmp.Diff([]any{c.agents, c.managed, c.first, c.second, c.accounts, c.credentials}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := newPlan(klusterletWith(func(s *ocmoperatorv1.KlusterletSpec) { s.DeployOption.Mode = "Elsewhere" }), Settings{}); err == nil {
		t.Error("a mode that nobody knows is taken")
	}
}

// The arguments of the recordings: objects/member-cluster1-joined, mgmt-klusterlet-hosted, member-cluster3-singleton.
func TestAgentsGetTheArgumentsOfTheRecordings(t *testing.T) {
	t.Parallel()
	rates := func(s *ocmoperatorv1.KlusterletSpec) {
		s.RegistrationConfiguration = &ocmoperatorv1.RegistrationConfiguration{
			ClientCertExpirationSeconds: 31536000, KubeAPIQPS: 50, KubeAPIBurst: 100,
			FeatureGates: []ocmoperatorv1.FeatureGate{{Feature: "AddonManagement", Mode: "Enable"}, {Feature: "ClusterClaim", Mode: "Enable"}},
		}
		s.ExternalServerURLs = []ocmoperatorv1.ServerURL{{URL: ""}}
	}
	for _, c := range []struct {
		name   string
		change func(*ocmoperatorv1.KlusterletSpec)
		want   [][]string
	}{
		{"default", rates, [][]string{
			{"registration", "--spoke-cluster-name=cluster1", "--bootstrap-kubeconfig=/spoke/bootstrap/kubeconfig",
				"--client-cert-expiration-seconds=31536000", "--kube-api-qps=50", "--kube-api-burst=100"},
			{"work", "--spoke-cluster-name=cluster1", "--workload-source-driver=kube", "--workload-source-config=/spoke/hub-kubeconfig/kubeconfig",
				"--agent-id=72bd752d", "--status-sync-interval=1m0s", "--terminate-on-files=/spoke/hub-kubeconfig/kubeconfig"},
		}},
		{"hosted", func(s *ocmoperatorv1.KlusterletSpec) {
			s.DeployOption.Mode = "Hosted"
			s.ExternalServerURLs = []ocmoperatorv1.ServerURL{{URL: "https://localhost"}}
		}, [][]string{
			{"registration", "--spoke-cluster-name=cluster1", "--bootstrap-kubeconfig=/spoke/bootstrap/kubeconfig",
				"--spoke-external-server-urls=https://localhost", "--spoke-kubeconfig=/spoke/config/kubeconfig", "--terminate-on-files=/spoke/config/kubeconfig"},
			{"work", "--spoke-cluster-name=cluster1", "--workload-source-driver=kube", "--workload-source-config=/spoke/hub-kubeconfig/kubeconfig",
				"--agent-id=72bd752d", "--status-sync-interval=1m0s", "--spoke-kubeconfig=/spoke/config/kubeconfig",
				"--terminate-on-files=/spoke/config/kubeconfig", "--terminate-on-files=/spoke/hub-kubeconfig/kubeconfig"},
		}},
		{"singleton", func(s *ocmoperatorv1.KlusterletSpec) {
			rates(s)
			s.DeployOption.Mode = "Singleton"
			s.RegistrationConfiguration.ClusterAnnotations = map[string]string{"agent.open-cluster-management.io/team": "a"}
		}, [][]string{{
			"klusterlet", "--spoke-cluster-name=cluster1", "--bootstrap-kubeconfig=/spoke/bootstrap/kubeconfig", "--client-cert-expiration-seconds=31536000",
			"--cluster-annotations=agent.open-cluster-management.io/team=a", "--kube-api-qps=50", "--kube-api-burst=100",
			"--workload-source-driver=kube", "--workload-source-config=/spoke/hub-kubeconfig/kubeconfig", "--agent-id=72bd752d", "--status-sync-interval=1m0s",
		}}},
		{"several hubs", func(s *ocmoperatorv1.KlusterletSpec) {
			s.RegistrationConfiguration = &ocmoperatorv1.RegistrationConfiguration{
				FeatureGates: []ocmoperatorv1.FeatureGate{{Feature: "MultipleHubs", Mode: "Enable"}},
				BootstrapKubeConfigs: ocmoperatorv1.BootstrapKubeConfigs{Type: "LocalSecrets", LocalSecrets: &ocmoperatorv1.LocalSecretsConfig{
					KubeConfigSecrets: []ocmoperatorv1.KubeConfigSecret{{Name: "hub1"}, {Name: "hub2"}}, HubConnectionTimeoutSeconds: 180,
				}},
			}
			s.WorkConfiguration = &ocmoperatorv1.WorkAgentConfiguration{
				StatusSyncInterval: &metav1.Duration{Duration: 5 * time.Second}, AppliedManifestWorkEvictionGracePeriod: &metav1.Duration{Duration: time.Hour},
			}
		}, [][]string{
			{"registration", "--spoke-cluster-name=cluster1", "--bootstrap-kubeconfigs=/spoke/hub1/kubeconfig", "--bootstrap-kubeconfigs=/spoke/hub2/kubeconfig",
				"--hub-connection-timeout-seconds=180", "--feature-gates=MultipleHubs=true"},
			{"work", "--spoke-cluster-name=cluster1", "--workload-source-driver=kube", "--workload-source-config=/spoke/hub-kubeconfig/kubeconfig",
				"--agent-id=72bd752d", "--status-sync-interval=5s", "--appliedmanifestwork-eviction-grace-period=1h0m0s",
				"--terminate-on-files=/spoke/hub-kubeconfig/kubeconfig"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k := klusterletWith(c.change)
			var got [][]string
			for _, agent := range mustPlan(t, k).agents(k, "", "cluster1", true) {
				got = append(got, agent.Args)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPodsHonourWhatIsAsked(t *testing.T) {
	t.Parallel()
	k := klusterletWith(func(s *ocmoperatorv1.KlusterletSpec) {
		s.NodePlacement.NodeSelector = map[string]string{"zone": "a"}
		s.NodePlacement.Tolerations = []corev1.Toleration{{Key: "edge", Operator: corev1.TolerationOpExists}}
		s.PriorityClassName = "high"
		s.HubAPIServerHostAlias = &ocmoperatorv1.HubAPIServerHostAlias{IP: "10.0.0.2", Hostname: "hub.example"}
		s.ResourceRequirement = &ocmoperatorv1.ResourceQuota{Type: "BestEffort"}
		s.RegistrationImagePullSpec = "registry.example/agent:v2"
	})
	agents := mustPlan(t, k).agents(k, "abc", "cluster1", false)
	pod := agents[0].Deployment().Spec.Template
	if pod.Spec.Containers[0].Image != "registry.example/agent:v2" || agents[1].Image != testImage {
		t.Errorf("images %q and %q", pod.Spec.Containers[0].Image, agents[1].Image)
	}
	want := []corev1.HostAlias{{IP: "10.0.0.1", Hostnames: []string{"lab"}}, {IP: "10.0.0.2", Hostnames: []string{"hub.example"}}}
	if diff := cmp.Diff(want, pod.Spec.HostAliases); diff != "" {
		t.Error(diff)
	}
	if pod.Spec.PriorityClassName != "high" || pod.Spec.NodeSelector["zone"] != "a" || len(pod.Spec.Tolerations) != 1 || len(pod.Spec.Containers[0].Resources.Requests) != 0 {
		t.Errorf("placement is not honoured: %+v", pod.Spec)
	}
	if pod.Labels["app"] != "klusterlet-registration-agent" || pod.Annotations[hubIdentityAnnotation] != "abc" {
		t.Errorf("labels %v, annotations %v", pod.Labels, pod.Annotations)
	}
	if *agents[1].Deployment().Spec.Replicas != 0 || agents[1].App != "klusterlet-manifestwork-agent" {
		t.Error("the work agent runs without credentials")
	}
}

func TestWhatIsNotActedOnIsSaid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*ocmoperatorv1.KlusterletSpec)
		want   string
	}{
		{"nothing", nil, ""},
		{"image of the original", func(s *ocmoperatorv1.KlusterletSpec) {
			s.WorkImagePullSpec = ocmoperatorv1.DefaultWorkImage + ":v1.3.1"
		}, "workImagePullSpec"},
		{"image of another mode, as clusteradm writes it", func(s *ocmoperatorv1.KlusterletSpec) {
			s.ImagePullSpec = "quay.io/open-cluster-management/registration-operator:v1.3.1"
		}, ""},
		{"schema default", func(s *ocmoperatorv1.KlusterletSpec) { s.WorkImagePullSpec = ocmoperatorv1.DefaultWorkImage }, ""},
		{"driver", func(s *ocmoperatorv1.KlusterletSpec) {
			s.RegistrationConfiguration = &ocmoperatorv1.RegistrationConfiguration{RegistrationDriver: ocmoperatorv1.RegistrationDriver{AuthType: "grpc"}}
		}, "registrationDriver"},
		{"labels", func(s *ocmoperatorv1.KlusterletSpec) {
			s.RegistrationConfiguration = &ocmoperatorv1.RegistrationConfiguration{ClusterLabels: map[string]string{"a": "b"}}
		}, "clusterLabels"},
		{"CA bundle", func(s *ocmoperatorv1.KlusterletSpec) {
			s.ExternalServerURLs = []ocmoperatorv1.ServerURL{{URL: "https://a", CABundle: []byte("x")}}
		}, "caBundle"},
		{"several hubs without the gate", func(s *ocmoperatorv1.KlusterletSpec) {
			s.RegistrationConfiguration = &ocmoperatorv1.RegistrationConfiguration{BootstrapKubeConfigs: ocmoperatorv1.BootstrapKubeConfigs{
				Type: "LocalSecrets", LocalSecrets: &ocmoperatorv1.LocalSecretsConfig{KubeConfigSecrets: []ocmoperatorv1.KubeConfigSecret{{Name: "hub1"}}},
			}}
		}, "MultipleHubs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k := klusterletWith(c.change)
			p := mustPlan(t, k)
			setUnsupported(k, p.unsupported)
			if c.want == "" != (len(p.unsupported) == 0) || !strings.Contains(k.Status.Conditions[0].Message, c.want) {
				t.Errorf("%q said, want something on %q", p.unsupported, c.want)
			}
		})
	}
}

func TestUnknownGatesAreSaid(t *testing.T) {
	t.Parallel()
	k := klusterletWith(func(s *ocmoperatorv1.KlusterletSpec) {
		s.WorkConfiguration = &ocmoperatorv1.WorkAgentConfiguration{FeatureGates: []ocmoperatorv1.FeatureGate{{Feature: "Nonsense", Mode: "Enable"}}}
	})
	p := mustPlan(t, k)
	setGates(k, p.unknownGates)
	if c := k.Status.Conditions[0]; c.Status != metav1.ConditionFalse || c.Reason != "InvalidFeatureGatesExisting" || !strings.Contains(c.Message, "Nonsense") {
		t.Errorf("%+v", c)
	}
}

func TestAvailabilityFollowsTheDeployments(t *testing.T) {
	t.Parallel()
	good := component.Rollout{Name: "a", Desired: 1, Available: 1, Updated: 1, Observed: true}
	none := component.Rollout{Name: "b", Desired: 1, Observed: true}
	zero := component.Rollout{Name: "b", Observed: true}
	gone := component.Rollout{Name: "b", Missing: true}
	unseen := component.Rollout{Name: "b"}
	before := component.Rollout{Name: "b", Desired: 1, Available: 1}
	for _, c := range []struct {
		name  string
		work  component.Rollout
		want  []string
		value []metav1.ConditionStatus
	}{
		{"both run", good, []string{"KlusterletAvailable", "DeploymentsFunctional", "DeploymentsFunctional"}, []metav1.ConditionStatus{"True", "False", "False"}},
		{"no pod", none, []string{"NoAvailablePods", "DeploymentsFunctional", "UnavailablePods"}, []metav1.ConditionStatus{"False", "False", "True"}},
		{"none wanted yet", zero, []string{"NoAvailablePods", "DeploymentsFunctional", "DeploymentsFunctional"}, []metav1.ConditionStatus{"False", "False", "False"}},
		{"none wanted yet, and nothing said of it", unseen, []string{"NoAvailablePods", "DeploymentsFunctional", "DeploymentsFunctional"}, []metav1.ConditionStatus{"False", "False", "False"}},
		{"nothing runs, and nothing said of it", component.Rollout{Name: "b", Desired: 1}, []string{"NoAvailablePods", "DeploymentsFunctional", "UnavailablePods"}, []metav1.ConditionStatus{"False", "False", "True"}},
		{"what runs is what was wanted before", before, []string{"KlusterletAvailable", "DeploymentsFunctional", "UnavailablePods"}, []metav1.ConditionStatus{"True", "False", "True"}},
		{"deployment missing", gone, []string{"GetDeploymentFailed", "DeploymentsFunctional", "GetDeploymentFailed"}, []metav1.ConditionStatus{"False", "False", "True"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k := klusterletWith(nil)
			work := c.work
			if work.Name == good.Name {
				work.Name = "b"
			}
			setAvailability(k, good, work)
			for i, kind := range []string{"Available", "RegistrationDesiredDegraded", "WorkDesiredDegraded"} {
				at := slices.IndexFunc(k.Status.Conditions, func(got metav1.Condition) bool { return got.Type == kind })
				if got := k.Status.Conditions[at]; got.Reason != c.want[i] || got.Status != c.value[i] {
					t.Errorf("%s is %s/%s, want %s/%s", kind, got.Status, got.Reason, c.value[i], c.want[i])
				} else if got.Status == metav1.ConditionTrue && strings.HasPrefix(got.Message, "0 ") {
					t.Errorf("%s is %s/%s, and nothing is the matter: %s", kind, got.Status, got.Reason, got.Message)
				}
			}
		})
	}
}

func TestHubRightsAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	got := map[string]int{}
	for _, r := range append(bootstrapRights(), hubRights("c1")...) {
		got[r.String()] += len(r.verbs)
	}
	want := map[string]int{ // contract ocm.md section 2.9
		"managedclusters.cluster.open-cluster-management.io": 6, "certificatesigningrequests.certificates.k8s.io": 7,
		"managedclusters/status.cluster.open-cluster-management.io":              2,
		"managedclusters/clientcertificates.register.open-cluster-management.io": 1,
		"leases.coordination.k8s.io in c1":                                       2, "events in c1": 3, "events.events.k8s.io in c1": 3,
		"manifestworks.work.open-cluster-management.io in c1": 4, "manifestworks/status.work.open-cluster-management.io in c1": 2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
