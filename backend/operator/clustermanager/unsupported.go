package clustermanager

import (
	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	"muster.dev/muster/backend/operator/component"
)

// noteUnsupported lists what we do not act on. A test asks for every field of the
// resource, and finds it in what is deployed or here.
func (p *plan) noteUnsupported(cm *ocmoperatorv1.ClusterManager) {
	if c := cm.Spec.RegistrationConfiguration; c != nil {
		for _, driver := range c.RegistrationDrivers {
			if driver.AuthType != authCSR && driver.AuthType != "" || driver.AwsIrsa != nil || driver.GRPC != nil {
				p.note("spec.registrationConfiguration.registrationDrivers %q: agents register by certificate signing request", driver.AuthType)
			}
		}
		if c.ImporterConfiguration != nil {
			p.note("spec.registrationConfiguration.importerConfiguration: clusters are not imported")
		}
	}
	if c := cm.Spec.WorkConfiguration; c != nil && c.WorkDriver != "" && c.WorkDriver != driverKube {
		p.note("spec.workConfiguration.workDriver %q: works travel by the Kubernetes API", c.WorkDriver)
	}
	if cm.Spec.ServerConfiguration != nil {
		p.note("spec.serverConfiguration: there is no gRPC server")
	}
	if quota := cm.Spec.ResourceRequirement; quota != nil && component.IdleRequirements(string(quota.Type), quota.ResourceRequirements) {
		p.note("spec.resourceRequirement.resourceRequirements needs the type ResourceRequirement")
	}
	p.noteDeployOption(cm.Spec.DeployOption)
}

// noteDeployOption lists settings of the other mode, and of what there is none of.
func (p *plan) noteDeployOption(option ocmoperatorv1.ClusterManagerDeployOption) {
	switch {
	case p.hosted && option.Default != nil:
		p.note("spec.deployOption.default: the mode is Hosted")
	case !p.hosted && option.Hosted != nil:
		p.note("spec.deployOption.hosted: the mode is Default")
	}
	if option.Default != nil && defaults(&option.Default.AddonWebhookConfiguration.BindConfiguration) != defaults(nil) {
		p.note("spec.deployOption.default.addonWebhookConfiguration: add-ons are converted without a webhook")
	}
	for _, w := range p.webhooks() {
		if w.bind.HealthProbePort != ocmoperatorv1.DefaultHealthProbePort {
			p.note("healthProbePort of the %s webhook: probes are answered on its port %d", w.short, w.bind.Port)
		}
		if w.bind.MetricsPort != ocmoperatorv1.DefaultMetricsPort {
			p.note("metricsPort of the %s webhook: it has no metrics", w.short)
		}
	}
}
