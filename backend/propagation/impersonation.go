package propagation

import (
	"fmt"
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/propagation/work"
)

// impersonatorName names the account of the cluster proxy in a member, and its
// role and binding there (contract section 3.2).
const impersonatorName = "karmada-impersonator"

// subjects are who may use the cluster proxy, by kind.
type subjects struct {
	users, groups, accounts []string // sorted
}

// grants are the subjects of all clusters and of single ones.
type grants struct {
	everywhere subjects
	byCluster  map[string]subjects
}

// of returns who may use the proxy of one cluster.
func (g grants) of(cluster string) subjects {
	return g.everywhere.with(g.byCluster[cluster])
}

func (g grants) equal(other grants) bool {
	return g.everywhere.equal(other.everywhere) && maps.EqualFunc(g.byCluster, other.byCluster, subjects.equal)
}

func (s subjects) with(other subjects) subjects {
	join := func(a, b []string) []string {
		joined := slices.Concat(a, b)
		slices.Sort(joined)
		return slices.Compact(joined)
	}
	return subjects{join(s.users, other.users), join(s.groups, other.groups), join(s.accounts, other.accounts)}
}

func (s subjects) equal(other subjects) bool {
	return slices.Equal(s.users, other.users) && slices.Equal(s.groups, other.groups) && slices.Equal(s.accounts, other.accounts)
}

// findGrants reads from the hub's roles who may use the proxy of which cluster
// (contract section 8.5).
func findGrants(roles []rbacv1.ClusterRole, bindings []rbacv1.ClusterRoleBinding) grants {
	type reach struct {
		everywhere bool
		clusters   map[string]bool
	}
	reaches := map[string]reach{}
	for i := range roles {
		var found reach
		for _, rule := range roles[i].Rules {
			all, names := ruleReach(rule)
			found.everywhere = found.everywhere || all
			for _, name := range names {
				if found.clusters == nil {
					found.clusters = map[string]bool{}
				}
				found.clusters[name] = true
			}
		}
		if found.everywhere || len(found.clusters) > 0 {
			reaches[roles[i].Name] = found
		}
	}
	granted := grants{byCluster: map[string]subjects{}}
	for i := range bindings {
		found, ok := reaches[bindings[i].RoleRef.Name]
		if !ok || bindings[i].RoleRef.Kind != "ClusterRole" {
			continue
		}
		who := subjectsOf(bindings[i].Subjects)
		if found.everywhere {
			granted.everywhere = granted.everywhere.with(who)
			continue
		}
		for name := range found.clusters {
			granted.byCluster[name] = granted.byCluster[name].with(who)
		}
	}
	return granted
}

// ruleReach says whether a rule permits the proxy of all clusters, or of which.
func ruleReach(rule rbacv1.PolicyRule) (everywhere bool, names []string) {
	has := func(list []string, wanted ...string) bool {
		return slices.ContainsFunc(wanted, func(w string) bool { return slices.Contains(list, w) })
	}
	if len(rule.Verbs) == 0 {
		return false, nil
	}
	if has(rule.APIGroups, "*", "search.karmada.io") && has(rule.Resources, "*", "*/proxy", "proxying/proxy") && len(rule.ResourceNames) == 0 {
		return true, nil
	}
	if has(rule.APIGroups, "*", clusterv1alpha1.GroupName) && has(rule.Resources, "*", "*/proxy", "clusters/proxy") {
		return len(rule.ResourceNames) == 0, rule.ResourceNames
	}
	return false, nil
}

// subjectsOf sorts subjects by kind. A service account of the hub comes with its
// groups: the proxy names them to the member as it does everybody's (contract
// section 12.2), and the member asks about each.
func subjectsOf(list []rbacv1.Subject) subjects {
	users, groups, accounts := map[string]bool{}, map[string]bool{}, map[string]bool{}
	account := func(namespace, name string) {
		accounts[name] = true
		for _, group := range serviceaccount.MakeGroupNames(namespace) {
			groups[group] = true
		}
	}
	for _, subject := range list {
		switch subject.Kind {
		case rbacv1.UserKind:
			users[subject.Name] = true
			if namespace, name, err := serviceaccount.SplitUsername(subject.Name); err == nil {
				account(namespace, name)
			}
		case rbacv1.GroupKind:
			groups[subject.Name] = true
		case rbacv1.ServiceAccountKind:
			account(subject.Namespace, subject.Name)
		}
	}
	sorted := func(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
	return subjects{sorted(users), sorted(groups), sorted(accounts)}
}

// impersonatorRole lets the proxy's account act for these subjects and nobody
// else: a rule without names would let it act for everybody, so that a kind
// without subjects gets no rule.
func impersonatorRole(who subjects) *rbacv1.ClusterRole {
	role := &rbacv1.ClusterRole{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{Name: impersonatorName},
		Rules:      []rbacv1.PolicyRule{},
	}
	for _, kind := range []struct {
		resource string
		names    []string
	}{{"users", who.users}, {"serviceaccounts", who.accounts}, {"groups", who.groups}} {
		if len(kind.names) > 0 {
			role.Rules = append(role.Rules, rbacv1.PolicyRule{
				Verbs: []string{"impersonate"}, APIGroups: []string{""}, Resources: []string{kind.resource}, ResourceNames: kind.names,
			})
		}
	}
	return role
}

func impersonatorBinding(namespace string) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRoleBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: impersonatorName},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: impersonatorName},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: impersonatorName}},
	}
}

// clusterTask is a task that belongs to a Cluster and carries one object without
// a namespace.
func clusterTask(cluster *clusterv1alpha1.Cluster, object any, kind string) (*work.Task, error) {
	o, err := work.Unstructured(object)
	if err != nil {
		return nil, fmt.Errorf("encode %s for cluster %s: %w", kind, cluster.Name, err)
	}
	form, err := work.NewForm(o, work.SystemMarks("", apis.SystemLabel))
	if err != nil {
		return nil, err
	}
	return &work.Task{Cluster: cluster.Name, Form: form, Owners: work.OwnedBy(clusterv1alpha1.GroupVersion.String(), clusterv1alpha1.ResourceKindCluster, cluster)}, nil
}
