package e2e_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/controlplane/controlplanetest"
)

// objects lists everything a member holds, with all that is in it.
func objects(t testing.TB, m *controlplanetest.Member) map[string]string {
	t.Helper()
	return objectsIn(t, m.Config())
}

// objectsIn lists everything a cluster holds, with all that is in it.
func objectsIn(t testing.TB, config *rest.Config) map[string]string {
	t.Helper()
	found, err := controlplanetest.Objects(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// awaitObjects waits until a member holds exactly what it held before.
func awaitObjects(t testing.TB, m *controlplanetest.Member, before map[string]string) {
	t.Helper()
	var after map[string]string
	defer func() {
		if t.Failed() {
			t.Log("difference in the member (-before +after):\n", cmp.Diff(before, after))
		}
	}()
	eventually(t, "the member holds what it held before", func(ctx context.Context) bool {
		found, err := controlplanetest.Objects(ctx, m.Config())
		if err != nil {
			t.Log(err)
			return false
		}
		after = found
		return maps.Equal(before, after)
	})
}

// awaitSecretsGone waits until the hub holds no credential for a cluster.
func awaitSecretsGone(t testing.TB, h *hub, name string) {
	t.Helper()
	eventually(t, "secrets of "+name+" gone", func(ctx context.Context) bool {
		for _, secret := range []string{name, name + "-impersonator"} {
			if _, err := h.client.CoreV1().Secrets("karmada-cluster").Get(ctx, secret, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				return false
			}
		}
		return true
	})
}

func TestPushJoinAndUnjoin(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "somewhere", Nodes: 2})
	before := objects(t, m)

	mustJoin(t, h, "east", m, "--cluster-provider", "acme", "--cluster-region", "eu", "--cluster-zones", "a,b")
	east := h.cluster(t, "east")
	system, err := m.Client.CoreV1().Namespaces().Get(t.Context(), "kube-system", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if east.Spec.ID != string(system.UID) {
		t.Errorf("spec.id is %q, want kube-system's UID %q", east.Spec.ID, system.UID)
	}
	if east.Spec.SyncMode != clusterv1alpha1.Push || east.Spec.APIEndpoint != m.Server || east.Spec.Provider != "acme" || east.Spec.Region != "eu" {
		t.Errorf("spec is %+v", east.Spec)
	}
	if east.Status.KubernetesVersion != "v1.36.3" {
		t.Errorf("status.kubernetesVersion is %q", east.Status.KubernetesVersion)
	}
	if n := east.Status.NodeSummary; n == nil || n.TotalNum != 2 || n.ReadyNum != 2 {
		t.Errorf("status.nodeSummary is %+v, want 2 of 2", n)
	}
	table := kubectl(t, h.Kubeconfig, "get", "clusters")
	if fields := strings.Fields(table); !slices.Equal(fields[:5], []string{"NAME", "VERSION", "MODE", "READY", "AGE"}) || !strings.Contains(table, "east") || !strings.Contains(table, "Push") {
		t.Errorf("kubectl get clusters prints\n%s", table)
	}
	// The proxy reaches the member as the user who asks.
	if version := kubectl(t, h.Kubeconfig, "get", "--raw", "/apis/cluster.karmada.io/v1alpha1/clusters/east/proxy/version"); !strings.Contains(version, "v1.36.3") {
		t.Errorf("the member's version through the proxy: %s", version)
	}

	left := mustRun(t, "muster", "unjoin", "east", "--kubeconfig", h.Kubeconfig, "--cluster-kubeconfig", m.Kubeconfig)
	t.Logf("unjoin took %.1f s", left.took.Seconds())
	h.awaitGone(t, "east")
	awaitSecretsGone(t, h, "east")
	awaitObjects(t, m, before)

	// The name is free again.
	mustJoin(t, h, "east", m)
}

func TestUnjoinKeepsWhatOthersPutThere(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "shared"})
	mustJoin(t, h, "shared", m)

	// A Work brings a namespace and a ConfigMap; a local user adds another one.
	work(t, h, "karmada-es-shared", "shop", manifest("v1", "Namespace", "", "shop"))
	work(t, h, "karmada-es-shared", "settings", manifest("v1", "ConfigMap", "shop", "settings"))
	eventually(t, "the Work's ConfigMap is in the member", func(ctx context.Context) bool {
		_, err := m.Client.CoreV1().ConfigMaps("shop").Get(ctx, "settings", metav1.GetOptions{})
		return err == nil
	})
	local := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "local"}, Data: map[string]string{"kept": "yes"}}
	if _, err := m.Client.CoreV1().ConfigMaps("shop").Create(t.Context(), local, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	mustRun(t, "muster", "unjoin", "shared", "--kubeconfig", h.Kubeconfig, "--cluster-kubeconfig", m.Kubeconfig)
	h.awaitGone(t, "shared")
	if _, err := m.Client.CoreV1().ConfigMaps("shop").Get(t.Context(), "local", metav1.GetOptions{}); err != nil {
		t.Errorf("a local user's object is gone with the namespace: %v", err)
	}
	if _, err := m.Client.CoreV1().ConfigMaps("shop").Get(t.Context(), "settings", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("our own object stayed in the member: %v", err)
	}
}

func TestJoinRefusals(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "one"})
	mustJoin(t, h, "one", m)
	eventually(t, "what controllers put into the new namespace, and what the hub gives its proxy", func(ctx context.Context) bool {
		_, bundle := m.Client.CoreV1().ConfigMaps("karmada-cluster").Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		_, account := m.Client.CoreV1().ServiceAccounts("karmada-cluster").Get(ctx, "default", metav1.GetOptions{})
		_, role := m.Client.RbacV1().ClusterRoles().Get(ctx, "karmada-impersonator", metav1.GetOptions{})
		_, binding := m.Client.RbacV1().ClusterRoleBindings().Get(ctx, "karmada-impersonator", metav1.GetOptions{})
		return errors.Join(bundle, account, role, binding) == nil
	})
	before := objects(t, m)

	refused := func(what string, r result, words ...string) {
		t.Helper()
		if r.code == 0 {
			t.Errorf("%s: succeeded", what)
		}
		for _, word := range words {
			if !strings.Contains(r.stderr+r.stdout, word) {
				t.Errorf("%s: %q is not in\n%s%s", what, word, r.stdout, r.stderr)
			}
		}
	}
	refused("the same cluster under another name", join(t, h, "two", m), "one")
	refused("the same name", join(t, h, "one", m), "one")
	refused("a name that is none", join(t, h, "Not_A_Name", m), "Not_A_Name")
	refused("unjoin of what is not there", run(t, "muster", "unjoin", "nosuch", "--kubeconfig", h.Kubeconfig), "nosuch")

	other := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "other"})
	if r := join(t, h, "other", other, "--dry-run"); r.code != 0 {
		t.Errorf("dry run: status %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	if h.cluster(t, "two") != nil || h.cluster(t, "other") != nil {
		t.Error("a refused or dry join left a Cluster")
	}
	if diff := cmp.Diff(before, objects(t, m)); diff != "" {
		t.Errorf("refused joins changed the member (-before +after):\n%s", diff)
	}

	// The server refuses, not the client alone: the same through the API.
	taken := h.cluster(t, "one")
	err := createCluster(t, h.dynamic, "two", taken.Spec.ID)
	if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) || !strings.Contains(err.Error(), "one") {
		t.Errorf("a second Cluster with the same id: %v, want a conflict that names the first", err)
	}
}

func TestUnjoinOfAnUnreachableMember(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "lost"})
	mustJoin(t, h, "lost", m)
	work(t, h, "karmada-es-lost", "settings", manifest("v1", "ConfigMap", "default", "settings"))
	if err := m.Kill(); err != nil {
		t.Fatal(err)
	}
	r := run(t, "muster", "unjoin", "lost", "--kubeconfig", h.Kubeconfig, "--force", "--wait", "20s")
	if r.code != 0 {
		t.Errorf("forced unjoin: status %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	h.awaitGone(t, "lost")
}
