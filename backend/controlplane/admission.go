package controlplane

import (
	"context"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/audit"
	genericoptions "k8s.io/apiserver/pkg/server/options"

	"muster.dev/muster/backend/apis"
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
	noteName(ctx, a)
	for _, step := range p.steps {
		if err := step.Validate(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// noteName tells the audit the name that the server made for an object: the
// request has none, and the audit event nothing of the answer.
func noteName(ctx context.Context, a admission.Attributes) {
	if a.GetOperation() != admission.Create || a.GetName() != "" || a.GetSubresource() != "" || a.GetObject() == nil {
		return
	}
	if object, err := meta.Accessor(a.GetObject()); err == nil && object.GetName() != "" {
		audit.AddAuditAnnotation(ctx, apis.AuditNameAnnotation, object.GetName())
	}
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
