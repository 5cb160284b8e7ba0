package app_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmv1beta2 "muster.dev/muster/backend/apis/ocm/cluster/v1beta2"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	"muster.dev/muster/backend/kube"
)

// as is a client of somebody else of this API.
func (e *existing) as(t *testing.T, user string, groups ...string) client.Client {
	t.Helper()
	config := rest.CopyConfig(e.Config())
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:authenticated")}
	made, err := client.New(config, client.Options{Scheme: kube.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// letJane gives a user every right over the kinds of the dialect, and none of those
// that consents and sets take.
func (e *existing) letJane(t *testing.T) client.Client {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "jane"}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{ocmv1.GroupName, ocmworkv1.GroupName}, Resources: []string{"managedclusters", "managedclustersetbindings", "manifestworks"},
		Verbs: []string{"get", "list", "create", "update", "patch"},
	}}}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "jane"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "jane"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "jane"}}}
	for _, object := range []client.Object{role, binding} {
		if err := e.client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	jane := e.as(t, "jane")
	awaitHolds(t, "jane's rights", func(ctx context.Context) bool { return jane.List(ctx, &ocmv1.ManagedClusterList{}) == nil })
	return jane
}

// refusesThroughWebhooks sends what admission refuses to the API itself, which asks
// the hub by the four configurations (contract sections 1.2 and 1.5). c1 is accepted.
func (e *existing) refusesThroughWebhooks(t *testing.T) {
	t.Helper()
	jane := e.letJane(t)
	agent := e.as(t, "system:open-cluster-management:c1:a1", "system:open-cluster-management:c1", "system:open-cluster-management:managed-clusters")
	c1 := new(ocmv1.ManagedCluster)
	awaitHolds(t, "the agent's rights", func(ctx context.Context) bool { return agent.Get(ctx, client.ObjectKey{Name: "c1"}, c1) == nil })
	if err := e.client.Create(t.Context(), &ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "c6"}}); err != nil {
		t.Fatal(err)
	}
	patch := func(who client.Client, body string) func(context.Context) error {
		return func(ctx context.Context) error {
			return who.Patch(ctx, &ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "c6"}}, client.RawPatch(types.MergePatchType, []byte(body)))
		}
	}
	bind := func(who client.Client, name string) func(context.Context) error {
		return func(ctx context.Context) error {
			return who.Create(ctx, &ocmv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: ocmv1beta2.ManagedClusterSetBindingSpec{ClusterSet: "default"}})
		}
	}
	work := func(who client.Client, change func(*ocmworkv1.ManifestWork)) func(context.Context) error {
		return func(ctx context.Context) error {
			made := &ocmworkv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "c1", Name: "refused"}}
			made.Spec.Workload.Manifests = []ocmworkv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"default"}}`)}}}
			change(made)
			return who.Create(ctx, made)
		}
	}
	for name, c := range map[string]struct {
		try  func(context.Context) error
		code int32
		text string
	}{
		"an agent denies itself": {func(ctx context.Context) error {
			denied := new(ocmv1.ManagedCluster)
			for {
				if err := agent.Get(ctx, client.ObjectKey{Name: "c1"}, denied); err != nil {
					return err
				}
				denied.Spec.HubAcceptsClient = false
				if err := agent.Update(ctx, denied); !apierrors.IsConflict(err) {
					return err
				}
			}
		}, http.StatusForbidden, "the consent that it would take back is the hub's"},
		"accepting without the right": {patch(jane, `{"spec":{"hubAcceptsClient":true}}`), http.StatusForbidden, "cannot update the HubAcceptsClient field"},
		"joining without the right": {func(ctx context.Context) error {
			return jane.Create(ctx, &ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "c7"}})
		}, http.StatusForbidden, "cannot add/remove a ManagedCluster"},
		"another set without the right": {patch(jane, `{"metadata":{"labels":{"`+ocmv1.ClusterSetLabel+`":"prod"}}}`), http.StatusForbidden, "cannot add/remove a ManagedCluster"},
		"a time of a new taint":         {patch(e.client, `{"spec":{"taints":[{"key":"mine","effect":"NoSelect","timeAdded":"2026-11-21T12:00:00Z"}]}}`), http.StatusBadRequest, `not allowed to set TimeAdded of Taint "mine"`},
		"a binding of another name":     {bind(e.client, "wrong"), http.StatusBadRequest, "must have the same name"},
		"binding without the right":     {bind(jane, "default"), http.StatusForbidden, "is not allowed to bind"},
		"a work without manifests":      {work(e.client, func(w *ocmworkv1.ManifestWork) { w.Spec.Workload.Manifests = nil }), http.StatusBadRequest, "mpty"},
		"an executor without the right": {work(jane, func(w *ocmworkv1.ManifestWork) {
			w.Spec.Executor = &ocmworkv1.ManifestWorkExecutor{Subject: ocmworkv1.ManifestWorkExecutorSubject{
				Type: ocmworkv1.ExecutorServiceAccount, ServiceAccount: &ocmworkv1.ManifestWorkSubjectServiceAccount{Namespace: "apps", Name: "runner"},
			}}
		}), http.StatusBadRequest, "may not act as the executor apps/runner"},
	} {
		err := c.try(t.Context())
		status, ok := err.(apierrors.APIStatus)
		if !ok || status.Status().Code != c.code || !strings.Contains(status.Status().Message, c.text) {
			t.Errorf("%s: answered %v, want %d with %q", name, err, c.code, c.text)
		}
	}
	// The same by somebody who may.
	for name, try := range map[string]func(context.Context) error{
		"accepting": patch(e.client, `{"spec":{"hubAcceptsClient":true}}`), "a work": work(jane, func(w *ocmworkv1.ManifestWork) { w.Name = "let-through" }), "a binding": bind(e.client, "default"),
	} {
		if err := try(t.Context()); err != nil {
			t.Errorf("%s is refused to whoever may: %v", name, err)
		}
	}
}
