package template_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/template"
)

func object(apiVersion, kind, namespace, name string, labels map[string]string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	o.SetLabels(labels)
	return o
}

type policyOption func(*metav1.ObjectMeta, *policyv1alpha1.PropagationSpec)

func prio(n int32) policyOption {
	return func(_ *metav1.ObjectMeta, s *policyv1alpha1.PropagationSpec) { s.Priority = ptr.To(n) }
}

func sel(apiVersion, kind, name string, labels map[string]string) policyOption {
	return func(_ *metav1.ObjectMeta, s *policyv1alpha1.PropagationSpec) {
		selector := policyv1alpha1.ResourceSelector{APIVersion: apiVersion, Kind: kind, Name: name}
		if labels != nil {
			selector.LabelSelector = &metav1.LabelSelector{MatchLabels: labels}
		}
		s.ResourceSelectors = append(s.ResourceSelectors, selector)
	}
}

func always(_ *metav1.ObjectMeta, s *policyv1alpha1.PropagationSpec) {
	s.Preemption = policyv1alpha1.PreemptAlways
}

func lazy(_ *metav1.ObjectMeta, s *policyv1alpha1.PropagationSpec) {
	s.ActivationPreference = policyv1alpha1.LazyActivation
}

func leaving(m *metav1.ObjectMeta, _ *policyv1alpha1.PropagationSpec) {
	m.DeletionTimestamp = ptr.To(metav1.NewTime(time.Unix(1, 0)))
}

func clusters(names ...string) policyOption {
	return func(_ *metav1.ObjectMeta, s *policyv1alpha1.PropagationSpec) {
		s.Placement.ClusterAffinity = &policyv1alpha1.ClusterAffinity{ClusterNames: names}
	}
}

func newPP(namespace, name string, options ...policyOption) *policyv1alpha1.PropagationPolicy {
	p := &policyv1alpha1.PropagationPolicy{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, Finalizers: []string{policyv1alpha1.PropagationPolicyFinalizer},
		Labels: map[string]string{policyv1alpha1.PropagationPolicyPermanentIDLabel: "id-of-" + strings.TrimPrefix(namespace+"."+name, "default.")},
	}}
	p.Spec.SchedulerName, p.Spec.ConflictResolution = policyv1alpha1.DefaultSchedulerName, policyv1alpha1.ConflictAbort
	for _, option := range options {
		option(&p.ObjectMeta, &p.Spec)
	}
	return p
}

func newCPP(name string, options ...policyOption) *policyv1alpha1.ClusterPropagationPolicy {
	p := &policyv1alpha1.ClusterPropagationPolicy{ObjectMeta: metav1.ObjectMeta{
		Name: name, Finalizers: []string{policyv1alpha1.ClusterPropagationPolicyFinalizer},
		Labels: map[string]string{policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel: "id-of-" + name},
	}}
	p.Spec.SchedulerName, p.Spec.ConflictResolution = policyv1alpha1.DefaultSchedulerName, policyv1alpha1.ConflictAbort
	for _, option := range options {
		option(&p.ObjectMeta, &p.Spec)
	}
	return p
}

func TestChoose(t *testing.T) {
	t.Parallel()
	nginx := object("apps/v1", "Deployment", "default", "nginx", map[string]string{"app": "nginx"})
	role := object("rbac.authorization.k8s.io/v1", "ClusterRole", "", "viewer", nil)
	byName, byLabel := sel("apps/v1", "Deployment", "nginx", nil), sel("apps/v1", "Deployment", "", map[string]string{"app": "nginx"})
	byKind := sel("apps/v1", "Deployment", "", nil)
	type pps = []*policyv1alpha1.PropagationPolicy
	type cpps = []*policyv1alpha1.ClusterPropagationPolicy
	for name, c := range map[string]struct {
		object *unstructured.Unstructured
		pps    pps
		cpps   cpps
		want   string // the policy's name, empty for none
	}{
		"no policy":                               {nginx, nil, nil, ""},
		"another namespace":                       {nginx, pps{newPP("shop", "a", byName)}, nil, ""},
		"another version of the group":            {nginx, pps{newPP("default", "a", sel("extensions/v1beta1", "Deployment", "nginx", nil))}, nil, ""},
		"another name":                            {nginx, pps{newPP("default", "a", sel("apps/v1", "Deployment", "web", nil))}, nil, ""},
		"labels that are not there":               {nginx, pps{newPP("default", "a", sel("apps/v1", "Deployment", "", map[string]string{"app": "web"}))}, nil, ""},
		"priority before strength":                {nginx, pps{newPP("default", "a", byName), newPP("default", "b", byKind, prio(1))}, nil, "b"},
		"a negative priority":                     {nginx, pps{newPP("default", "a", byName, prio(-1)), newPP("default", "b", byKind)}, nil, "b"},
		"name before labels":                      {nginx, pps{newPP("default", "a", byLabel), newPP("default", "b", byName)}, nil, "b"},
		"labels before kind":                      {nginx, pps{newPP("default", "a", byKind), newPP("default", "b", byLabel)}, nil, "b"},
		"the strongest selector counts":           {nginx, pps{newPP("default", "a", byLabel), newPP("default", "b", byKind, byName)}, nil, "b"},
		"names decide last":                       {nginx, pps{newPP("default", "b", byName), newPP("default", "a", byName), newPP("default", "c", byName)}, nil, "a"},
		"one that is being deleted takes no part": {nginx, pps{newPP("default", "a", byName, leaving), newPP("default", "b", byKind)}, nil, "b"},
		"the namespace's own before a cluster's":  {nginx, pps{newPP("default", "a", byKind)}, cpps{newCPP("b", byName, prio(9))}, "a"},
		"a cluster's where there is no other":     {nginx, pps{newPP("shop", "a", byKind)}, cpps{newCPP("c", byKind), newCPP("b", byKind)}, "b"},
		"cluster scope":                           {role, pps{newPP("default", "a", sel("rbac.authorization.k8s.io/v1", "ClusterRole", "viewer", nil))}, cpps{newCPP("b", sel("rbac.authorization.k8s.io/v1", "ClusterRole", "", nil))}, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			claim, found := template.Choose(c.object, c.pps, c.cpps)
			if found != (c.want != "") || claim.Name != c.want {
				t.Errorf("chose %q (%v), want %q", claim.Name, found, c.want)
			}
			if found && claim.ID != "id-of-"+c.want {
				t.Errorf("the claim's id is %q", claim.ID)
			}
		})
	}
}

func TestPreempts(t *testing.T) {
	t.Parallel()
	nginx := object("apps/v1", "Deployment", "default", "nginx", nil)
	byName := sel("apps/v1", "Deployment", "nginx", nil)
	for name, c := range map[string]struct {
		challenger, holder template.PolicyObject
		want               bool
	}{
		"does not ask":                    {newPP("default", "a", byName, prio(2)), newPP("default", "b", byName), false},
		"higher priority":                 {newPP("default", "a", byName, prio(2), always), newPP("default", "b", byName), true},
		"equal priority":                  {newPP("default", "a", byName, always), newPP("default", "b", byName), false},
		"does not mean it":                {newPP("default", "a", sel("apps/v1", "Deployment", "web", nil), prio(2), always), newPP("default", "b", byName), false},
		"from any cluster policy":         {newPP("default", "a", byName, always), newCPP("b", byName, prio(9)), true},
		"cluster policy from a namespace": {newCPP("a", byName, prio(9), always), newPP("default", "b", byName), false},
		"cluster policy from a lower one": {newCPP("a", byName, prio(1), always), newCPP("b", byName), true},
		"cluster policy from a higher":    {newCPP("a", byName, always), newCPP("b", byName, prio(1)), false},
		"being deleted":                   {newPP("default", "a", byName, prio(2), always, leaving), newPP("default", "b", byName), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := template.Preempts(c.challenger, c.holder, nginx); got != c.want {
				t.Errorf("preempts = %v, want %v", got, c.want)
			}
		})
	}
}

func TestClaim(t *testing.T) {
	t.Parallel()
	o := object("apps/v1", "Deployment", "default", "nginx", map[string]string{"app": "nginx"})
	if _, claimed := template.ClaimIn(o); claimed {
		t.Error("an object without labels of ours carries a claim")
	}
	cluster, own := template.ClaimOf(newCPP("all")), template.ClaimOf(newPP("default", "mine"))
	cluster.Put(o)
	if got, _ := template.ClaimIn(o); got != cluster {
		t.Errorf("carries %+v, want %+v", got, cluster)
	}
	own.Put(o)
	if got, _ := template.ClaimIn(o); got != own {
		t.Errorf("carries %+v, want %+v", got, own)
	}
	if len(o.GetLabels()) != 2 || len(o.GetAnnotations()) != 2 {
		t.Errorf("the claim of the cluster's policy has left something: %v %v", o.GetLabels(), o.GetAnnotations())
	}
	template.Claim{}.Put(o)
	if len(o.GetLabels()) != 1 || len(o.GetAnnotations()) != 0 {
		t.Errorf("the claim has left something: %v %v", o.GetLabels(), o.GetAnnotations())
	}
}

func TestClaimedByBinding(t *testing.T) {
	t.Parallel()
	o := object("v1", "ConfigMap", "default", "settings", map[string]string{"app": "nginx"})
	before := o.DeepCopy()
	unbound, bound := object("x/v1", "Binding", "default", "b", nil), object("x/v1", "Binding", "default", "b", nil)
	claim := template.ClaimOf(newPP("default", "mine"))
	claim.Put(bound)

	claimed := template.Claimed(o, bound)
	if got, _ := template.ClaimIn(claimed); got != claim || claimed.GetLabels()["app"] != "nginx" {
		t.Errorf("carries %+v and labels %v, want %+v", got, claimed.GetLabels(), claim)
	}
	if diff := cmp.Diff(before.Object, o.Object); diff != "" {
		t.Errorf("the template was changed (-before +after):\n%s", diff)
	}
	if again := template.Claimed(claimed, bound); again != claimed {
		t.Error("what carries the claim was copied")
	}
	if kept := template.Claimed(claimed, unbound); kept != claimed {
		t.Error("a binding without a claim took that of the template")
	}
}

func TestBindingName(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"nginx", "Deployment", "nginx-deployment"},
		{"Web", "ConfigMap", "web-configmap"},
		{"system:node-proxier", "ClusterRole", "system.node-proxier-clusterrole"},
	} {
		if got := template.BindingName(c[0], c[1]); got != c[2] {
			t.Errorf("%s %s: %s, want %s", c[1], c[0], got, c[2])
		}
	}
}

func TestScope(t *testing.T) {
	t.Parallel()
	scope, err := template.NewScope(append([]string{"team-[0-9]+"}, template.DefaultSkippedNamespaces...))
	if err != nil {
		t.Fatal(err)
	}
	for ref, skipped := range map[template.Ref]bool{
		{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: "a"}:                                false,
		{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: "kube-root-ca.crt"}:                 true,
		{APIVersion: "v1", Kind: "ConfigMap", Namespace: "kube-system", Name: "a"}:                            true,
		{APIVersion: "v1", Kind: "ConfigMap", Namespace: "karmada-system", Name: "a"}:                         true,
		{APIVersion: "v1", Kind: "Secret", Namespace: "karmada-cluster", Name: "m1"}:                          true,
		{APIVersion: "v1", Kind: "Secret", Namespace: "karmada-es-m1", Name: "a"}:                             true,
		{APIVersion: "v1", Kind: "Secret", Namespace: "muster-system", Name: "a"}:                             true,
		{APIVersion: "v1", Kind: "Secret", Namespace: "open-cluster-management-hub", Name: "a"}:               true,
		{APIVersion: "v1", Kind: "Secret", Namespace: "team-12", Name: "a"}:                                   true,
		{APIVersion: "v1", Kind: "Secret", Namespace: "my-team-12", Name: "a"}:                                false,
		{APIVersion: "v1", Kind: "Namespace", Name: "kube-public"}:                                            true,
		{APIVersion: "v1", Kind: "Namespace", Name: "shop"}:                                                   false,
		{APIVersion: "v1", Kind: "ServiceAccount", Namespace: "shop", Name: "default"}:                        true,
		{APIVersion: "v1", Kind: "ServiceAccount", Namespace: "shop", Name: "web"}:                            false,
		{APIVersion: "v1", Kind: "Event", Namespace: "shop", Name: "web"}:                                     true,
		{APIVersion: "coordination.k8s.io/v1", Kind: "Lease", Namespace: "shop", Name: "web"}:                 true,
		{APIVersion: "work.karmada.io/v1alpha1", Kind: "Work", Namespace: "shop", Name: "web"}:                true,
		{APIVersion: "multicluster.x-k8s.io/v1alpha1", Kind: "ServiceImport", Namespace: "shop", Name: "web"}: false,
		{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}:                           false,
	} {
		if got := scope.Skips(ref); got != skipped {
			t.Errorf("skips %s = %v, want %v", ref, got, skipped)
		}
	}
	if _, err := template.NewScope([]string{"("}); err == nil {
		t.Error("a broken expression was taken")
	}
}
