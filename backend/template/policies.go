package template

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
)

// policies are the policies of the hub, found by what they mean: with a thousand
// of them in a namespace, a template is still compared with those of its kind
// only. Policies lie in it as the manager's cache has them and are not changed.
type policies struct {
	mu    sync.RWMutex
	byKey map[types.NamespacedName]PolicyObject // the namespace of a cluster's is empty
	byID  map[string]PolicyObject
	// byKind holds the policies that have a selector for a kind, by the policy's
	// namespace.
	byKind map[kindIn]map[types.NamespacedName]PolicyObject
}

type kindIn struct{ namespace, apiVersion, kind string }

func newPolicies() *policies {
	return &policies{
		byKey: map[types.NamespacedName]PolicyObject{}, byID: map[string]PolicyObject{},
		byKind: map[kindIn]map[types.NamespacedName]PolicyObject{},
	}
}

func keyOf(policy PolicyObject) types.NamespacedName {
	return types.NamespacedName{Namespace: policy.GetNamespace(), Name: policy.GetName()}
}

// put takes in a policy in place of the one of that name, which it returns.
func (p *policies) put(policy PolicyObject) PolicyObject {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := keyOf(policy)
	old := p.remove(key)
	p.byKey[key] = policy
	if id := ClaimOf(policy).ID; id != "" {
		p.byID[id] = policy
	}
	for _, kind := range kindsOf(policy) {
		if p.byKind[kind] == nil {
			p.byKind[kind] = map[types.NamespacedName]PolicyObject{}
		}
		p.byKind[kind][key] = policy
	}
	return old
}

// drop forgets a policy and returns it.
func (p *policies) drop(key types.NamespacedName) PolicyObject {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.remove(key)
}

func (p *policies) remove(key types.NamespacedName) PolicyObject {
	old, ok := p.byKey[key]
	if !ok {
		return nil
	}
	delete(p.byKey, key)
	if id := ClaimOf(old).ID; p.byID[id] == old {
		delete(p.byID, id)
	}
	for _, kind := range kindsOf(old) {
		delete(p.byKind[kind], key)
		if len(p.byKind[kind]) == 0 {
			delete(p.byKind, kind)
		}
	}
	return old
}

func kindsOf(policy PolicyObject) []kindIn {
	selectors := SpecOf(policy).ResourceSelectors
	kinds := make([]kindIn, 0, len(selectors))
	for i := range selectors {
		kinds = append(kinds, kindIn{policy.GetNamespace(), selectors[i].APIVersion, selectors[i].Kind})
	}
	return kinds
}

func (p *policies) get(key types.NamespacedName) PolicyObject {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.byKey[key]
}

// holder is the policy of a claim, nil if there is none: it was deleted, and
// perhaps another one of its name made.
func (p *policies) holder(claim Claim) PolicyObject {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if policy := p.byID[claim.ID]; policy != nil && ClaimOf(policy).Kind == claim.Kind {
		return policy
	}
	return nil
}

// candidates are the policies that may mean a template. Those without a
// permanent id are left out: nothing could be found by their claim.
func (p *policies) candidates(o *unstructured.Unstructured) (pps []*policyv1alpha1.PropagationPolicy, cpps []*policyv1alpha1.ClusterPropagationPolicy) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if namespace := o.GetNamespace(); namespace != "" {
		for _, policy := range p.byKind[kindIn{namespace, o.GetAPIVersion(), o.GetKind()}] {
			if pp, ok := policy.(*policyv1alpha1.PropagationPolicy); ok && ClaimOf(pp).ID != "" {
				pps = append(pps, pp)
			}
		}
	}
	for _, policy := range p.byKind[kindIn{"", o.GetAPIVersion(), o.GetKind()}] {
		if cpp, ok := policy.(*policyv1alpha1.ClusterPropagationPolicy); ok && ClaimOf(cpp).ID != "" {
			cpps = append(cpps, cpp)
		}
	}
	return pps, cpps
}

// withID is the policy of a permanent id.
func (p *policies) withID(id string) PolicyObject {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.byID[id]
}
