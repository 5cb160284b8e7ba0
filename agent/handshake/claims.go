package handshake

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/agent/feed"
)

// spokeOnlyLabel is on claims that are nobody's business but the member's.
const spokeOnlyLabel = "open-cluster-management.io/spoke-only"

// watchClaims watches one kind of claim, whose value is in a field of spec. A
// member that does not serve it, yet, has no claims of the kind.
func (m *memberWatch) watchClaims(ctx context.Context, resource schema.GroupVersionResource, field string) {
	put := func(change func(map[string]claim)) {
		m.mu.Lock()
		if m.claimed[resource] == nil {
			m.claimed[resource] = map[string]claim{}
		}
		change(m.claimed[resource])
		all := map[string]claim{}
		for _, claims := range m.claimed {
			maps.Copy(all, claims)
		}
		told := m.claims.tell(all)
		same := m.seen.claims != nil && slices.Equal(m.seen.claims, told)
		m.mu.Unlock()
		if !same {
			m.change(func(o *observation) { o.claims = told })
		}
	}
	read := func(o *unstructured.Unstructured) claim {
		value, _, _ := unstructured.NestedString(o.Object, "spec", field)
		_, own := o.GetLabels()[spokeOnlyLabel]
		return claim{value: value, spokeOnly: own}
	}
	feed.Run(ctx, m.dynamic.Resource(resource), feed.Funcs{
		OnIs:   func(o *unstructured.Unstructured) { put(func(c map[string]claim) { c[o.GetName()] = read(o) }) },
		OnGone: func(o *unstructured.Unstructured) { put(func(c map[string]claim) { delete(c, o.GetName()) }) },
		OnAll: func(all []*unstructured.Unstructured) {
			put(func(c map[string]claim) {
				clear(c)
				for _, o := range all {
					c[o.GetName()] = read(o)
				}
			})
		},
	}, feed.Options{})
}
