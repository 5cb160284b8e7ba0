package placement

import (
	"fmt"
	"time"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmv1beta1 "muster.dev/muster/backend/apis/ocm/cluster/v1beta1"
)

func checkToleration(t *ocmv1beta1.Toleration) string {
	switch t.Operator {
	case ocmv1beta1.TolerationOpExists:
		if t.Value != "" {
			return "with the operator Exists there is no value"
		}
	case "", ocmv1beta1.TolerationOpEqual:
		if t.Key == "" {
			return "without a key the operator is Exists"
		}
	default:
		return fmt.Sprintf("%q is no operator", t.Operator)
	}
	return ""
}

// repelled says which taint keeps a cluster out; empty: none does. It also notes
// on the candidate whether it is better avoided.
func (d *decision) repelled(c *candidate) string {
	for i := range c.cluster.Spec.Taints {
		taint := &c.cluster.Spec.Taints[i]
		if d.tolerates(taint) {
			continue
		}
		switch taint.Effect {
		case ocmv1.TaintEffectNoSelect:
			return fmt.Sprintf("the taint %s is not tolerated", describe(taint))
		case ocmv1.TaintEffectNoSelectIfNew:
			if !c.current {
				return fmt.Sprintf("the taint %s is not tolerated, and the cluster was not chosen before", describe(taint))
			}
		case ocmv1.TaintEffectPreferNoSelect:
			c.avoided = true
		}
	}
	return ""
}

func describe(t *ocmv1.Taint) string {
	if t.Value == "" {
		return fmt.Sprintf("%s:%s", t.Key, t.Effect)
	}
	return fmt.Sprintf("%s=%s:%s", t.Key, t.Value, t.Effect)
}

// tolerates says whether the placement tolerates a taint now, and notes when it
// no longer will.
func (d *decision) tolerates(taint *ocmv1.Taint) bool {
	var last time.Time
	for i := range d.in.Placement.Spec.Tolerations {
		t := &d.in.Placement.Spec.Tolerations[i]
		if !concerns(t, taint) {
			continue
		}
		if t.TolerationSeconds == nil || taint.Effect == ocmv1.TaintEffectPreferNoSelect {
			return true
		}
		if ends := taint.TimeAdded.Add(time.Duration(*t.TolerationSeconds) * time.Second); ends.After(last) {
			last = ends
		}
	}
	d.again(last)
	return last.After(d.in.Now)
}

// concerns says whether a toleration is about a taint.
func concerns(t *ocmv1beta1.Toleration, taint *ocmv1.Taint) bool {
	if t.Effect != "" && t.Effect != string(taint.Effect) || t.Key != "" && t.Key != taint.Key {
		return false
	}
	return t.Operator == ocmv1beta1.TolerationOpExists || t.Value == taint.Value
}
