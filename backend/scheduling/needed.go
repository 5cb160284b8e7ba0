package scheduling

import (
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// Needed says whether a binding must be scheduled now, for which reason, and
// whether afresh (contract section 9.1).
func Needed(b workv1alpha2.Binding, s *Snapshot) (why string, fresh, needed bool) {
	panic("being written")
}

// AppliedPlacement is the value of the annotation policy.karmada.io/applied-placement.
func AppliedPlacement(p *policyv1alpha1.Placement) string { panic("being written") }
