package controlplane

import (
	"context"
	"io"
	"slices"

	"k8s.io/apiserver/pkg/admission"
	genericoptions "k8s.io/apiserver/pkg/server/options"
)

const admissionName = "Muster"

// admissionPlugin runs Options.Admission inside the API server.
type admissionPlugin struct{ steps []Admission }

func (admissionPlugin) Handles(admission.Operation) bool { return true }

// Admit implements admission.MutationInterface.
func (p admissionPlugin) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	for _, step := range p.steps {
		if err := step.Admit(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// Validate implements admission.ValidationInterface.
func (p admissionPlugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	for _, step := range p.steps {
		if err := step.Validate(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// registerAdmission places our plugin before the policies and webhooks that
// users install, so that they see what we defaulted.
func registerAdmission(options *genericoptions.AdmissionOptions, steps []Admission) {
	options.Plugins.Register(admissionName, func(io.Reader) (admission.Interface, error) {
		return admissionPlugin{steps: steps}, nil
	})
	order := slices.Clone(options.RecommendedPluginOrder)
	if i := slices.Index(order, "MutatingAdmissionPolicy"); i >= 0 {
		order = slices.Insert(order, i, admissionName)
	} else {
		order = append(order, admissionName)
	}
	options.RecommendedPluginOrder = order
}
