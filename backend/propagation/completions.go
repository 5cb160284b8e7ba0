package propagation

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

var jobKind = schema.GroupKind{Group: "batch", Kind: "Job"}

// completions shares the completions of a divided Job among its clusters, in
// proportion to the pods that each runs side by side (contract section 11.1). It
// is empty for everything else.
func completions(template *unstructured.Unstructured, spec *workv1alpha2.ResourceBindingSpec) map[string]int64 {
	if template.GroupVersionKind().GroupKind() != jobKind || !divided(spec) || !isWorkload(spec) {
		return nil
	}
	total, found, err := unstructured.NestedInt64(template.Object, "spec", "completions")
	if err != nil || !found {
		return nil
	}
	var parts []part
	for _, target := range Targets(spec) {
		if target.Scheduled {
			parts = append(parts, part{name: target.Cluster, weight: int64(target.Replicas)})
		}
	}
	apportion(total, parts)
	shares := make(map[string]int64, len(parts))
	for _, p := range parts {
		shares[p.name] = p.share
	}
	return shares
}

// part is one of those among whom something is shared.
type part struct {
	name          string
	weight, share int64
}

// apportion shares a total by the rule of Webster: one after the other goes to
// the highest weight/(2·share+1); among equals to the smaller share, then to the
// first by name. Without weights nobody gets anything.
//
// Every share of that rule is at least the rounded down proportion less one for
// each part, so that the loop starts there and stays short for large totals.
func apportion(total int64, parts []part) {
	slices.SortFunc(parts, func(a, b part) int {
		if a.name < b.name {
			return -1
		}
		return 1
	})
	var sum int64
	for _, p := range parts {
		sum += p.weight
	}
	if sum == 0 {
		return
	}
	left := total
	for i := range parts {
		parts[i].share = max(0, total/sum*parts[i].weight+total%sum*parts[i].weight/sum-int64(len(parts)))
		left -= parts[i].share
	}
	for ; left > 0; left-- {
		best := -1
		for i := range parts {
			if parts[i].weight > 0 && (best < 0 || deserves(&parts[i], &parts[best])) {
				best = i
			}
		}
		parts[best].share++
	}
}

// deserves says whether a gets the next one rather than b, which comes first by name.
func deserves(a, b *part) bool {
	left, right := a.weight*(2*b.share+1), b.weight*(2*a.share+1)
	return left > right || left == right && a.share < b.share
}
