package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmv1beta1 "muster.dev/muster/backend/apis/ocm/cluster/v1beta1"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	ocmworkv1alpha1 "muster.dev/muster/backend/apis/ocm/work/v1alpha1"
	"muster.dev/muster/backend/controlplane/controlplanetest"
)

var (
	placementsResource  = ocmv1beta1.GroupVersion.WithResource("placements")
	decisionsResource   = ocmv1beta1.GroupVersion.WithResource("placementdecisions")
	replicaSetsResource = ocmworkv1alpha1.GroupVersion.WithResource("manifestworkreplicasets")
)

// rolloutPlacement chooses at first one cluster: the one with the most CPUs.
const rolloutPlacement = `
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSet
metadata: {name: shops}
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: shops, namespace: default}
spec: {clusterSet: shops}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: live, namespace: default}
spec:
  clusterSets: [shops]
  numberOfClusters: 1
  predicates: [{requiredClusterSelector: {labelSelector: {matchLabels: {stage: live}}}}]
  prioritizerPolicy: {mode: Exact, configurations: [{scoreCoordinate: {builtIn: ResourceAllocatableCPU}, weight: 1}]}
  tolerations: [{key: example.com/repairs, operator: Equal, value: planned, effect: NoSelect}]
  decisionStrategy:
    groupStrategy:
      decisionGroups: [{groupName: canary, groupClusterSelector: {labelSelector: {matchLabels: {tier: canary}}}}]
`

// rolloutSet carries a ConfigMap of its name, which counts as degraded while its
// colour is black.
const rolloutSet = `
apiVersion: work.open-cluster-management.io/v1alpha1
kind: ManifestWorkReplicaSet
metadata: {name: NAME, namespace: default, labels: {team: paint}}
spec:
  cascadeDeletionPolicy: Foreground
  placementRefs: [{name: live, rolloutStrategy: {type: Progressive, progressive: {STRATEGY}}}]
  manifestWorkTemplate:
    workload:
      manifests:
      - {apiVersion: v1, kind: ConfigMap, metadata: {name: NAME, namespace: default}, data: {colour: COLOUR}}
    manifestConfigs:
    - resourceIdentifier: {group: "", resource: configmaps, namespace: default, name: NAME}
      conditionRules:
      - {condition: Degraded, type: CEL, celExpressions: ["object.data.colour == 'black'"], message: it is black}
`

// rollout is a hub with a member of each dialect and a replica set that goes over
// them: "west" is a pull member of Karmada's register, the larger one, "east" has
// the agents of Open Cluster Management. "far" is accepted and has no agent.
type rollout struct {
	*hub
	members map[string]*controlplanetest.Member
}

func startRollout(t *testing.T) *rollout {
	t.Helper()
	f := &rollout{hub: startHub(t), members: map[string]*controlplanetest.Member{}}
	f.members["east"] = controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "east", Nodes: 1})
	f.members["west"] = controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "west", Nodes: 2})
	startKlusterlet(t, f.members["east"], "east", ocmBootstrap(t, f.hub, ocmToken(t, f.hub)))
	startAgent(t, f.hub, f.members["west"], createToken(t, f.hub), "--cluster-name", "west")
	f.letIn(t, "east")
	f.awaitReady(t, "west", metav1.ConditionTrue)
	f.apply(t, "{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: far}, spec: {hubAcceptsClient: true}}")
	for _, name := range []string{"east", "west", "far"} {
		eventually(t, name+" is there", func(context.Context) bool { return f.managedCluster(t, name) != nil })
		kubectl(t, f.Kubeconfig, "label", "managedcluster", name, ocmv1.ClusterSetLabel+"=shops", "stage=live", "--overwrite")
	}
	kubectl(t, f.Kubeconfig, "label", "managedcluster", "west", "tier=canary")
	for name, cpus := range map[string]string{"east": "4", "west": "8"} {
		f.awaitManaged(t, name, ocmv1.ConditionAvailable, metav1.ConditionTrue, ocmv1.ReasonAvailable)
		eventually(t, name+" tells its CPUs, and has no taint of the hub's", func(context.Context) bool {
			cluster := f.managedCluster(t, name)
			cpu := cluster.Status.Allocatable["cpu"]
			return cpu.String() == cpus && len(cluster.Spec.Taints) == 0
		})
	}
	kubectl(t, f.Kubeconfig, "patch", "managedcluster", "west", "--type=merge",
		`-p={"spec":{"taints":[{"key":"example.com/repairs","value":"planned","effect":"NoSelect"}]}}`)
	return f
}

// awaitDecided waits until the placement has decided: "canary=west =east".
func (f *rollout) awaitDecided(t *testing.T, want string) {
	t.Helper()
	var got string
	defer func() {
		if t.Failed() {
			t.Logf("decided %q, want %q", got, want)
		}
	}()
	eventually(t, "the placement decides "+want, func(ctx context.Context) bool {
		list, err := f.dynamic.Resource(decisionsResource).Namespace("default").List(ctx, metav1.ListOptions{LabelSelector: ocmv1beta1.PlacementLabel + "=live"})
		if err != nil {
			return false
		}
		var groups []string
		for _, item := range list.Items {
			decisions, _, _ := unstructured.NestedSlice(item.Object, "status", "decisions")
			for _, d := range decisions {
				if d, ok := d.(map[string]any); ok {
					groups = append(groups, fmt.Sprintf("%s=%s", item.GetLabels()[ocmv1beta1.DecisionGroupNameLabel], d["clusterName"]))
				}
			}
		}
		slices.Sort(groups)
		got = strings.Join(groups, " ")
		return got == want
	})
}

// give applies a replica set, or another colour or strategy of it.
func (f *rollout) give(t *testing.T, name, strategy, colour string) {
	t.Helper()
	f.apply(t, strings.NewReplacer("NAME", name, "STRATEGY", strategy, "COLOUR", colour).Replace(rolloutSet))
}

// awaitSet waits until the status of a replica set fits.
func (f *rollout) awaitSet(t *testing.T, name, what string, fits func(*ocmworkv1alpha1.ManifestWorkReplicaSetStatus) bool) {
	t.Helper()
	set := &ocmworkv1alpha1.ManifestWorkReplicaSet{}
	defer func() {
		if t.Failed() {
			t.Logf("status of %s: %+v", name, set.Status)
		}
	}()
	eventually(t, "replica set "+name+": "+what, func(ctx context.Context) bool {
		object, err := f.dynamic.Resource(replicaSetsResource).Namespace("default").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		*set = ocmworkv1alpha1.ManifestWorkReplicaSet{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, set); err != nil {
			t.Fatal(err)
		}
		return fits(&set.Status)
	})
}

type rolloutStatus = ocmworkv1alpha1.ManifestWorkReplicaSetStatus

// over is a rollout that is on so many clusters, all of them well.
func over(clusters int) func(*rolloutStatus) bool {
	return func(status *rolloutStatus) bool {
		want := ocmworkv1alpha1.ManifestWorkReplicaSetSummary{Total: clusters, DesiredTotal: clusters, Updated: clusters, Applied: clusters, Available: clusters}
		return meta.IsStatusConditionTrue(status.Conditions, ocmworkv1alpha1.ConditionPlacementRolledOut) &&
			meta.IsStatusConditionTrue(status.Conditions, ocmworkv1alpha1.ConditionManifestworkApplied) && status.Summary == want &&
			len(status.PlacementsSummary) == 1 && status.PlacementsSummary[0].Summary == want
	}
}

// stopped is a rollout that ended before its time.
func stopped(why string, want ocmworkv1alpha1.ManifestWorkReplicaSetSummary) func(*rolloutStatus) bool {
	return func(status *rolloutStatus) bool {
		rolled := meta.FindStatusCondition(status.Conditions, ocmworkv1alpha1.ConditionPlacementRolledOut)
		return rolled != nil && rolled.Status == metav1.ConditionFalse && rolled.Message == why && status.Summary == want
	}
}

// awaitColour waits until a member's ConfigMap has a colour; none: until it is gone.
func (f *rollout) awaitColour(t *testing.T, member, name, colour string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s in %s is %q", name, member, colour), func(ctx context.Context) bool {
		settings, err := f.members[member].Client.CoreV1().ConfigMaps("default").Get(ctx, name, metav1.GetOptions{})
		if colour == "" {
			return apierrors.IsNotFound(err)
		}
		return err == nil && settings.Data["colour"] == colour
	})
}

// workChange is a ManifestWork as a watch showed it.
type workChange struct {
	cluster, colour string
	told            time.Time // when the hub wrote the colour, to the second
	well            bool      // applied, available and not degraded, as it is now
	since           time.Time
}

func (c workChange) String() string { return fmt.Sprintf("%s %s well=%t", c.cluster, c.colour, c.well) }

// history is what became of the works of a replica set, in order.
type history struct {
	mu      sync.Mutex
	changes []workChange
}

// follow begins to write a replica set's history.
func (f *rollout) follow(t *testing.T, name string) *history {
	t.Helper()
	events, err := f.dynamic.Resource(manifestWorksResource).Watch(t.Context(), metav1.ListOptions{LabelSelector: ocmworkv1alpha1.ReplicaSetLabel + "=default." + name})
	if err != nil {
		t.Fatal(err)
	}
	h, ended := &history{}, make(chan struct{})
	go func() {
		defer close(ended)
		for event := range events.ResultChan() {
			if event.Type == watch.Added || event.Type == watch.Modified {
				h.note(t, event.Object)
			}
		}
	}()
	t.Cleanup(func() {
		events.Stop()
		<-ended
		if t.Failed() {
			t.Logf("history of %s: %v", name, h.all())
		}
	})
	return h
}

func (h *history) note(t *testing.T, object runtime.Object) {
	work := &ocmworkv1.ManifestWork{}
	plain, ok := object.(*unstructured.Unstructured)
	if !ok || runtime.DefaultUnstructuredConverter.FromUnstructured(plain.Object, work) != nil {
		t.Errorf("a watch shows %T", object)
		return
	}
	var settings struct{ Data map[string]string }
	if err := json.Unmarshal(work.Spec.Workload.Manifests[0].Raw, &settings); err != nil {
		t.Error(err)
	}
	change := workChange{cluster: work.Namespace, colour: settings.Data["colour"], well: true}
	change.told, _ = time.Parse(time.RFC3339, work.Annotations["muster.dev/told-at"])
	for kind, want := range map[string]metav1.ConditionStatus{
		ocmworkv1.ConditionApplied: metav1.ConditionTrue, ocmworkv1.ConditionAvailable: metav1.ConditionTrue, ocmworkv1.ConditionDegraded: metav1.ConditionFalse,
	} {
		found := work.CurrentCondition(kind)
		if found == nil || found.Status != want {
			change.well = false
		} else if found.LastTransitionTime.After(change.since) {
			change.since = found.LastTransitionTime.Time
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changes = append(h.changes, change)
}

func (h *history) all() []workChange {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.changes)
}

// inTurn checks that a cluster was given a colour only when another one had been
// well with it for so long.
func (h *history) inTurn(t *testing.T, colour, first, second string, soak time.Duration) {
	t.Helper()
	h.await(t, second, colour)
	var before workChange
	for _, change := range h.all() {
		switch {
		case change.cluster == first:
			before = change
		case change.cluster == second && change.colour == colour:
			if before.colour != colour || !before.well {
				t.Errorf("%s got %s when %s was at %q", second, colour, first, before)
			}
			if since := later(before.since, before.told); change.told.Sub(since) < soak {
				t.Errorf("%s got %s at %s, %s was well since %s, want %s between", second, colour, change.told, first, since, soak)
			}
			return
		}
	}
}

// await waits until the watch, which may be behind what is known from elsewhere, has
// shown a colour in a cluster.
func (h *history) await(t *testing.T, cluster, colour string) {
	t.Helper()
	eventually(t, fmt.Sprintf("the watch shows %q in %s", colour, cluster), func(context.Context) bool {
		return slices.ContainsFunc(h.all(), func(c workChange) bool { return c.cluster == cluster && c.colour == colour })
	})
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// never checks that a cluster was not given a colour.
func (h *history) never(t *testing.T, cluster, colour string) {
	t.Helper()
	if slices.ContainsFunc(h.all(), func(c workChange) bool { return c.cluster == cluster && c.colour == colour }) {
		t.Errorf("%s was given %s", cluster, colour)
	}
}

// TestOCMRollout takes a replica set over a member of each dialect, one after the
// other: which clusters, in which order, what is told of it, what stops it, who
// leaves, and how it ends (contract ocm.md sections 1.4 and 1.5).
func TestOCMRollout(t *testing.T) {
	t.Parallel()
	f := startRollout(t)
	f.apply(t, rolloutPlacement)
	f.awaitDecided(t, "canary=west") // has more CPUs, and its taint is tolerated
	kubectl(t, f.Kubeconfig, "patch", "placement", "live", "--type=merge", `-p={"spec":{"numberOfClusters":3}}`)
	f.awaitDecided(t, "=east canary=west") // far is unreachable, and nobody tolerates that
	awaitPlacement(t, f.hub, "live", 2)

	const canaryFirst = "maxConcurrency: 1, minSuccessTime: 2s, mandatoryDecisionGroups: [{groupName: canary}]"
	shop := f.follow(t, "shop")
	f.give(t, "shop", canaryFirst, "green")
	f.awaitSet(t, "shop", "rolled out", over(2))
	for _, member := range []string{"east", "west"} {
		f.awaitColour(t, member, "shop", "green")
		if team := kubectl(t, f.Kubeconfig, "-n", member, "get", "manifestwork", "shop", "-o", "jsonpath={.metadata.labels.team}"); team != "paint" {
			t.Errorf("the work of %s has the team %q, its replica set's is paint", member, team)
		}
	}
	shop.inTurn(t, "green", "west", "east", 2*time.Second)
	table := strings.Fields(kubectl(t, f.Kubeconfig, "get", "mwrs", "shop", "--no-headers"))
	if diff := cmp.Diff([]string{"shop", "AsExpected", "True", "AsExpected", "True"}, table); diff != "" {
		t.Error(diff)
	}

	f.give(t, "shop", canaryFirst, "blue")
	f.awaitColour(t, "east", "shop", "blue")
	f.awaitColour(t, "west", "shop", "blue")
	f.awaitSet(t, "shop", "rolled out again", over(2))
	shop.inTurn(t, "blue", "west", "east", 2*time.Second)

	f.give(t, "shop", canaryFirst, "black")
	f.awaitSet(t, "shop", "stopped by the canary", stopped("the rollout stopped: placement live: 1 of 2 clusters failed, and 0 may",
		ocmworkv1alpha1.ManifestWorkReplicaSetSummary{Total: 2, DesiredTotal: 2, Updated: 1, Applied: 1, Available: 2, Degraded: 1}))
	f.give(t, "shop", canaryFirst, "red")
	f.awaitSet(t, "shop", "mended", over(2))
	shop.inTurn(t, "red", "west", "east", 2*time.Second)
	shop.never(t, "east", "black")

	rolloutFailures(t, f)
	rolloutLeaving(t, f)
}

func awaitPlacement(t *testing.T, h *hub, name string, clusters int64) {
	t.Helper()
	eventually(t, "placement "+name+" is satisfied", func(ctx context.Context) bool {
		object, err := h.dynamic.Resource(placementsResource).Namespace("default").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		count, _, _ := unstructured.NestedInt64(object.Object, "status", "numberOfSelectedClusters")
		status, _, _ := condition(object, "PlacementSatisfied")
		return count == clusters && status == string(metav1.ConditionFalse) // three are wanted
	})
}

// rolloutFailures takes something bad over clusters of which none comes first, of
// which none, and then one, may fail.
func rolloutFailures(t *testing.T, f *rollout) {
	t.Helper()
	bold := f.follow(t, "bold")
	f.give(t, "bold", "maxConcurrency: 1, maxFailures: 0", "black")
	f.awaitSet(t, "bold", "stopped by the first", stopped("the rollout stopped: placement live: 1 of 2 clusters failed, and 0 may",
		ocmworkv1alpha1.ManifestWorkReplicaSetSummary{Total: 1, DesiredTotal: 2, Updated: 1, Applied: 1, Available: 1, Degraded: 1}))
	f.give(t, "bold", "maxConcurrency: 1, maxFailures: 50%", "black")
	f.awaitSet(t, "bold", "stopped by the second", stopped("the rollout stopped: placement live: 2 of 2 clusters failed, and 1 may",
		ocmworkv1alpha1.ManifestWorkReplicaSetSummary{Total: 2, DesiredTotal: 2, Updated: 2, Applied: 2, Available: 2, Degraded: 2}))
	f.give(t, "bold", "maxConcurrency: 1", "white")
	f.awaitSet(t, "bold", "mended", over(2))
	bold.inTurn(t, "white", "west", "east", 0) // in the order of their groups
	kubectl(t, f.Kubeconfig, "delete", "mwrs", "bold", "--timeout=180s")
	f.awaitColour(t, "east", "bold", "")
	f.awaitColour(t, "west", "bold", "")
}

// rolloutLeaving takes each cluster out of the placement and back in, and deletes
// the replica set.
func rolloutLeaving(t *testing.T, f *rollout) {
	t.Helper()
	kubectl(t, f.Kubeconfig, "label", "managedcluster", "east", "stage-")
	f.awaitDecided(t, "canary=west")
	f.awaitColour(t, "east", "shop", "")
	f.awaitSet(t, "shop", "on west alone", over(1))
	f.awaitColour(t, "west", "shop", "red")
	kubectl(t, f.Kubeconfig, "label", "managedcluster", "east", "stage=live")
	f.awaitSet(t, "shop", "on both again", over(2))
	f.awaitColour(t, "east", "shop", "red")
	kubectl(t, f.Kubeconfig, "label", "managedcluster", "west", "stage=test", "--overwrite")
	f.awaitColour(t, "west", "shop", "")
	f.awaitSet(t, "shop", "on east alone", over(1))
	kubectl(t, f.Kubeconfig, "label", "managedcluster", "west", "stage=live", "--overwrite")
	f.awaitSet(t, "shop", "on both once more", over(2))

	kubectl(t, f.Kubeconfig, "delete", "mwrs", "shop", "--timeout=180s") // which waits for the works, and these for their objects
	for name, m := range f.members {
		if _, err := m.Client.CoreV1().ConfigMaps("default").Get(t.Context(), "shop", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("the object in %s outlived its replica set: %v", name, err)
		}
	}
	list, err := f.dynamic.Resource(manifestWorksResource).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) > 0 {
		t.Errorf("works outlived their replica set: %v", names(list))
	}
}
