package v1beta2

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

// Members returns what tells the clusters of a set by their labels.
func (s *ManagedClusterSet) Members() (labels.Selector, error) {
	chooser := s.Spec.ClusterSelector
	switch chooser.SelectorType {
	case "", ExclusiveClusterSetLabel:
		return labels.SelectorFromSet(labels.Set{ocmv1.ClusterSetLabel: s.Name}), nil
	case LabelSelector:
		selector, err := metav1.LabelSelectorAsSelector(chooser.LabelSelector)
		if err != nil {
			return nil, fmt.Errorf("read selector of set %s: %w", s.Name, err)
		}
		return selector, nil
	}
	return nil, fmt.Errorf("read selector of set %s: %q is no type of selectors", s.Name, chooser.SelectorType)
}
