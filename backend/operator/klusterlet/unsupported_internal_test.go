package klusterlet

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	"muster.dev/muster/backend/operator/component"
	"muster.dev/muster/backend/operator/operatortest"
)

type spec = ocmoperatorv1.KlusterletSpec

func registration(s *spec) *ocmoperatorv1.RegistrationConfiguration {
	if s.RegistrationConfiguration == nil {
		s.RegistrationConfiguration = &ocmoperatorv1.RegistrationConfiguration{}
	}
	return s.RegistrationConfiguration
}

func work(s *spec) *ocmoperatorv1.WorkAgentConfiguration {
	if s.WorkConfiguration == nil {
		s.WorkConfiguration = &ocmoperatorv1.WorkAgentConfiguration{}
	}
	return s.WorkConfiguration
}

func singleton(s *spec) { s.DeployOption.Mode = ocmoperatorv1.InstallModeSingleton }

func gate(name string) []ocmoperatorv1.FeatureGate {
	mode := ocmoperatorv1.FeatureEnable
	if component.AgentRegistrationGates[name] || component.AgentWorkGates[name] {
		mode = ocmoperatorv1.FeatureDisable
	}
	return []ocmoperatorv1.FeatureGate{{Feature: name, Mode: mode}}
}

func severalHubs(s *spec) {
	registration(s).FeatureGates = gate(gateMultipleHubs)
	registration(s).BootstrapKubeConfigs = ocmoperatorv1.BootstrapKubeConfigs{Type: typeLocalSecrets, LocalSecrets: &ocmoperatorv1.LocalSecretsConfig{
		KubeConfigSecrets: []ocmoperatorv1.KubeConfigSecret{{Name: "hub1"}, {Name: "hub2"}},
	}}
}

func sevenCPUs() *corev1.ResourceRequirements {
	return &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("7")}}
}

// specCase changes one field of a spec, on top of what given does.
type specCase struct {
	path          string
	given, change func(*spec)
	// said is part of what NotSupported has to say; empty: the field is acted on.
	said string
}

var specCases = []specCase{
	{"namespace", nil, func(s *spec) { s.Namespace = "open-cluster-management-x" }, ""},
	{"clusterName", nil, func(s *spec) { s.ClusterName = "other" }, ""},
	{"externalServerURLs.url", nil, func(s *spec) { s.ExternalServerURLs = []ocmoperatorv1.ServerURL{{URL: "https://a"}} }, ""},
	{"externalServerURLs.caBundle", nil, func(s *spec) { s.ExternalServerURLs = []ocmoperatorv1.ServerURL{{CABundle: []byte("x")}} }, "externalServerURLs[0].caBundle"},
	{"hubApiServerHostAlias", nil, func(s *spec) {
		s.HubAPIServerHostAlias = &ocmoperatorv1.HubAPIServerHostAlias{IP: "10.0.0.2", Hostname: "hub.example"}
	}, ""},
	{"deployOption.mode", nil, singleton, ""},
	{"registrationImagePullSpec", nil, func(s *spec) { s.RegistrationImagePullSpec = "registry.example/a:1" }, ""},
	{"workImagePullSpec", nil, func(s *spec) { s.WorkImagePullSpec = "registry.example/a:1" }, ""},
	{"imagePullSpec", singleton, func(s *spec) { s.ImagePullSpec = "registry.example/a:1" }, ""},
	{"imagePullSpec", nil, func(s *spec) { s.ImagePullSpec = "registry.example/a:1" }, "spec.imagePullSpec: in mode Default"},
	{"registrationImagePullSpec", singleton, func(s *spec) { s.RegistrationImagePullSpec = "registry.example/a:1" }, "spec.registrationImagePullSpec: in mode Singleton"},
	{"workImagePullSpec", singleton, func(s *spec) { s.WorkImagePullSpec = "registry.example/a:1" }, "spec.workImagePullSpec: in mode Singleton"},
	{"nodePlacement.nodeSelector", nil, func(s *spec) { s.NodePlacement.NodeSelector = map[string]string{"zone": "a"} }, ""},
	{"nodePlacement.tolerations", nil, func(s *spec) { s.NodePlacement.Tolerations = []corev1.Toleration{{Key: "edge"}} }, ""},
	{"priorityClassName", nil, func(s *spec) { s.PriorityClassName = "high" }, ""},
	{"resourceRequirement.type", nil, func(s *spec) { s.ResourceRequirement = &ocmoperatorv1.ResourceQuota{Type: "BestEffort"} }, ""},
	{"resourceRequirement.resourceRequirements", nil, func(s *spec) {
		s.ResourceRequirement = &ocmoperatorv1.ResourceQuota{Type: "ResourceRequirement", ResourceRequirements: sevenCPUs()}
	}, ""},
	{"resourceRequirement.resourceRequirements", nil, func(s *spec) {
		s.ResourceRequirement = &ocmoperatorv1.ResourceQuota{Type: "Default", ResourceRequirements: sevenCPUs()}
	}, "needs the type ResourceRequirement"},
	{"registrationConfiguration.clientCertExpirationSeconds", nil, func(s *spec) { registration(s).ClientCertExpirationSeconds = 7200 }, ""},
	{"registrationConfiguration.featureGates", nil, func(s *spec) { registration(s).FeatureGates = gate("ClusterProperty") }, ""},
	{"registrationConfiguration.clusterAnnotations", nil, func(s *spec) {
		registration(s).ClusterAnnotations = map[string]string{agentAnnotationPrefix + "a": "b"}
	}, ""},
	{"registrationConfiguration.clusterAnnotations", nil, func(s *spec) {
		registration(s).ClusterAnnotations = map[string]string{"a": "b"}
	}, "gets it as agent.open-cluster-management.io/a"},
	{"registrationConfiguration.clusterLabels", nil, func(s *spec) { registration(s).ClusterLabels = map[string]string{"a": "b"} }, "clusterLabels"},
	{"registrationConfiguration.kubeAPIQPS", nil, func(s *spec) { registration(s).KubeAPIQPS = 7 }, ""},
	{"registrationConfiguration.kubeAPIBurst", nil, func(s *spec) { registration(s).KubeAPIBurst = 7 }, ""},
	{"registrationConfiguration.bootstrapKubeConfigs", nil, severalHubs, ""},
	{"registrationConfiguration.bootstrapKubeConfigs.localSecretsConfig.hubConnectionTimeoutSeconds", severalHubs, func(s *spec) {
		registration(s).BootstrapKubeConfigs.LocalSecrets.HubConnectionTimeoutSeconds = 200
	}, ""},
	{"registrationConfiguration.bootstrapKubeConfigs.type", severalHubs, func(s *spec) { registration(s).BootstrapKubeConfigs.Type = "None" }, "needs the type LocalSecrets"},
	{"registrationConfiguration.bootstrapKubeConfigs", nil, func(s *spec) { severalHubs(s); registration(s).FeatureGates = nil }, "needs the feature gate MultipleHubs"},
	{"registrationConfiguration.registrationDriver.authType", nil, func(s *spec) { registration(s).RegistrationDriver.AuthType = "grpc" }, `authType "grpc"`},
	{"registrationConfiguration.registrationDriver.awsIrsa", nil, func(s *spec) {
		registration(s).RegistrationDriver.AwsIrsa = &ocmoperatorv1.AwsIrsa{HubClusterArn: "a"}
	}, "registrationDriver.awsIrsa"},
	{"registrationConfiguration.addOnKubeClientRegistrationDriver.authType", nil, func(s *spec) {
		registration(s).AddOnKubeClientRegistrationDriver = &ocmoperatorv1.AddOnRegistrationDriver{AuthType: "token"}
	}, `authType "token"`},
	{"registrationConfiguration.addOnKubeClientRegistrationDriver.token", nil, func(s *spec) {
		registration(s).AddOnKubeClientRegistrationDriver = &ocmoperatorv1.AddOnRegistrationDriver{Token: &ocmoperatorv1.TokenConfig{ExpirationSeconds: 9}}
	}, "addOnKubeClientRegistrationDriver.token"},
	{"registrationConfiguration.clusterClaimConfiguration.maxCustomClusterClaims", nil, func(s *spec) {
		registration(s).ClusterClaimConfiguration = &ocmoperatorv1.ClusterClaimConfiguration{MaxCustomClusterClaims: 7}
	}, ""},
	{"registrationConfiguration.clusterClaimConfiguration.reservedClusterClaimSuffixes", nil, func(s *spec) {
		registration(s).ClusterClaimConfiguration = &ocmoperatorv1.ClusterClaimConfiguration{ReservedClusterClaimSuffixes: []string{"x"}}
	}, ""},
	{"workConfiguration.featureGates", nil, func(s *spec) { work(s).FeatureGates = gate("RawFeedbackJsonString") }, ""},
	{"workConfiguration.kubeAPIQPS", nil, func(s *spec) { work(s).KubeAPIQPS = 7 }, ""},
	{"workConfiguration.kubeAPIBurst", nil, func(s *spec) { work(s).KubeAPIBurst = 7 }, ""},
	{"workConfiguration.kubeAPIQPS", singleton, func(s *spec) { work(s).KubeAPIQPS = 7 }, "workConfiguration.kubeAPIQPS"},
	{"workConfiguration.kubeAPIBurst", singleton, func(s *spec) { work(s).KubeAPIBurst = 7 }, "workConfiguration.kubeAPIQPS"},
	{"workConfiguration.hubKubeAPIQPS", nil, func(s *spec) { work(s).HubKubeAPIQPS = 7 }, ""},
	{"workConfiguration.hubKubeAPIBurst", nil, func(s *spec) { work(s).HubKubeAPIBurst = 7 }, ""},
	{"workConfiguration.hubKubeAPIQPS", singleton, func(s *spec) { work(s).HubKubeAPIQPS = 7 }, ""},
	{"workConfiguration.appliedManifestWorkEvictionGracePeriod", nil, func(s *spec) {
		work(s).AppliedManifestWorkEvictionGracePeriod = &metav1.Duration{Duration: 7}
	}, ""},
	{"workConfiguration.statusSyncInterval", nil, func(s *spec) { work(s).StatusSyncInterval = &metav1.Duration{Duration: 7} }, ""},
}

// outcome is what runs for a spec, and what is said about it.
func outcome(t *testing.T, changes ...func(*spec)) (runs, said string) {
	t.Helper()
	k := klusterletWith(func(s *spec) {
		for _, change := range changes {
			if change != nil {
				change(s)
			}
		}
	})
	p := mustPlan(t, k)
	var workloads []any
	for _, agent := range p.agents(k, "", k.Spec.ClusterName, true) {
		workloads = append(workloads, agent.Deployment())
	}
	text, err := json.Marshal(workloads)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), strings.Join(p.unsupported, "\n")
}

// Every field of a Klusterlet is acted on, or what is not is said: either what runs
// changes with it, or the condition NotSupported does.
func TestEveryFieldIsActedOnOrSaid(t *testing.T) {
	t.Parallel()
	var paths []string
	for _, c := range specCases {
		paths = append(paths, c.path)
		operatortest.CheckActedOn(t, operatortest.FieldCase[spec]{Path: c.path, Given: c.given, Change: c.change, Said: c.said}, outcome)
	}
	operatortest.CheckCovered[spec](t, paths)
}

// Every gate of the field changes what the agents are told, or is said to change
// nothing.
func TestEveryGateIsActedOnOrSaid(t *testing.T) {
	t.Parallel()
	idle := []string{"ExecutorValidatingCaches", "MultipleHubs", "V1beta1CSRAPICompatibility"} // the second: no hubs are named
	before, _ := outcome(t)
	for _, name := range slices.Concat(slices.Collect(maps.Keys(component.AgentRegistrationGates)), slices.Collect(maps.Keys(component.AgentWorkGates))) {
		runs, said := outcome(t, func(s *spec) {
			if _, ok := component.AgentWorkGates[name]; ok {
				work(s).FeatureGates = gate(name)
			} else {
				registration(s).FeatureGates = gate(name)
			}
		})
		if strings.Contains(said, "feature gate "+name) != slices.Contains(idle, name) || runs == before {
			t.Errorf("gate %s: %q is said, and the agents' arguments change: %t", name, said, runs != before)
		}
	}
}
