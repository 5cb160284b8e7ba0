package registration

import (
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/fault"
)

// ValidateName says whether a cluster may have this name (contract section 1.2).
func ValidateName(name string) error {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return fault.Invalid("%q cannot name a cluster: %s", name, problems[0]).WithField("clusterName", problems[0])
	}
	if len(name) > clusterv1alpha1.MaxNameLength {
		return fault.Invalid("%q cannot name a cluster: it has more than %d characters", name, clusterv1alpha1.MaxNameLength).
			WithField("clusterName", "too long")
	}
	if name == apis.RBACGeneratorName {
		return fault.Invalid("%q cannot name a cluster: the name is reserved", name).WithField("clusterName", "reserved")
	}
	return nil
}

// ValidateLabels says whether a Cluster may have these labels.
func ValidateLabels(labels map[string]string) error {
	if problems := metav1validation.ValidateLabels(labels, field.NewPath("labels")); len(problems) > 0 {
		return fault.Invalid("a label cannot be used: %s", problems[0].ErrorBody()).WithField("labels", problems[0].Detail)
	}
	return nil
}
