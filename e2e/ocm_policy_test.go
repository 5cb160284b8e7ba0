package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	"muster.dev/muster/backend/controlplane/controlplanetest"
)

// mixedFleet is a hub with a member of each dialect: pushName, that Karmada's join
// brought, and "east", whose agent speaks Open Cluster Management.
type mixedFleet struct {
	*hub
	town, east *controlplanetest.Member
}

func startMixedFleet(t *testing.T) *mixedFleet {
	t.Helper()
	f := &mixedFleet{hub: startHub(t)}
	f.town = controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: pushName, Nodes: 1})
	f.east = controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "east", Nodes: 1})
	mustJoin(t, f.hub, pushName, f.town)
	startKlusterlet(t, f.east, "east", ocmBootstrap(t, f.hub, ocmToken(t, f.hub)))
	eventually(t, "the agent has announced its cluster", func(context.Context) bool { return f.managedCluster(t, "east") != nil })
	f.accept(t, "east", true)
	f.awaitServed(t, "east")
	f.awaitReady(t, "east", metav1.ConditionTrue)
	return f
}

// policyOf places the Deployment shop on all clusters; tolerations are in YAML's flow form.
func (f *mixedFleet) policyOf(t *testing.T, tolerations string) {
	t.Helper()
	f.apply(t, fmt.Sprintf(`
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: shop, namespace: default}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: shop}]
  placement: {clusterTolerations: [%s]}
`, tolerations))
}

// awaitIn waits until a member's Deployment fits; nil is none.
func (f *mixedFleet) awaitIn(t *testing.T, m *controlplanetest.Member, what string, fits func(*appsv1.Deployment) bool) {
	t.Helper()
	eventually(t, "deployment shop in "+m.Name+": "+what, func(context.Context) bool { return fits(memberDeployment(t, m, "shop")) })
}

// TestOCMPolicy gives a member of Open Cluster Management what a PropagationPolicy
// places there: only if the policy says so, with its overrides, by a ManifestWork,
// and the template shows what became of it.
func TestOCMPolicy(t *testing.T) {
	t.Parallel()
	f := startMixedFleet(t)
	placed := func(want ...string) func(*unstructured.Unstructured) bool {
		return func(binding *unstructured.Unstructured) bool {
			clusters, _, _ := unstructured.NestedSlice(binding.Object, "spec", "clusters")
			got := map[string]bool{}
			for _, c := range clusters {
				if c, ok := c.(map[string]any); ok {
					got[fmt.Sprint(c["name"])] = true
				}
			}
			for _, name := range want {
				if !got[name] {
					return false
				}
			}
			return len(got) == len(want)
		}
	}
	kubectl(t, f.Kubeconfig, "create", "deployment", "shop", "--image", "nginx:1.0")
	f.policyOf(t, "")
	awaitObject(t, f.dynamic, "default", "shop-deployment", "placed on the Karmada member alone", placed(pushName))
	f.awaitIn(t, f.town, "there", func(d *appsv1.Deployment) bool { return d != nil })
	if d := memberDeployment(t, f.east, "shop"); d != nil {
		t.Error("a policy that does not ask for it reaches a member of the other dialect")
	}

	f.apply(t, `
apiVersion: policy.karmada.io/v1alpha1
kind: OverridePolicy
metadata: {name: shop, namespace: default}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: shop}]
  overrideRules:
  - targetCluster: {clusterNames: [east]}
    overriders: {imageOverrider: [{component: Tag, operator: replace, value: "2.0"}]}
`)
	f.policyOf(t, "{key: muster.dev/open-cluster-management, operator: Exists}")
	awaitObject(t, f.dynamic, "default", "shop-deployment", "placed on both", placed(pushName, "east"))
	image := func(want string) func(*appsv1.Deployment) bool {
		return func(d *appsv1.Deployment) bool { return d != nil && d.Spec.Template.Spec.Containers[0].Image == want }
	}
	f.awaitIn(t, f.east, "with its own image", image("nginx:2.0"))
	f.awaitIn(t, f.town, "with that of the template", image("nginx:1.0"))
	works := kubectl(t, f.Kubeconfig, "-n", "east", "get", "manifestworks", "-l", "muster.dev/relayed=true", "-o", "name")
	if len(strings.Fields(works)) != 1 {
		t.Errorf("the ManifestWorks of east are %q, want the one that carries the Work", works)
	}

	awaitTable(t, f.Kubeconfig, "shop", "0/1 2 0")
	runPods(t, f.east, "shop")
	awaitTable(t, f.Kubeconfig, "shop", "1/1 2 1")
	runPods(t, f.town, "shop")
	awaitTable(t, f.Kubeconfig, "shop", "2/1 2 2")
	awaitObject(t, f.dynamic, "default", "shop-deployment", "fully applied, and east healthy", func(binding *unstructured.Unstructured) bool {
		status, reason, _ := condition(binding, "FullyApplied")
		return status == "True" && reason == "FullyAppliedSuccess" && healthIn(binding, "east") == "Healthy" && healthIn(binding, pushName) == "Healthy"
	})

	kubectl(t, f.Kubeconfig, "scale", "deployment", "shop", "--replicas", "2")
	f.awaitIn(t, f.east, "scaled", func(d *appsv1.Deployment) bool { return d != nil && *d.Spec.Replicas == 2 })

	kubectl(t, f.Kubeconfig, "delete", "deployment", "shop")
	for _, m := range []*controlplanetest.Member{f.east, f.town} {
		f.awaitIn(t, m, "gone", func(d *appsv1.Deployment) bool { return d == nil })
	}
	eventually(t, "the ManifestWork is gone", func(ctx context.Context) bool {
		list, err := f.dynamic.Resource(manifestWorksResource).Namespace("east").List(ctx, metav1.ListOptions{})
		return err == nil && len(list.Items) == 0
	})
	f.awaitManaged(t, "east", ocmv1.ConditionAvailable, metav1.ConditionTrue, ocmv1.ReasonAvailable)
}

// healthIn is what a binding tells of its object in a cluster.
func healthIn(binding *unstructured.Unstructured, cluster string) string {
	items, _, _ := unstructured.NestedSlice(binding.Object, "status", "aggregatedStatus")
	for _, item := range items {
		if item, ok := item.(map[string]any); ok && item["clusterName"] == cluster {
			return fmt.Sprint(item["health"])
		}
	}
	return ""
}

// TestKarmadaMemberLeavesWithManifestWorks removes a member that Karmada's register
// brought, and that carries ManifestWorks besides: its agent takes their objects
// out of it before it goes, and nothing of either dialect is left.
func TestKarmadaMemberLeavesWithManifestWorks(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "west", Nodes: 1})
	startAgent(t, h, m, createToken(t, h), "--cluster-name", "west")
	h.awaitReady(t, "west", metav1.ConditionTrue)
	h.awaitManaged(t, "west", ocmv1.ConditionJoined, metav1.ConditionTrue, ocmv1.ReasonJoined)
	eventually(t, "the namespace of its ManifestWorks", func(ctx context.Context) bool {
		_, err := h.client.CoreV1().Namespaces().Get(ctx, "west", metav1.GetOptions{})
		return err == nil
	})
	h.giveSettings(t, "west", "carried")
	work(t, h, "karmada-es-west", "settings", manifest("v1", "ConfigMap", "default", "settings"))
	awaitSettings(t, m, "carried", true)
	awaitSettings(t, m, "settings", true)

	kubectl(t, h.Kubeconfig, "delete", "cluster", "west", "--timeout=180s")
	for _, name := range []string{"carried", "settings"} { // first the objects, then the cluster
		if _, err := m.Client.CoreV1().ConfigMaps("default").Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("config map %s outlived the cluster: %v", name, err)
		}
	}
	h.awaitGone(t, "west")
	eventually(t, "nothing is left in the other dialect", func(ctx context.Context) bool {
		list, err := h.dynamic.Resource(manifestWorksResource).Namespace("west").List(ctx, metav1.ListOptions{})
		return h.managedCluster(t, "west") == nil && (apierrors.IsNotFound(err) || err == nil && len(list.Items) == 0)
	})
	eventually(t, "the namespace that the other dialect needed goes, too", func(ctx context.Context) bool {
		_, err := h.client.CoreV1().Namespaces().Get(ctx, "west", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}
