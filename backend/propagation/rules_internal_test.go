package propagation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/propagation/work"
)

// TestWorkName uses names that clients of the field computed.
func role(name string, rules ...rbacv1.PolicyRule) rbacv1.ClusterRole {
	return rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
}

func proxyRule(group, resource string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: names}
}

func bound(roleName string, who ...rbacv1.Subject) rbacv1.ClusterRoleBinding {
	return rbacv1.ClusterRoleBinding{RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: roleName}, Subjects: who}
}

func who(kind, name string) rbacv1.Subject { return rbacv1.Subject{Kind: kind, Name: name} }

func TestFindGrants(t *testing.T) {
	roles := []rbacv1.ClusterRole{
		role("admin", proxyRule("*", "*")),
		role("proxy", proxyRule("cluster.karmada.io", "clusters/proxy")),
		role("proxies", proxyRule("cluster.karmada.io", "*/proxy")),
		role("one", proxyRule("cluster.karmada.io", "clusters/proxy", "m1", "m2")),
		role("search", proxyRule("search.karmada.io", "proxying/proxy")),
		role("reader", proxyRule("cluster.karmada.io", "clusters")),
		role("pods", proxyRule("", "pods/proxy")),
		role("nothing", rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}}),
		role("unused", proxyRule("*", "*")),
	}
	bindings := []rbacv1.ClusterRoleBinding{
		bound("admin", who("Group", "system:masters"), who("User", "system:admin")),
		bound("proxy", who("User", "ann"), rbacv1.Subject{Kind: "ServiceAccount", Namespace: "shop", Name: "robot"}),
		bound("proxies", who("User", "bob"), who("User", "ann")),
		bound("one", who("User", "jane"), who("Group", "team")),
		bound("search", who("User", "finder")),
		bound("reader", who("User", "reader")),
		bound("pods", who("User", "kubelet")),
		bound("nothing", who("User", "nobody")),
		bound("missing", who("User", "ghost")),
		{RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "admin"}, Subjects: []rbacv1.Subject{who("User", "local")}},
	}
	got := findGrants(roles, bindings)
	users := []string{"ann", "bob", "finder", "system:admin"}
	robots := []string{"system:serviceaccounts", "system:serviceaccounts:shop"}
	want := map[string]subjects{
		"m1": {users: []string{"ann", "bob", "finder", "jane", "system:admin"}, groups: append([]string{"system:masters"}, append(robots, "team")...), accounts: []string{"robot"}},
		"m3": {users: users, groups: append([]string{"system:masters"}, robots...), accounts: []string{"robot"}},
	}
	for cluster, expected := range want {
		if diff := cmp.Diff(expected, got.of(cluster), cmp.AllowUnexported(subjects{})); diff != "" {
			t.Errorf("%s: %s", cluster, diff)
		}
	}
	if !got.of("m1").equal(got.of("m2")) || got.of("m1").equal(got.of("m3")) {
		t.Error("clusters that one role names are not told apart from the others")
	}
}

// TestSubjectsOf: a member asks for each group of a service account whether the
// proxy may name it.
// Grants that are equal concern no cluster: that ends the look at a change of roles.
func TestEqualGrants(t *testing.T) {
	of := func(everywhere string, clusters ...string) grants {
		g := grants{everywhere: subjects{users: []string{everywhere}}, byCluster: map[string]subjects{}}
		for _, name := range clusters {
			g.byCluster[name] = subjects{groups: []string{"of " + name}}
		}
		return g
	}
	if !of("a", "c1", "c2").equal(of("a", "c2", "c1")) {
		t.Error("the same grants differ")
	}
	for name, other := range map[string]grants{"everywhere": of("b", "c1"), "one cluster more": of("a", "c1", "c2"), "another cluster": of("a", "c2"), "none": {}} {
		if of("a", "c1").equal(other) {
			t.Errorf("%s: grants that differ are equal", name)
		}
	}
}

func TestSubjectsOf(t *testing.T) {
	for _, c := range []struct {
		name    string
		subject rbacv1.Subject
		want    subjects
	}{
		{"a user", rbacv1.Subject{Kind: rbacv1.UserKind, Name: "ann"}, subjects{users: []string{"ann"}}},
		{"a group", rbacv1.Subject{Kind: rbacv1.GroupKind, Name: "team"}, subjects{groups: []string{"team"}}},
		{"an account", rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: "shop", Name: "tom"},
			subjects{groups: []string{"system:serviceaccounts", "system:serviceaccounts:shop"}, accounts: []string{"tom"}}},
		{"an account by its user name", rbacv1.Subject{Kind: rbacv1.UserKind, Name: "system:serviceaccount:shop:tom"},
			subjects{users: []string{"system:serviceaccount:shop:tom"}, groups: []string{"system:serviceaccounts", "system:serviceaccounts:shop"}, accounts: []string{"tom"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := subjectsOf([]rbacv1.Subject{c.subject}); !got.equal(c.want) {
				t.Errorf("subjects %+v, want %+v", got, c.want)
			}
		})
	}
}

// TestReachesProxy: a change of a role is looked at if it permitted the proxy of a
// cluster before or does now, and not if it never did.
func TestReachesProxy(t *testing.T) {
	pods, one, all := role("r", proxyRule("", "pods/proxy")), role("r", proxyRule("cluster.karmada.io", "clusters/proxy", "m1")), role("r", proxyRule("*", "*"))
	for name, test := range map[string]struct {
		before, now rbacv1.ClusterRole
		want        bool
	}{
		"never": {pods, role("r"), false}, "taken": {one, pods, true}, "given": {pods, all, true}, "kept": {all, one, true},
	} {
		if got := reachesProxy.Update(event.UpdateEvent{ObjectOld: &test.before, ObjectNew: &test.now}); got != test.want {
			t.Errorf("%s: changed %t, want %t", name, got, test.want)
		}
		if got := reachesProxy.Create(event.CreateEvent{Object: &test.now}); got != (test.want && name != "taken") {
			t.Errorf("%s: made %t", name, got)
		}
		if got := reachesProxy.Delete(event.DeleteEvent{Object: &test.before}); got != (name == "taken" || name == "kept") {
			t.Errorf("%s: deleted %t", name, got)
		}
	}
}

// TestImpersonatorRoleNamesEverybody: a rule without names would let the account
// act for anybody, administrators of the member included.
func TestImpersonatorRoleNamesEverybody(t *testing.T) {
	for name, granted := range map[string]subjects{
		"nobody": {}, "users": {users: []string{"ann"}}, "groups": {groups: []string{"team"}},
		"all": {users: []string{"ann"}, groups: []string{"team"}, accounts: []string{"robot"}},
	} {
		rules := impersonatorRole(granted).Rules
		if rules == nil {
			t.Errorf("%s: the rules would be left out of the manifest", name)
		}
		for _, rule := range rules {
			if len(rule.ResourceNames) == 0 || len(rule.Verbs) != 1 || rule.Verbs[0] != "impersonate" {
				t.Errorf("%s: %+v", name, rule)
			}
		}
	}
}

func TestClusterTask(t *testing.T) {
	cluster := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "member3", UID: types.UID("u")}}
	of := func(namespace string) *work.Task {
		made, err := clusterTask(cluster, impersonatorBinding(namespace), "ClusterRoleBinding")
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	sent, err := of("karmada-cluster").Made()
	if err != nil {
		t.Fatal(err)
	}
	if sent.Namespace != "karmada-es-member3" || sent.Name != "karmada-impersonator-84f8c8f8c6" || len(sent.OwnerReferences) != 1 || sent.OwnerReferences[0].UID != "u" {
		t.Errorf("%+v", sent.ObjectMeta)
	}
	if again, err := of("karmada-cluster").Changed(sent); again != nil || err != nil {
		t.Errorf("what was written counts as a change: %v", err)
	}
	if again, err := of("elsewhere").Changed(sent); again == nil || err != nil {
		t.Errorf("another namespace does not count as a change: %v", err)
	}
}
