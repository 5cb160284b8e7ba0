package agentapi

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

// Status carries the member's inventory: complete on the first frame of a
// session, afterwards only the parts that changed. An absent part is unchanged.
type Status struct {
	Complete          bool                             `json:"complete,omitempty"`
	KubernetesVersion *string                          `json:"kubernetesVersion,omitempty"`
	APIEnablements    *[]clusterv1alpha1.APIEnablement `json:"apiEnablements,omitempty"`
	Conditions        *[]metav1.Condition              `json:"conditions,omitempty"`
	NodeSummary       *clusterv1alpha1.NodeSummary     `json:"nodeSummary,omitempty"`
	ResourceSummary   *ResourceSummary                 `json:"resourceSummary,omitempty"`
}

// ResourceSummary is clusterv1alpha1.ResourceSummary with quantities that are
// checked before they are parsed.
type ResourceSummary struct {
	Allocatable          Quantities                            `json:"allocatable,omitempty"`
	Allocating           Quantities                            `json:"allocating,omitempty"`
	Allocated            Quantities                            `json:"allocated,omitempty"`
	AllocatableModelings []clusterv1alpha1.AllocatableModeling `json:"allocatableModelings,omitempty"`
}

// CompleteStatus returns the first status frame of a session.
func CompleteStatus(s clusterv1alpha1.ClusterStatus) *Status {
	f := &Status{Complete: true, KubernetesVersion: &s.KubernetesVersion, APIEnablements: part(s.APIEnablements),
		Conditions: part(s.Conditions), NodeSummary: s.NodeSummary}
	if s.ResourceSummary != nil {
		f.ResourceSummary = summaryOf(s.ResourceSummary)
	}
	return f
}

// StatusDelta returns the parts in which next differs from last. It is false if
// there are none.
func StatusDelta(last, next clusterv1alpha1.ClusterStatus) (*Status, bool) {
	f, changed := &Status{}, false
	if last.KubernetesVersion != next.KubernetesVersion {
		f.KubernetesVersion, changed = &next.KubernetesVersion, true
	}
	if !equality.Semantic.DeepEqual(last.APIEnablements, next.APIEnablements) {
		f.APIEnablements, changed = part(next.APIEnablements), true
	}
	if !equality.Semantic.DeepEqual(last.Conditions, next.Conditions) {
		f.Conditions, changed = part(next.Conditions), true
	}
	if next.NodeSummary != nil && !equality.Semantic.DeepEqual(last.NodeSummary, next.NodeSummary) {
		f.NodeSummary, changed = next.NodeSummary, true
	}
	if next.ResourceSummary != nil && !equality.Semantic.DeepEqual(last.ResourceSummary, next.ResourceSummary) {
		f.ResourceSummary, changed = summaryOf(next.ResourceSummary), true
	}
	return f, changed
}

// part returns a list that is present in JSON even if it is empty.
func part[T any](list []T) *[]T {
	if list == nil {
		list = []T{}
	}
	return &list
}

// Merge returns what is known after the frame: last with the frame's parts put
// in, or the frame's parts alone if it is complete.
func (s *Status) Merge(last clusterv1alpha1.ClusterStatus) clusterv1alpha1.ClusterStatus {
	var merged clusterv1alpha1.ClusterStatus
	if !s.Complete {
		merged = *last.DeepCopy()
	}
	if s.KubernetesVersion != nil {
		merged.KubernetesVersion = *s.KubernetesVersion
	}
	if s.APIEnablements != nil {
		merged.APIEnablements = *s.APIEnablements
	}
	if s.Conditions != nil {
		merged.Conditions = *s.Conditions
	}
	if s.NodeSummary != nil {
		merged.NodeSummary = s.NodeSummary
	}
	if s.ResourceSummary != nil {
		merged.ResourceSummary = s.ResourceSummary.object()
	}
	return merged
}

// Type implements Frame.
func (*Status) Type() Type { return TypeStatus }

// Validate implements Frame.
func (s *Status) Validate() error {
	if s.Complete && (s.KubernetesVersion == nil || s.APIEnablements == nil || s.Conditions == nil) {
		return errors.New("a complete status lacks a part")
	}
	if s.KubernetesVersion != nil && len(*s.KubernetesVersion) > 253 {
		return errors.New("kubernetesVersion is too long")
	}
	if s.APIEnablements != nil {
		for i, e := range *s.APIEnablements {
			if e.GroupVersion == "" || len(e.GroupVersion) > 317 || len(e.Resources) > 10000 {
				return fmt.Errorf("apiEnablements[%d] is out of bounds", i)
			}
		}
	}
	if n := s.NodeSummary; n != nil && (n.TotalNum < 0 || n.ReadyNum < 0 || n.ReadyNum > n.TotalNum) {
		return errors.New("nodeSummary is impossible")
	}
	if r := s.ResourceSummary; r != nil {
		if len(r.Allocatable) > 1000 || len(r.Allocating) > 1000 || len(r.Allocated) > 1000 || len(r.AllocatableModelings) > 1000 {
			return errors.New("resourceSummary has more than 1000 entries")
		}
		for _, m := range r.AllocatableModelings {
			if m.Count < 0 {
				return errors.New("allocatableModelings has a negative count")
			}
		}
	}
	if s.Conditions != nil {
		return validateConditions(*s.Conditions)
	}
	return nil
}

func summaryOf(s *clusterv1alpha1.ResourceSummary) *ResourceSummary {
	return &ResourceSummary{Allocatable: Quantities(s.Allocatable), Allocating: Quantities(s.Allocating),
		Allocated: Quantities(s.Allocated), AllocatableModelings: s.AllocatableModelings}
}

func (s *ResourceSummary) object() *clusterv1alpha1.ResourceSummary {
	return &clusterv1alpha1.ResourceSummary{Allocatable: corev1.ResourceList(s.Allocatable), Allocating: corev1.ResourceList(s.Allocating),
		Allocated: corev1.ResourceList(s.Allocated), AllocatableModelings: s.AllocatableModelings}
}

// Quantities is a ResourceList that refuses, while decoding, any quantity whose
// text is long or has a large exponent: parsing "1e999999999" costs minutes.
type Quantities corev1.ResourceList

// UnmarshalJSON implements json.Unmarshaler.
func (q *Quantities) UnmarshalJSON(data []byte) error {
	var texts map[corev1.ResourceName]string
	if err := strict(data, &texts); err != nil {
		return err
	}
	if texts == nil {
		*q = nil
		return nil
	}
	list := make(Quantities, len(texts))
	for name, text := range texts {
		if len(name) > 317 {
			return errors.New("a resource name is too long")
		}
		value, err := parseQuantity(text)
		if err != nil {
			return err
		}
		if value.Sign() < 0 {
			return errors.New("a quantity is negative")
		}
		list[name] = value
	}
	*q = list
	return nil
}

// maxDigits and maxExponent hold every quantity a cluster can have, with room.
const (
	maxDigits   = 40
	maxExponent = 2 // digits of a decimal exponent
)

func parseQuantity(text string) (resource.Quantity, error) {
	if len(text) > maxDigits {
		return resource.Quantity{}, errors.New("a quantity is too long")
	}
	exponent := -1 // digits since the exponent sign, -1 before one
	for _, c := range []byte(text) {
		switch {
		case c == 'e' || c == 'E':
			exponent = 0
		case c >= '0' && c <= '9' && exponent >= 0:
			exponent++
		}
	}
	if exponent > maxExponent {
		return resource.Quantity{}, errors.New("the exponent of a quantity is too large")
	}
	return resource.ParseQuantity(text)
}
