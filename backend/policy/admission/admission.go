// Package admission completes and judges what is written to the hub API, within
// the API server, with the effect of Karmada's webhooks (contract section 1.3): by
// the pure rules of package policy, and against quotas.
package admission

import (
	"context"
	"fmt"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apiserver/pkg/admission"

	"muster.dev/muster/backend/apis"
	appsv1alpha1 "muster.dev/muster/backend/apis/apps/v1alpha1"
	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
	networkingv1alpha1 "muster.dev/muster/backend/apis/networking/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/policy"
)

// Admission completes and judges what is written to the hub API. It may be used by many requests at once.
type Admission struct {
	// newID returns a fresh permanent id.
	newID func() string
	rules map[schema.GroupResource]rules
	// quotas is nil unless quotas are enforced.
	quotas atomic.Pointer[quotas]
}

// rules are what happens to one resource on creation and update. Either may be nil.
type rules struct {
	admit    func(admission.Attributes) error
	validate func(admission.Attributes) error
}

var bindings = workv1alpha2.Resource(workv1alpha2.ResourcePluralResourceBinding)

// New returns the admission of policies, bindings, Works and the kinds
// beside them.
func New() *Admission {
	return newWith(func() string { return string(uuid.NewUUID()) })
}

func newWith(newID func() string) *Admission {
	a := &Admission{newID: newID}
	a.rules = map[schema.GroupResource]rules{
		policyv1alpha1.Resource("propagationpolicies"): a.propagation(policyv1alpha1.PropagationPolicyPermanentIDLabel, policyv1alpha1.PropagationPolicyFinalizer),
		policyv1alpha1.Resource("clusterpropagationpolicies"): a.propagation(policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel,
			policyv1alpha1.ClusterPropagationPolicyFinalizer),
		policyv1alpha1.Resource("overridepolicies"):        {admit: admitOverride, validate: validating(policy.ValidateOverride)},
		policyv1alpha1.Resource("clusteroverridepolicies"): {validate: validating(policy.ValidateOverride)},
		bindings: {admit: func(attributes admission.Attributes) error {
			return a.identify(attributes, workv1alpha2.ResourceBindingPermanentIDLabel)
		}},
		workv1alpha2.Resource(workv1alpha2.ResourcePluralClusterResourceBinding): {admit: func(attributes admission.Attributes) error {
			return a.identify(attributes, workv1alpha2.ClusterResourceBindingPermanentIDLabel)
		}},
		workv1alpha1.Resource(workv1alpha1.ResourcePluralWork): {admit: a.admitWork},

		policyv1alpha1.Resource("federatedresourcequotas"):           {validate: validating(policy.ValidateQuota)},
		policyv1alpha1.Resource("clustertaintpolicies"):              {validate: validating(policy.ValidateTaintPolicy)},
		appsv1alpha1.Resource("workloadrebalancers"):                 {validate: validating(policy.ValidateRebalancer)},
		configv1alpha1.Resource("resourceinterpretercustomizations"): {validate: validating(policy.ValidateCustomization)},
		networkingv1alpha1.Resource("multiclusterservices"): {
			admit: func(attributes admission.Attributes) error {
				return a.identify(attributes, networkingv1alpha1.MultiClusterServicePermanentIDLabel)
			},
			validate: validating(policy.ValidateMultiClusterService),
		},
	}
	return a
}

// Admit completes an object that is created or updated, in place. What does not have the shape of its kind is left alone: the kind's
// schema refuses it.
func (a *Admission) Admit(_ context.Context, attributes admission.Attributes) error {
	if rule := a.rule(attributes); rule.admit != nil {
		return rule.admit(attributes)
	}
	return nil
}

// Validate refuses what makes no sense, with 422 and the fields that are wrong, and the deletion of what is protected, with 403.
func (a *Admission) Validate(ctx context.Context, attributes admission.Attributes) error {
	if attributes.GetOperation() == admission.Delete {
		return refuseProtected(attributes)
	}
	if attributes.GetResource().GroupResource() == bindings && attributes.GetSubresource() == "" {
		return a.validateQuota(ctx, attributes)
	}
	if rule := a.rule(attributes); rule.validate != nil {
		return rule.validate(attributes)
	}
	return nil
}

func (a *Admission) rule(attributes admission.Attributes) rules {
	if attributes.GetSubresource() != "" {
		return rules{}
	}
	switch attributes.GetOperation() {
	case admission.Create, admission.Update:
		return a.rules[attributes.GetResource().GroupResource()]
	}
	return rules{}
}

// protected is how clients of the field, and its test suite, recognise the refusal.
const protected = "This resource is protected"

// refuseProtected refuses to delete an object of any kind that is labelled as protected, whoever asks.
func refuseProtected(attributes admission.Attributes) error {
	if attributes.GetSubresource() != "" || attributes.GetOldObject() == nil {
		return nil
	}
	object, err := meta.Accessor(attributes.GetOldObject())
	if err != nil || object.GetLabels()[apis.DeletionProtectedLabel] != apis.DeletionProtectedAlways {
		return nil
	}
	return admission.NewForbidden(attributes, fmt.Errorf("%s: remove the label %s to delete it", protected, apis.DeletionProtectedLabel))
}

// identify gives a created object a permanent id, unless it has one.
func (a *Admission) identify(attributes admission.Attributes, label string) error {
	if attributes.GetOperation() != admission.Create {
		return nil
	}
	object, err := meta.Accessor(attributes.GetObject())
	if err != nil {
		return fmt.Errorf("set permanent id: %w", err)
	}
	if object.GetLabels()[label] == "" {
		setLabel(object, label, a.newID())
	}
	return nil
}

func setLabel(object metav1.Object, key, value string) {
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[key] = value
	object.SetLabels(labels)
}
