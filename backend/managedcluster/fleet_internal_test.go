package managedcluster

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	"muster.dev/muster/backend/registration"
)

type settings = map[string]string

func TestBring(t *testing.T) {
	for name, c := range map[string]struct{ last, origin, mirror, want settings }{
		"new":                         {nil, settings{"a": "1"}, nil, settings{"a": "1"}},
		"changed":                     {settings{"a": "1"}, settings{"a": "2"}, settings{"a": "1"}, settings{"a": "2"}},
		"removed":                     {settings{"a": "1"}, nil, settings{"a": "1"}, settings{}},
		"nothing new":                 {settings{"a": "1"}, settings{"a": "1"}, settings{"a": "1"}, settings{"a": "1"}},
		"somebody's own stays":        {nil, nil, settings{"b": "x"}, settings{"b": "x"}},
		"somebody had it first":       {nil, settings{"a": "1"}, settings{"a": "x"}, settings{"a": "x"}},
		"somebody changed it":         {settings{"a": "1"}, settings{"a": "1"}, settings{"a": "x"}, settings{"a": "x"}},
		"somebody removed it":         {settings{"a": "1"}, settings{"a": "1"}, settings{}, settings{}},
		"both changed it":             {settings{"a": "1"}, settings{"a": "2"}, settings{"a": "x"}, settings{"a": "x"}},
		"removed there, changed here": {settings{"a": "1"}, nil, settings{"a": "x"}, settings{"a": "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, bring(c.last, c.origin, c.mirror)); diff != "" {
				t.Errorf("mirror (-want +got):\n%s", diff)
			}
		})
	}
}

// TestBringSettles changes origin and mirror at random: whatever happens, bringing
// twice is bringing once, and what nobody touches on the mirror follows the origin.
func TestBringSettles(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 1))
		last, origin, mirror, touched := settings{}, settings{}, settings{}, map[string]bool{}
		for range 40 {
			key, value := fmt.Sprint("k", random.IntN(4)), fmt.Sprint(random.IntN(3))
			side := origin
			if random.IntN(4) == 0 {
				side, touched[key] = mirror, true
			}
			if random.IntN(3) == 0 {
				delete(side, key)
			} else {
				side[key] = value
			}
			before := maps.Clone(mirror)
			mirror = bring(last, origin, mirror)
			for key, value := range before {
				if brought, ok := last[key]; (!ok || brought != value) && mirror[key] != value {
					t.Fatalf("seed %d: %s=%s was somebody else's and became %q", seed, key, value, mirror[key])
				}
			}
			last = maps.Clone(origin)
			if again := bring(last, origin, mirror); !maps.Equal(again, mirror) {
				t.Fatalf("seed %d: brought again, %v becomes %v", seed, mirror, again)
			}
		}
		for _, key := range []string{"k0", "k1", "k2", "k3"} {
			if !touched[key] && origin[key] != mirror[key] {
				t.Fatalf("seed %d: nobody touched %s, it is %q there and %q here", seed, key, origin[key], mirror[key])
			}
		}
	}
}

func clusterObject(origin string, goes bool) *clusterv1alpha1.Cluster {
	c := &clusterv1alpha1.Cluster{}
	mark(c, origin, goes)
	return c
}

func managedObject(origin string, goes, accepted bool) *ocmv1.ManagedCluster {
	m := &ocmv1.ManagedCluster{Spec: ocmv1.ManagedClusterSpec{HubAcceptsClient: accepted}}
	mark(m, origin, goes)
	return m
}

func mark(object metav1.Object, origin string, goes bool) {
	if origin != "" {
		object.SetAnnotations(settings{registration.AnnotationOrigin: origin})
	}
	if goes {
		now := metav1.Now()
		object.SetDeletionTimestamp(&now)
	}
}

func TestDecide(t *testing.T) {
	const ocm, karmada = registration.OriginOCM, registration.OriginKarmada
	for name, c := range map[string]struct {
		cluster *clusterv1alpha1.Cluster
		managed *ocmv1.ManagedCluster
		want    fleetStep
	}{
		"nothing":                           {nil, nil, stepNone},
		"not accepted yet":                  {nil, managedObject("", false, false), stepNone},
		"accepted":                          {nil, managedObject("", false, true), stepBringCluster},
		"accepted and going":                {nil, managedObject("", true, true), stepNone},
		"a karmada member":                  {clusterObject("", false), nil, stepBringManaged},
		"a karmada member going":            {clusterObject("", true), nil, stepNone},
		"denied: the cluster stays":         {clusterObject(ocm, false), managedObject("", false, false), stepBringCluster},
		"an ocm member with its mirror":     {clusterObject(ocm, false), managedObject("", false, true), stepBringCluster},
		"a karmada member with its mirror":  {clusterObject("", false), managedObject(karmada, false, true), stepBringManaged},
		"a mirror turned away by somebody":  {clusterObject("", false), managedObject(karmada, false, false), stepBringManaged},
		"both speak for themselves":         {clusterObject("", false), managedObject("", false, true), stepNone},
		"mirrors of each other":             {clusterObject(ocm, false), managedObject(karmada, false, true), stepNone},
		"an ocm member goes":                {clusterObject(ocm, false), managedObject("", true, true), stepDropCluster},
		"its cluster is deleted":            {clusterObject(ocm, true), managedObject("", false, true), stepRemoveManaged},
		"an ocm member has gone":            {clusterObject(ocm, false), nil, stepDropCluster},
		"a karmada member goes":             {clusterObject("", true), managedObject(karmada, false, true), stepDropManaged},
		"its managed cluster is deleted":    {clusterObject("", false), managedObject(karmada, true, true), stepRemoveCluster},
		"a karmada member has gone":         {nil, managedObject(karmada, false, true), stepDropManaged},
		"both of a karmada member go":       {clusterObject("", true), managedObject(karmada, true, true), stepDropManaged},
		"both of an ocm member go":          {clusterObject(ocm, true), managedObject("", true, true), stepDropCluster},
		"a karmada member of a denied name": {clusterObject("", false), managedObject("", false, false), stepNone},
	} {
		t.Run(name, func(t *testing.T) {
			if got := decide(c.cluster, c.managed); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestReadyOf(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	available := func(status metav1.ConditionStatus) []metav1.Condition {
		return []metav1.Condition{{Type: ocmv1.ConditionAvailable, Status: status, Reason: "r", Message: "m", LastTransitionTime: at}}
	}
	for name, c := range map[string]struct {
		accepted   bool
		conditions []metav1.Condition
		judged     bool
		want       string
	}{
		"never heard":          {true, nil, false, ""},
		"available":            {true, available("True"), false, "True ClusterReady"},
		"its API is down":      {true, available("False"), false, "False ClusterNotReachable"},
		"silent":               {true, available("Unknown"), true, "Unknown ClusterStatusUnknown"},
		"joins anew":           {true, nil, true, "Unknown ClusterStatusUnknown"},
		"denied, still heard":  {false, available("True"), true, "Unknown HubClusterAdminDenied"},
		"denied, never judged": {false, nil, false, "Unknown HubClusterAdminDenied"},
	} {
		t.Run(name, func(t *testing.T) {
			origin := &ocmv1.ManagedCluster{Spec: ocmv1.ManagedClusterSpec{HubAcceptsClient: c.accepted}, Status: ocmv1.ManagedClusterStatus{Conditions: c.conditions}}
			got := ""
			if ready := readyOf(origin, c.judged); ready != nil {
				got = string(ready.Status) + " " + ready.Reason
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestSystemsStayHome brings everything that must not go over from one dialect to
// the other, in both directions.
func TestSystemsStayHome(t *testing.T) {
	labels := settings{
		"tier": "edge", "example.com/team": "shop", "karmada.io/managed": "x", "cluster.karmada.io/x": "x",
		"feature.open-cluster-management.io/addon-a": "available", "muster.dev/x": "x", ocmv1.ClusterSetLabel: "blue",
	}
	managed := &ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: labels}, Spec: ocmv1.ManagedClusterSpec{HubAcceptsClient: true, Taints: []ocmv1.Taint{
		{Key: "gpu", Value: "yes", Effect: ocmv1.TaintEffectNoSelect}, {Key: "maybe", Effect: ocmv1.TaintEffectPreferNoSelect},
		{Key: ocmv1.UnreachableTaint, Effect: ocmv1.TaintEffectNoSelect}, {Key: "odd", Value: "no label value!", Effect: ocmv1.TaintEffectNoSelect},
	}}}
	cluster := newCluster("a")
	if err := bringToCluster(cluster, managed); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(settings{"tier": "edge", "example.com/team": "shop", ocmv1.ClusterSetLabel: "blue"}, cluster.Labels); diff != "" {
		t.Errorf("labels of the cluster (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]corev1.Taint{
		{Key: registration.TaintOtherDialect, Effect: corev1.TaintEffectNoSchedule}, {Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoSchedule},
	}, cluster.Spec.Taints); diff != "" {
		t.Errorf("taints of the cluster (-want +got):\n%s", diff)
	}

	member := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "b", Labels: labels}, Spec: clusterv1alpha1.ClusterSpec{Taints: []corev1.Taint{
		{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}, {Key: "out", Effect: corev1.TaintEffectNoExecute},
		{Key: clusterv1alpha1.TaintClusterNotReady, Effect: corev1.TaintEffectNoSchedule}, {Key: clusterv1alpha1.TaintClusterUnschedulable, Effect: corev1.TaintEffectNoSchedule},
	}}}
	mirror := newManaged("b")
	if err := bringToManaged(mirror, member); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(settings{"tier": "edge", "example.com/team": "shop"}, mirror.Labels); diff != "" {
		t.Errorf("labels of the managed cluster (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]ocmv1.Taint{{Key: "gpu", Effect: ocmv1.TaintEffectNoSelect}}, mirror.Spec.Taints); diff != "" {
		t.Errorf("taints of the managed cluster (-want +got):\n%s", diff)
	}
}

// TestReportsSettle reports the same twice: the second time changes nothing.
func TestReportsSettle(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	member := clusterObject("", false)
	member.Status.KubernetesVersion = "v1.36.3"
	meta.SetStatusCondition(&member.Status.Conditions, metav1.Condition{Type: "Ready", Status: "True", Reason: "ClusterReady", Message: "ok", LastTransitionTime: metav1.NewTime(now)})
	var first ocmv1.ManagedClusterStatus
	reportOfCluster(&first, member, now)
	second := *first.DeepCopy()
	reportOfCluster(&second, member, now.Add(time.Hour))
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("reported again (-first +second):\n%s", diff)
	}
	managed := managedObject("", false, false)
	var status clusterv1alpha1.ClusterStatus
	reportOfManaged(&status, managed, now)
	again := *status.DeepCopy()
	reportOfManaged(&again, managed, now.Add(time.Hour))
	if diff := cmp.Diff(status, again); diff != "" {
		t.Errorf("reported again (-first +second):\n%s", diff)
	}
}
