package propagation

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/propagation/work"
)

// Indexes of the manager's cache, so that nothing is searched for.
const (
	// worksByBinding finds the Works of a binding by its permanent id.
	worksByBinding = "propagation/binding"
	// worksByQuota finds the Works of a FederatedResourceQuota by "namespace/name".
	worksByQuota = "propagation/quota"
	// bindingsByCluster finds the bindings that have a cluster among their targets.
	bindingsByCluster = "propagation/cluster"
	// propagatedNamespaces finds, by "true", the namespaces that go to the members.
	propagatedNamespaces = "propagation/namespace"
)

func addIndexes(ctx context.Context, m ctrl.Manager) error {
	clusters := func(o client.Object) []string {
		b, ok := o.(workv1alpha2.Binding)
		if !ok {
			return nil
		}
		var names []string
		for _, target := range Targets(b.BindingSpec()) {
			names = append(names, target.Cluster)
		}
		return names
	}
	for _, index := range []struct {
		object client.Object
		name   string
		values client.IndexerFunc
	}{
		{&workv1alpha1.Work{}, worksByBinding, func(o client.Object) []string { return present(work.BindingID(o.GetLabels())) }},
		{&workv1alpha1.Work{}, worksByQuota, func(o client.Object) []string { return present(quotaOf(o.GetLabels())) }},
		{&workv1alpha2.ResourceBinding{}, bindingsByCluster, clusters},
		{&workv1alpha2.ClusterResourceBinding{}, bindingsByCluster, clusters},
	} {
		if err := m.GetFieldIndexer().IndexField(ctx, index.object, index.name, index.values); err != nil {
			return fmt.Errorf("index %T by %s: %w", index.object, index.name, err)
		}
	}
	return nil
}

func present(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

// quotaOf is the FederatedResourceQuota that a Work belongs to, as
// "namespace/name", "" if to none.
func quotaOf(labels map[string]string) string {
	if name := labels[policyv1alpha1.FederatedResourceQuotaNameLabel]; name != "" {
		return labels[policyv1alpha1.FederatedResourceQuotaNamespaceLabel] + "/" + name
	}
	return ""
}

// works lists Works by an index. They are the cache's and must not be changed.
func works(ctx context.Context, hub client.Reader, index, value string) ([]workv1alpha1.Work, error) {
	var list workv1alpha1.WorkList
	if err := hub.List(ctx, &list, client.MatchingFields{index: value}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list works: %w", err)
	}
	return list.Items, nil
}

// bindingsOf lists the bindings that have a cluster among their targets.
func bindingsOf(ctx context.Context, hub client.Reader, cluster string) ([]types.NamespacedName, error) {
	var names []types.NamespacedName
	for _, list := range []client.ObjectList{&workv1alpha2.ResourceBindingList{}, &workv1alpha2.ClusterResourceBindingList{}} {
		if err := hub.List(ctx, list, client.MatchingFields{bindingsByCluster: cluster}, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("list bindings of cluster %s: %w", cluster, err)
		}
		for _, b := range bindingsIn(list) {
			names = append(names, client.ObjectKeyFromObject(b))
		}
	}
	return names, nil
}

// bindingsIn returns the bindings in a list of either kind.
func bindingsIn(list client.ObjectList) []work.Binding {
	var bindings []work.Binding
	switch list := list.(type) {
	case *workv1alpha2.ResourceBindingList:
		for i := range list.Items {
			bindings = append(bindings, &list.Items[i])
		}
	case *workv1alpha2.ClusterResourceBindingList:
		for i := range list.Items {
			bindings = append(bindings, &list.Items[i])
		}
	}
	return bindings
}

// unseen are Works that were created and that the cache does not know yet: a
// binding that changes or goes meanwhile must not lose sight of them.
type unseen struct {
	mu        sync.Mutex
	byBinding map[types.NamespacedName]map[types.NamespacedName]*workv1alpha1.Work
}

func newUnseen() *unseen {
	return &unseen{byBinding: map[types.NamespacedName]map[types.NamespacedName]*workv1alpha1.Work{}}
}

func (u *unseen) add(binding types.NamespacedName, written *workv1alpha1.Work) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.byBinding[binding] == nil {
		u.byBinding[binding] = map[types.NamespacedName]*workv1alpha1.Work{}
	}
	u.byBinding[binding][client.ObjectKeyFromObject(written)] = written
}

// get returns a Work as it was written, nil if the cache knows it.
func (u *unseen) get(binding, work types.NamespacedName) *workv1alpha1.Work {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.byBinding[binding][work]
}

// saw forgets a Work that the cache knows.
func (u *unseen) saw(binding, work types.NamespacedName) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.byBinding[binding], work)
	if len(u.byBinding[binding]) == 0 {
		delete(u.byBinding, binding)
	}
}

func (u *unseen) of(binding types.NamespacedName) []types.NamespacedName {
	u.mu.Lock()
	defer u.mu.Unlock()
	var works []types.NamespacedName
	for work := range u.byBinding[binding] {
		works = append(works, work)
	}
	return works
}
