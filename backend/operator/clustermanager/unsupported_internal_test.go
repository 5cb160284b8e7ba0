package clustermanager

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	"muster.dev/muster/backend/operator/component"
	"muster.dev/muster/backend/operator/operatortest"
	"muster.dev/muster/deploy"
)

type spec = ocmoperatorv1.ClusterManagerSpec

func registration(s *spec) *ocmoperatorv1.RegistrationHubConfiguration {
	if s.RegistrationConfiguration == nil {
		s.RegistrationConfiguration = &ocmoperatorv1.RegistrationHubConfiguration{}
	}
	return s.RegistrationConfiguration
}

func byDefault(s *spec) *ocmoperatorv1.DefaultClusterManagerConfiguration {
	if s.DeployOption.Default == nil {
		s.DeployOption.Default = &ocmoperatorv1.DefaultClusterManagerConfiguration{}
	}
	return s.DeployOption.Default
}

func approving(s *spec) {
	registration(s).FeatureGates = gates(component.HubRegistrationGates, gateAutoApproval)
	registration(s).AutoApproveUsers = []string{"somebody"}
}

func gates(of component.Gates, name string) []ocmoperatorv1.FeatureGate {
	mode := ocmoperatorv1.FeatureEnable
	if of[name] {
		mode = ocmoperatorv1.FeatureDisable
	}
	return []ocmoperatorv1.FeatureGate{{Feature: name, Mode: mode}}
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

// bindCases are those of one webhook's ports.
func bindCases(path string, given func(*spec), bind func(*spec) *ocmoperatorv1.BindConfiguration) []specCase {
	return []specCase{
		{path + ".port", given, func(s *spec) { bind(s).Port = 7 }, ""},
		{path + ".hostNetwork", given, func(s *spec) { bind(s).HostNetwork = true }, ""},
		{path + ".healthProbePort", given, func(s *spec) { bind(s).HealthProbePort = 7 }, "healthProbePort of the"},
		{path + ".metricsPort", given, func(s *spec) { bind(s).MetricsPort = 7 }, "metricsPort of the"},
	}
}

func specCases() []specCase {
	const hostedOption, defaultOption = "deployOption.hosted.", "deployOption.default."
	cases := []specCase{
		{"registrationImagePullSpec", nil, func(s *spec) { s.RegistrationImagePullSpec = "registry.example/a:1" }, ""},
		{"workImagePullSpec", nil, func(s *spec) { s.WorkImagePullSpec = "registry.example/a:1" }, ""},
		{"placementImagePullSpec", nil, func(s *spec) { s.PlacementImagePullSpec = "registry.example/a:1" }, "placementImagePullSpec"},
		{"placementImagePullSpec", nil, func(s *spec) { s.PlacementImagePullSpec = ocmoperatorv1.DefaultPlacementImage + ":v1" }, "placementImagePullSpec"},
		{"addOnManagerImagePullSpec", nil, func(s *spec) { s.AddOnManagerImagePullSpec = "registry.example/a:1" }, "addOnManagerImagePullSpec"},
		{"nodePlacement.nodeSelector", nil, func(s *spec) { s.NodePlacement.NodeSelector = map[string]string{"zone": "a"} }, ""},
		{"nodePlacement.tolerations", nil, func(s *spec) { s.NodePlacement.Tolerations = []corev1.Toleration{{Key: "hub"}} }, ""},
		{"resourceRequirement.type", nil, func(s *spec) { s.ResourceRequirement = &ocmoperatorv1.ResourceQuota{Type: "BestEffort"} }, ""},
		{"resourceRequirement.resourceRequirements", nil, func(s *spec) {
			s.ResourceRequirement = &ocmoperatorv1.ResourceQuota{Type: "ResourceRequirement", ResourceRequirements: sevenCPUs()}
		}, ""},
		{"resourceRequirement.resourceRequirements", nil, func(s *spec) {
			s.ResourceRequirement = &ocmoperatorv1.ResourceQuota{Type: "Default", ResourceRequirements: sevenCPUs()}
		}, "needs the type ResourceRequirement"},
		{"deployOption.mode", nil, hosted, ""},
		{"deployOption.hosted", nil, func(s *spec) { s.DeployOption.Hosted = &ocmoperatorv1.HostedClusterManagerConfiguration{} }, "spec.deployOption.hosted: the mode is Default"},
		{"deployOption.default", hosted, func(s *spec) { byDefault(s) }, "spec.deployOption.default: the mode is Hosted"},
		{hostedOption + "registrationWebhookConfiguration.address", hosted, func(s *spec) {
			s.DeployOption.Hosted.RegistrationWebhookConfiguration.Address = "elsewhere"
		}, ""},
		{hostedOption + "registrationWebhookConfiguration.port", hosted, func(s *spec) { s.DeployOption.Hosted.RegistrationWebhookConfiguration.Port = 7 }, ""},
		{hostedOption + "workWebhookConfiguration.address", hosted, func(s *spec) { s.DeployOption.Hosted.WorkWebhookConfiguration.Address = "elsewhere" }, ""},
		{hostedOption + "workWebhookConfiguration.port", hosted, func(s *spec) { s.DeployOption.Hosted.WorkWebhookConfiguration.Port = 7 }, ""},
		{defaultOption + "addonWebhookConfiguration.bindConfiguration", nil, func(s *spec) {
			byDefault(s).AddonWebhookConfiguration.BindConfiguration.Port = 7
		}, "addonWebhookConfiguration"},
		{"registrationConfiguration.autoApproveUsers", approving, func(s *spec) { registration(s).AutoApproveUsers = []string{"jane"} }, ""},
		{"registrationConfiguration.autoApproveUsers", nil, func(s *spec) { registration(s).AutoApproveUsers = []string{"jane"} }, "need the feature gate ManagedClusterAutoApproval"},
		{"registrationConfiguration.featureGates", nil, approving, ""},
		{"registrationConfiguration.registrationDrivers.csr", approving, func(s *spec) {
			registration(s).RegistrationDrivers = []ocmoperatorv1.RegistrationDriverHub{{AuthType: "csr", CSR: &ocmoperatorv1.AutoApprovedIdentities{AutoApprovedIdentities: []string{"a"}}}}
		}, ""},
		{"registrationConfiguration.registrationDrivers.authType", nil, func(s *spec) {
			registration(s).RegistrationDrivers = []ocmoperatorv1.RegistrationDriverHub{{AuthType: "grpc"}}
		}, `registrationDrivers "grpc"`},
		{"registrationConfiguration.registrationDrivers.grpc", nil, func(s *spec) {
			registration(s).RegistrationDrivers = []ocmoperatorv1.RegistrationDriverHub{{AuthType: "csr", GRPC: &ocmoperatorv1.AutoApprovedIdentities{}}}
		}, "registrationDrivers"},
		{"registrationConfiguration.registrationDrivers.awsirsa", nil, func(s *spec) {
			registration(s).RegistrationDrivers = []ocmoperatorv1.RegistrationDriverHub{{AuthType: "csr", AwsIrsa: &ocmoperatorv1.AwsIrsaHub{Tags: []string{"a"}}}}
		}, "registrationDrivers"},
		{"registrationConfiguration.importerConfiguration", nil, func(s *spec) {
			registration(s).ImporterConfiguration = &ocmoperatorv1.ImporterConfiguration{Renderers: []string{"a"}}
		}, "importerConfiguration"},
		{"workConfiguration.workDriver", nil, func(s *spec) { s.WorkConfiguration = &ocmoperatorv1.WorkHubConfiguration{WorkDriver: "mqtt"} }, "workDriver"},
		{"workConfiguration.featureGates", nil, func(s *spec) {
			s.WorkConfiguration = &ocmoperatorv1.WorkHubConfiguration{FeatureGates: gates(component.HubWorkGates, "NilExecutorValidating")}
		}, "NilExecutorValidating"},
		{"addOnManagerConfiguration.featureGates", nil, func(s *spec) {
			s.AddOnManagerConfiguration = &ocmoperatorv1.FeatureGateConfiguration{FeatureGates: gates(component.HubAddOnGates, "AddonManagement")}
		}, "AddonManagement"},
		{"placementConfiguration.featureGates", nil, func(s *spec) {
			s.PlacementConfiguration = &ocmoperatorv1.FeatureGateConfiguration{FeatureGates: gates(component.PlacementGates, "PlacementDebugServer")}
		}, "PlacementDebugServer"},
		{"serverConfiguration", nil, func(s *spec) { s.ServerConfiguration = &ocmoperatorv1.ServerConfiguration{} }, "serverConfiguration"},
	}
	bound := func(s *spec) { // what the schema makes of an empty one
		hosted(s)
		s.DeployOption.Hosted.RegistrationWebhookConfiguration.BindConfiguration = &ocmoperatorv1.BindConfiguration{}
		s.DeployOption.Hosted.WorkWebhookConfiguration.BindConfiguration = &ocmoperatorv1.BindConfiguration{}
	}
	return slices.Concat(cases,
		bindCases(defaultOption+"registrationWebhookConfiguration.bindConfiguration", nil, func(s *spec) *ocmoperatorv1.BindConfiguration {
			return &byDefault(s).RegistrationWebhookConfiguration.BindConfiguration
		}),
		bindCases(defaultOption+"workWebhookConfiguration.bindConfiguration", nil, func(s *spec) *ocmoperatorv1.BindConfiguration {
			return &byDefault(s).WorkWebhookConfiguration.BindConfiguration
		}),
		bindCases(hostedOption+"registrationWebhookConfiguration.bindConfiguration", bound, func(s *spec) *ocmoperatorv1.BindConfiguration {
			return s.DeployOption.Hosted.RegistrationWebhookConfiguration.BindConfiguration
		}),
		bindCases(hostedOption+"workWebhookConfiguration.bindConfiguration", bound, func(s *spec) *ocmoperatorv1.BindConfiguration {
			return s.DeployOption.Hosted.WorkWebhookConfiguration.BindConfiguration
		}))
}

// outcome is what is deployed for a spec, and what is said about it.
func outcome(t *testing.T, changes ...func(*spec)) (deployed, said string) {
	t.Helper()
	p := mustPlan(t, managerWith(func(s *spec) {
		for _, change := range changes {
			if change != nil {
				change(s)
			}
		}
	}))
	configurations, err := p.configurations(deploy.Webhooks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal([]any{p.deployments(storage{}, 1, "muster-agent:test"), configurations})
	if err != nil {
		t.Fatal(err)
	}
	return string(text), strings.Join(p.unsupported, "\n")
}

// Every field of a ClusterManager is acted on, or what is not is said: either what
// is deployed changes with it, or the condition NotSupported does.
func TestEveryFieldIsActedOnOrSaid(t *testing.T) {
	t.Parallel()
	var paths []string
	for _, c := range specCases() {
		if c.path != "deployOption.hosted" && c.path != "deployOption.default" { // these would cover all that they hold
			paths = append(paths, c.path)
		}
		operatortest.CheckActedOn(t, operatortest.FieldCase[spec]{Path: c.path, Given: c.given, Change: c.change, Said: c.said}, outcome)
	}
	operatortest.CheckCovered[spec](t, paths)
}

// No gate of the field changes anything by itself, and each says why.
func TestEveryGateIsSaid(t *testing.T) {
	t.Parallel()
	for _, part := range []struct {
		known component.Gates
		set   func(*spec, []ocmoperatorv1.FeatureGate)
	}{
		{component.HubRegistrationGates, func(s *spec, g []ocmoperatorv1.FeatureGate) { registration(s).FeatureGates = g }},
		{component.HubWorkGates, func(s *spec, g []ocmoperatorv1.FeatureGate) {
			s.WorkConfiguration = &ocmoperatorv1.WorkHubConfiguration{FeatureGates: g}
		}},
		{component.HubAddOnGates, func(s *spec, g []ocmoperatorv1.FeatureGate) {
			s.AddOnManagerConfiguration = &ocmoperatorv1.FeatureGateConfiguration{FeatureGates: g}
		}},
		{component.PlacementGates, func(s *spec, g []ocmoperatorv1.FeatureGate) {
			s.PlacementConfiguration = &ocmoperatorv1.FeatureGateConfiguration{FeatureGates: g}
		}},
	} {
		for name := range maps.Keys(part.known) {
			if _, said := outcome(t, func(s *spec) { part.set(s, gates(part.known, name)) }); !strings.Contains(said, "feature gate "+name) {
				t.Errorf("gate %s: %q is said", name, said)
			}
		}
	}
}
