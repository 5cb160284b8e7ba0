package klusterlet

import (
	"fmt"
	"slices"
	"strings"

	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	"muster.dev/muster/backend/operator/component"
)

const (
	agentAnnotationPrefix = "agent.open-cluster-management.io/"
	// defaultQPS and defaultBurst are what the schema fills in.
	defaultQPS, defaultBurst = 50, 100
)

// note says, if it was asked for, what is not acted on.
func (p *plan) note(asked bool, format string, args ...any) {
	if asked {
		p.unsupported = append(p.unsupported, fmt.Sprintf(format, args...))
	}
}

// noteUnsupported lists what we do not act on. A test asks for every field of the
// resource, and finds it in the Deployments or here.
func (p *plan) noteUnsupported(k *ocmoperatorv1.Klusterlet) {
	p.noteRegistration(registrationOf(k))
	for i, server := range k.Spec.ExternalServerURLs {
		p.note(len(server.CABundle) > 0, "spec.externalServerURLs[%d].caBundle: the agent tells the hub the certificate authority of its own kubeconfig", i)
	}
	p.noteMode(k)
	if quota := k.Spec.ResourceRequirement; quota != nil {
		p.note(component.IdleRequirements(string(quota.Type), quota.ResourceRequirements), "spec.resourceRequirement.resourceRequirements needs the type ResourceRequirement")
	}
	slices.Sort(p.unsupported)
}

func (p *plan) noteRegistration(registration ocmoperatorv1.RegistrationConfiguration) {
	driver := registration.RegistrationDriver
	p.note(driver.AuthType != "" && driver.AuthType != authCSR,
		"spec.registrationConfiguration.registrationDriver.authType %q: the agent registers by certificate signing request", driver.AuthType)
	p.note(driver.AwsIrsa != nil, "spec.registrationConfiguration.registrationDriver.awsIrsa: the agent registers by certificate signing request")
	if addon := registration.AddOnKubeClientRegistrationDriver; addon != nil {
		p.note(addon.AuthType != "" && addon.AuthType != authCSR,
			"spec.registrationConfiguration.addOnKubeClientRegistrationDriver.authType %q: add-ons get their certificates by certificate signing request", addon.AuthType)
		p.note(addon.Token != nil, "spec.registrationConfiguration.addOnKubeClientRegistrationDriver.token: add-ons get no tokens from the agent")
	}
	p.note(len(registration.ClusterLabels) > 0, "spec.registrationConfiguration.clusterLabels: label the ManagedCluster on the hub")
	for key := range registration.ClusterAnnotations {
		p.note(!strings.HasPrefix(key, agentAnnotationPrefix),
			"spec.registrationConfiguration.clusterAnnotations %q: the ManagedCluster gets it as %s%s", key, agentAnnotationPrefix, key)
	}
}

// noteMode lists settings of another mode than the Klusterlet's. The original's
// images clusteradm writes for all modes: those nobody has asked for.
func (p *plan) noteMode(k *ocmoperatorv1.Klusterlet) {
	given := func(field, wanted string) {
		image, _ := component.Image(wanted, "")
		p.note(image != "", "spec.%s: in mode %s another image runs", field, p.mode)
	}
	if !p.mode.IsSingleton() {
		given("imagePullSpec", k.Spec.ImagePullSpec)
		return
	}
	given("registrationImagePullSpec", k.Spec.RegistrationImagePullSpec)
	given("workImagePullSpec", k.Spec.WorkImagePullSpec)
	// What the schema fills in nobody has asked for.
	work := workOf(k)
	p.note(!slices.Contains([]int32{0, defaultQPS}, work.KubeAPIQPS) || !slices.Contains([]int32{0, defaultBurst}, work.KubeAPIBurst),
		"spec.workConfiguration.kubeAPIQPS, kubeAPIBurst: in mode %s requests to the managed cluster are not bounded", p.mode)
}
