package clustermanager

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"

	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	"muster.dev/muster/backend/operator/component"
)

const (
	gateAutoApproval = "ManagedClusterAutoApproval"
	authCSR          = "csr"
	driverKube       = "kube"
	// hubApp selects the hub's own pods; it does not carry the resource's name, as in the original.
	hubApp = "clustermanager-registration-controller"
)

// webhook is one of the two listeners that the hub's API server asks.
type webhook struct {
	// short is registration or work.
	short string
	image string
	bind  ocmoperatorv1.BindConfiguration
	// url is where the hub's API server finds it; empty: by the Service.
	url, host string
}

// service is the Service that leads to the webhook, and the name in its certificate.
func (w webhook) service() string { return "cluster-manager-" + w.short + "-webhook" }

// account is its ServiceAccount, secret its serving certificate.
func (w webhook) account() string { return w.short + "-webhook-sa" }
func (w webhook) secret() string  { return w.short + "-webhook-serving-cert" }

// plan is everything that follows from a ClusterManager alone.
type plan struct {
	name   string
	hosted bool
	// namespace holds the components, and the accounts on the hub.
	namespace          string
	image              string
	registration, work webhook
	// gates are those that differ from their default; autoApprove the users whose clusters need nobody's consent.
	gates       []string
	autoApprove []string
	pods        component.Pods
	// unknownGates and unsupported are reported.
	unknownGates, unsupported []string
}

const hubAccount = "registration-controller-sa"

func (p plan) hubDeployment() string { return p.name + registrationPart }
func (p plan) webhooks() []webhook   { return []webhook{p.registration, p.work} }
func (p plan) labels() map[string]string {
	return map[string]string{ocmoperatorv1.CreatedByClusterManagerLabel: p.name}
}

// deployment is the name of a webhook's Deployment, and the label app of its pods, by which users' own Services select them.
func (p plan) deployment(w webhook) string { return p.name + "-" + w.short + "-webhook" }

// newPlan decides what a ClusterManager asks for. It is pure.
func newPlan(cm *ocmoperatorv1.ClusterManager, settings Settings) (plan, error) {
	p := plan{name: cm.Name, namespace: ocmoperatorv1.HubNamespace, hosted: cm.Spec.DeployOption.Mode.IsHosted()}
	if p.hosted {
		p.namespace = cm.Name
	}
	p.chooseImages(cm, settings.HubImage)
	if err := p.chooseWebhooks(cm.Spec.DeployOption); err != nil {
		return plan{}, err
	}
	p.resolveGates(cm)
	p.chooseIdentities(cm)
	p.noteUnsupported(cm)
	slices.Sort(p.unsupported)
	p.pods = component.Pods{
		NodeSelector: cm.Spec.NodePlacement.NodeSelector, Tolerations: cm.Spec.NodePlacement.Tolerations,
		HostAliases: settings.HostAliases, Resources: usualResources,
	}
	if quota := cm.Spec.ResourceRequirement; quota != nil {
		p.pods.Resources = component.Resources(string(quota.Type), quota.ResourceRequirements, usualResources)
	}
	return p, nil
}

// usualResources is what a component asks for where nothing is said.
var usualResources = component.Requests("20m", "128Mi")

func (p *plan) chooseImages(cm *ocmoperatorv1.ClusterManager, ours string) {
	choose := func(field, wanted string) string {
		image, foreign := component.Image(wanted, ours)
		if foreign {
			p.note("spec.%s names an image of the original project; ours is run instead: %s", field, image)
		}
		return image
	}
	p.image = choose("registrationImagePullSpec", cm.Spec.RegistrationImagePullSpec)
	p.registration = webhook{short: "registration", image: p.image}
	p.work = webhook{short: "work", image: choose("workImagePullSpec", cm.Spec.WorkImagePullSpec)}
	for field, wanted := range map[string]string{"placementImagePullSpec": cm.Spec.PlacementImagePullSpec, "addOnManagerImagePullSpec": cm.Spec.AddOnManagerImagePullSpec} {
		if image, foreign := component.Image(wanted, ours); image != ours || foreign {
			p.note("spec.%s: placement and add-ons are part of the image of registrationImagePullSpec", field)
		}
	}
}

// chooseWebhooks says where the webhooks listen and how the hub's API server finds them. In mode Hosted that is the address and port that
// the resource gives, nothing else: a Service on the hub could not lead out of it to any port but its own.
func (p *plan) chooseWebhooks(option ocmoperatorv1.ClusterManagerDeployOption) error {
	p.registration.bind, p.work.bind = defaults(nil), defaults(nil)
	if !p.hosted {
		if given := option.Default; given != nil {
			p.registration.bind = defaults(&given.RegistrationWebhookConfiguration.BindConfiguration)
			p.work.bind = defaults(&given.WorkWebhookConfiguration.BindConfiguration)
		}
		return nil
	}
	if option.Hosted == nil || option.Hosted.RegistrationWebhookConfiguration == nil || option.Hosted.WorkWebhookConfiguration == nil {
		return errors.New("spec.deployOption.hosted has to say the address of both webhooks: registrationWebhookConfiguration and workWebhookConfiguration")
	}
	locate := func(w *webhook, given *ocmoperatorv1.HostedWebhookConfiguration) {
		w.bind, w.host = defaults(given.BindConfiguration), given.Address
		port := cmp.Or(given.Port, ocmoperatorv1.DefaultHostedWebhookPort)
		w.url = "https://" + net.JoinHostPort(given.Address, strconv.Itoa(int(port)))
	}
	locate(&p.registration, option.Hosted.RegistrationWebhookConfiguration)
	locate(&p.work, option.Hosted.WorkWebhookConfiguration)
	return nil
}

func defaults(given *ocmoperatorv1.BindConfiguration) ocmoperatorv1.BindConfiguration {
	bind := ocmoperatorv1.BindConfiguration{}
	if given != nil {
		bind = *given
	}
	bind.Port = cmp.Or(bind.Port, ocmoperatorv1.DefaultWebhookPort)
	bind.HealthProbePort = cmp.Or(bind.HealthProbePort, ocmoperatorv1.DefaultHealthProbePort)
	bind.MetricsPort = cmp.Or(bind.MetricsPort, ocmoperatorv1.DefaultMetricsPort)
	return bind
}

// resolveGates takes the gates of all parts of the hub together: it is one process.
func (p *plan) resolveGates(cm *ocmoperatorv1.ClusterManager) {
	var registration, work, addon, placement []ocmoperatorv1.FeatureGate
	if c := cm.Spec.RegistrationConfiguration; c != nil {
		registration = c.FeatureGates
	}
	if c := cm.Spec.WorkConfiguration; c != nil {
		work = c.FeatureGates
	}
	if c := cm.Spec.AddOnManagerConfiguration; c != nil {
		addon = c.FeatureGates
	}
	if c := cm.Spec.PlacementConfiguration; c != nil {
		placement = c.FeatureGates
	}
	for _, part := range []struct {
		known  component.Gates
		wanted []ocmoperatorv1.FeatureGate
	}{
		{component.HubRegistrationGates, registration}, {component.HubWorkGates, work},
		{component.HubAddOnGates, addon}, {component.PlacementGates, placement},
	} {
		on, unknown := part.known.Resolve(wishes(part.wanted))
		p.unknownGates = append(p.unknownGates, unknown...)
		p.gates = append(p.gates, part.known.Differences(on)...)
		for _, name := range slices.Sorted(maps.Keys(on)) {
			if why := idleGates[name]; why != "" && on[name] != part.known[name] {
				p.note("feature gate %s=%t: %s", name, on[name], why)
			}
		}
	}
	slices.Sort(p.gates)
}

// idleGates are gates that, set away from their default, change nothing here.
var idleGates = map[string]string{
	"DefaultClusterSet":            "every cluster is in a set",
	"ResourceCleanup":              "add-ons and works of a deleted cluster are always removed first",
	"V1beta1CSRAPICompatibility":   "certificates.k8s.io/v1 alone is spoken",
	"ClusterProfile":               "there are no ClusterProfiles",
	"ClusterImporter":              "Cluster API clusters are not imported",
	"NilExecutorValidating":        "a work without executor is always one of the work agent's own account",
	"ManifestWorkReplicaSet":       "always on",
	"CleanUpCompletedManifestWork": "always on",
	"CloudEventsDrivers":           "works travel by the Kubernetes API",
	"AddonManagement":              "add-on templates are not rendered",
	"SIGPlacementDecision":         "there are no decisions of that group",
	"PlacementDebugServer":         "the dashboard explains placements",
}

func wishes(gates []ocmoperatorv1.FeatureGate) []component.Wish {
	list := make([]component.Wish, 0, len(gates))
	for _, gate := range gates {
		list = append(list, component.Wish{Feature: gate.Feature, Enable: gate.Mode == ocmoperatorv1.FeatureEnable})
	}
	return list
}

// chooseIdentities collects who needs no consent. As in the original, the lists count with the gate only.
func (p *plan) chooseIdentities(cm *ocmoperatorv1.ClusterManager) {
	registration := cm.Spec.RegistrationConfiguration
	if registration == nil {
		return
	}
	users := slices.Clone(registration.AutoApproveUsers)
	for _, driver := range registration.RegistrationDrivers {
		if driver.AuthType == authCSR && driver.CSR != nil {
			users = append(users, driver.CSR.AutoApprovedIdentities...)
		}
	}
	switch approving := slices.Contains(p.gates, gateAutoApproval+"=true"); {
	case approving && len(users) == 0:
		p.note("feature gate %s: clusters are accepted by who introduces them, and spec.registrationConfiguration names nobody in autoApproveUsers or autoApprovedIdentities", gateAutoApproval)
	case approving:
		slices.Sort(users)
		p.autoApprove = slices.Compact(users)
	case len(users) > 0:
		p.note("spec.registrationConfiguration.autoApproveUsers, autoApprovedIdentities need the feature gate %s", gateAutoApproval)
	}
}

func (p *plan) note(format string, args ...any) {
	p.unsupported = append(p.unsupported, fmt.Sprintf(format, args...))
}
