package klusterlet

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	"muster.dev/muster/backend/operator/component"
)

// modeDetached is what mode Hosted was called before.
const modeDetached ocmoperatorv1.InstallMode = "Detached"

const (
	typeLocalSecrets = "LocalSecrets"
	authCSR          = "csr"
	gateMultipleHubs = "MultipleHubs"
	// hubTimeoutSeconds is how long one of several hubs may be silent, where nothing is said.
	hubTimeoutSeconds = 600

	// Values of the label app, by which users know the pods.
	registrationApp = "klusterlet-registration-agent"
	workApp         = "klusterlet-manifestwork-agent"
	singletonApp    = "klusterlet-agent"

	hubIdentityAnnotation = "operator.muster.dev/hub"
	clusterNameKey        = "cluster-name"
)

// plan is everything that follows from a Klusterlet alone.
type plan struct {
	name string
	mode ocmoperatorv1.InstallMode
	// agentNamespace is where pods and Secrets are, managedNamespace where the accounts are on the managed cluster. They are one and the
	// same unless the agents are hosted.
	agentNamespace, managedNamespace string
	registrationImage, workImage     string
	registrationGates, workGates     []string
	// bootstraps are the Secrets with ways to introduce the cluster to a hub, in the order in which they are tried.
	bootstraps []string
	pods       component.Pods
	// unknownGates and unsupported are reported.
	unknownGates, unsupported []string
}

// registrationAccount and workAccount run the agents. Where one Deployment does both, it has the work agent's account, as in the original.
func (p plan) registrationAccount() string {
	if p.mode.IsSingleton() {
		return p.workAccount()
	}
	return p.name + "-registration-sa"
}

func (p plan) workAccount() string { return p.name + "-work-sa" }

func (p plan) accounts() []string {
	return slices.Compact([]string{p.registrationAccount(), p.workAccount()})
}

func (p plan) labels() map[string]string {
	return map[string]string{ocmoperatorv1.CreatedByKlusterletLabel: p.name}
}

// deployments are the names of what runs: registration and work agent, or twice the one that is both.
func (p plan) deployments() (registration, work string) {
	if p.mode.IsSingleton() {
		return p.name + "-agent", p.name + "-agent"
	}
	return p.name + "-registration-agent", p.name + "-work-agent"
}

// newPlan decides what a Klusterlet asks for. It is pure.
func newPlan(k *ocmoperatorv1.Klusterlet, settings Settings) (plan, error) {
	p := plan{name: k.Name, mode: k.Spec.DeployOption.Mode, managedNamespace: k.Spec.Namespace, bootstraps: []string{ocmoperatorv1.BootstrapHubKubeconfigSecret}}
	switch p.mode {
	case "":
		p.mode = ocmoperatorv1.InstallModeDefault
	case modeDetached:
		p.mode = ocmoperatorv1.InstallModeHosted
	case ocmoperatorv1.InstallModeDefault, ocmoperatorv1.InstallModeHosted, ocmoperatorv1.InstallModeSingleton, ocmoperatorv1.InstallModeSingletonHosted:
	default:
		return plan{}, fmt.Errorf("spec.deployOption.mode %q is none of Default, Hosted, Singleton, SingletonHosted", p.mode)
	}
	if p.managedNamespace == "" {
		p.managedNamespace = ocmoperatorv1.DefaultAgentNamespace
	}
	p.agentNamespace = p.managedNamespace
	if p.mode.IsHosted() {
		p.agentNamespace = k.Name
	}
	p.chooseImages(k, settings.AgentImage)
	p.resolveGates(k)
	p.chooseBootstraps(k)
	p.noteUnsupported(k)
	p.pods = podsOf(k, settings.HostAliases)
	return p, nil
}

func (p *plan) chooseImages(k *ocmoperatorv1.Klusterlet, ours string) {
	choose := func(field, wanted string) string {
		image, foreign := component.Image(wanted, ours)
		p.note(foreign, "spec.%s names an image of the original project; ours is run instead: %s", field, image)
		return image
	}
	if p.mode.IsSingleton() {
		p.registrationImage = choose("imagePullSpec", k.Spec.ImagePullSpec)
		p.workImage = p.registrationImage
		return
	}
	p.registrationImage = choose("registrationImagePullSpec", k.Spec.RegistrationImagePullSpec)
	p.workImage = choose("workImagePullSpec", k.Spec.WorkImagePullSpec)
}

func (p *plan) resolveGates(k *ocmoperatorv1.Klusterlet) {
	registration, unknown := component.AgentRegistrationGates.Resolve(wishes(registrationOf(k).FeatureGates))
	work, others := component.AgentWorkGates.Resolve(wishes(workOf(k).FeatureGates))
	p.unknownGates = append(unknown, others...)
	p.registrationGates = component.AgentRegistrationGates.Differences(registration)
	p.workGates = component.AgentWorkGates.Differences(work)
	for _, gate := range slices.Concat(p.registrationGates, p.workGates) {
		name, _, _ := strings.Cut(gate, "=")
		if why := idleGates[name]; why != "" {
			p.note(true, "feature gate %s: %s", gate, why)
		}
	}
}

// idleGates are gates that, set away from their default, change nothing here.
var idleGates = map[string]string{
	"V1beta1CSRAPICompatibility": "certificates.k8s.io/v1 alone is spoken",
	"ExecutorValidatingCaches":   "the rights of executors are asked for at each apply",
}

// chooseBootstraps takes several Secrets where several hubs are asked for.
func (p *plan) chooseBootstraps(k *ocmoperatorv1.Klusterlet) {
	wanted := registrationOf(k).BootstrapKubeConfigs
	several := slices.Contains(p.registrationGates, gateMultipleHubs+"=true")
	if wanted.Type != typeLocalSecrets || wanted.LocalSecrets == nil {
		p.note(wanted.LocalSecrets != nil, "spec.registrationConfiguration.bootstrapKubeConfigs.localSecretsConfig needs the type %s", typeLocalSecrets)
		p.note(several, "feature gate %s=true: spec.registrationConfiguration.bootstrapKubeConfigs names no secrets", gateMultipleHubs)
		return
	}
	if !several {
		p.note(true, "spec.registrationConfiguration.bootstrapKubeConfigs needs the feature gate %s", gateMultipleHubs)
		return
	}
	var names []string
	for _, secret := range wanted.LocalSecrets.KubeConfigSecrets {
		names = append(names, secret.Name)
	}
	if len(names) > 0 {
		p.bootstraps = names
	}
}

// usualResources is what an agent asks for where nothing is said.
var usualResources = component.Requests("20m", "64Mi")

func podsOf(k *ocmoperatorv1.Klusterlet, aliases []corev1.HostAlias) component.Pods {
	pods := component.Pods{
		NodeSelector: k.Spec.NodePlacement.NodeSelector, Tolerations: k.Spec.NodePlacement.Tolerations,
		PriorityClass: k.Spec.PriorityClassName, Resources: usualResources, HostAliases: slices.Clone(aliases),
	}
	if quota := k.Spec.ResourceRequirement; quota != nil {
		pods.Resources = component.Resources(string(quota.Type), quota.ResourceRequirements, usualResources)
	}
	if alias := k.Spec.HubAPIServerHostAlias; alias != nil {
		pods.HostAliases = component.WithAlias(pods.HostAliases, alias.IP, alias.Hostname)
	}
	return pods
}

func wishes(gates []ocmoperatorv1.FeatureGate) []component.Wish {
	list := make([]component.Wish, 0, len(gates))
	for _, gate := range gates {
		list = append(list, component.Wish{Feature: gate.Feature, Enable: gate.Mode == ocmoperatorv1.FeatureEnable})
	}
	return list
}

// registrationOf and workOf spare the callers a nil.
func registrationOf(k *ocmoperatorv1.Klusterlet) ocmoperatorv1.RegistrationConfiguration {
	if k.Spec.RegistrationConfiguration != nil {
		return *k.Spec.RegistrationConfiguration
	}
	return ocmoperatorv1.RegistrationConfiguration{}
}

func workOf(k *ocmoperatorv1.Klusterlet) ocmoperatorv1.WorkAgentConfiguration {
	if k.Spec.WorkConfiguration != nil {
		return *k.Spec.WorkConfiguration
	}
	return ocmoperatorv1.WorkAgentConfiguration{}
}
