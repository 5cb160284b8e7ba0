package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/httpapi"
	"muster.dev/muster/backend/registration"
)

// created is when the clusters of these tests were made.
var created = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func someRows() []*Cluster {
	return []*Cluster{
		{Name: "b-2", State: StateReady, Mode: "Push", Dialect: "karmada", Region: "eu", Provider: "acme", Version: "v1.9.0", Labels: map[string]string{"tier": "edge"}, CreatedAt: created},
		{Name: "a-1", State: StateFailed, Mode: "Pull", Dialect: "ocm", Region: "us", Version: "v1.36.3", CreatedAt: created.Add(time.Hour), CPU: &Usage{1000, 900}},
		{Name: "c-3", State: StateReady, Mode: "Pull", Dialect: "karmada", Region: "eu", Version: "v1.36.10", CreatedAt: created.Add(time.Minute), CPU: &Usage{1000, 100}, Zones: []string{"Paris"}},
	}
}

func names(rows []Cluster) string {
	list := []string{}
	for _, row := range rows {
		list = append(list, row.Name)
	}
	return strings.Join(list, " ")
}

func TestQuery(t *testing.T) {
	tests := []struct {
		name  string
		query Query
		want  string
	}{
		{"all by name", Query{}, "a-1 b-2 c-3"},
		{"descending", Query{Sort: "-name"}, "c-3 b-2 a-1"},
		{"youngest first", Query{Sort: "age"}, "a-1 c-3 b-2"},
		{"worst first", Query{Sort: "state"}, "a-1 b-2 c-3"},
		{"versions as numbers", Query{Sort: "version"}, "b-2 a-1 c-3"},
		{"unknown use comes first", Query{Sort: "cpu"}, "b-2 c-3 a-1"},
		{"state", Query{States: []string{"ready"}}, "b-2 c-3"},
		{"states", Query{States: []string{"failed", "unknown"}}, "a-1"},
		{"mode", Query{Mode: "Pull"}, "a-1 c-3"},
		{"dialect", Query{Dialect: "ocm"}, "a-1"},
		{"other dialect first", Query{Sort: "-dialect"}, "a-1 c-3 b-2"},
		{"region", Query{Region: []string{"eu", "asia"}}, "b-2 c-3"},
		{"provider", Query{Provider: []string{"acme"}}, "b-2"},
		{"label", Query{Label: "tier in (edge)"}, "b-2"},
		{"no label", Query{Label: "!tier"}, "a-1 c-3"},
		{"text in name", Query{Text: "C-"}, "c-3"},
		{"text in zone", Query{Text: " paris "}, "c-3"},
		{"text in version", Query{Text: "1.36"}, "a-1 c-3"},
		{"nothing", Query{Text: "nothing"}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.query.Limit = 10
			if err := test.query.prepare(); err != nil {
				t.Fatal(err)
			}
			listing := test.query.apply(someRows())
			if got := names(listing.Rows); got != test.want || listing.Total != len(listing.Rows) || listing.Next != nil {
				t.Errorf("got %q of %d, want %q", got, listing.Total, test.want)
			}
		})
	}
}

func TestQueryCountsWhateverTheState(t *testing.T) {
	query := Query{States: []string{"failed"}, Region: []string{"eu"}, Limit: 10}
	if err := query.prepare(); err != nil {
		t.Fatal(err)
	}
	listing := query.apply(someRows())
	if diff := cmp.Diff(Counts{Ready: 2}, listing.Counts); diff != "" || listing.Total != 0 {
		t.Errorf("total %d, counts (-want +got):\n%s", listing.Total, diff)
	}
}

func TestQueryPagesMeetEveryRowOnce(t *testing.T) {
	var rows []*Cluster
	for i := range 100 {
		rows = append(rows, &Cluster{Name: fmt.Sprintf("c-%02d", i), Region: fmt.Sprint(i % 3), State: States[i%len(States)], CreatedAt: created.Add(time.Duration(i%7) * time.Minute)})
	}
	for _, sort := range []string{"name", "-name", "region", "-region", "state", "age", "-age", "cpu"} {
		var seen []string
		query := Query{Sort: sort, Limit: 7}
		for {
			if err := query.prepare(); err != nil {
				t.Fatal(err)
			}
			listing := query.apply(rows)
			for _, row := range listing.Rows {
				seen = append(seen, row.Name)
			}
			if listing.Next == nil {
				break
			}
			query.After = *listing.Next
		}
		if unique := slices.Compact(slices.Sorted(slices.Values(seen))); len(seen) != 100 || len(unique) != 100 {
			t.Errorf("%s: %d rows, %d different", sort, len(seen), len(unique))
		}
	}
}

func TestQueryRefuses(t *testing.T) {
	for name, query := range map[string]Query{
		"state":  {States: []string{"fine"}},
		"mode":   {Mode: "push"},
		"speech": {Dialect: "cobol"},
		"sort":   {Sort: "password"},
		"label":  {Label: "a in"},
		"cursor": {Sort: "age", After: httpapi.Position{Sort: "name", Key: "a"}},
	} {
		if err := query.prepare(); !fault.Is(err, fault.KindInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// object is a healthy pull cluster; change makes it another.
func object(change func(*clusterv1alpha1.Cluster)) *clusterv1alpha1.Cluster {
	cluster := &clusterv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "a", CreationTimestamp: metav1.NewTime(created)},
		Spec:       clusterv1alpha1.ClusterSpec{SyncMode: clusterv1alpha1.Pull},
		Status: clusterv1alpha1.ClusterStatus{
			NodeSummary: &clusterv1alpha1.NodeSummary{TotalNum: 3, ReadyNum: 3},
			Conditions: []metav1.Condition{
				{Type: "CompleteAPIEnablements", Status: "True", Reason: "Complete"},
				{Type: "Ready", Status: "True", Reason: "ClusterReady", LastTransitionTime: metav1.NewTime(created)},
			},
		},
	}
	change(cluster)
	return cluster
}

func TestStateOfACluster(t *testing.T) {
	condition := func(i int, status metav1.ConditionStatus, reason, message string) func(*clusterv1alpha1.Cluster) {
		return func(c *clusterv1alpha1.Cluster) {
			c.Status.Conditions[i].Status, c.Status.Conditions[i].Reason, c.Status.Conditions[i].Message = status, reason, message
		}
	}
	deleted := metav1.NewTime(created)
	tests := []struct {
		name   string
		change func(*clusterv1alpha1.Cluster)
		state  State
		reason string
	}{
		{"ready", func(*clusterv1alpha1.Cluster) {}, StateReady, ""},
		{"new", func(c *clusterv1alpha1.Cluster) { c.Status = clusterv1alpha1.ClusterStatus{} }, StateJoining, "NoStatusYet"},
		{"silent", condition(1, "Unknown", "ClusterStatusUnknown", "no word"), StateUnknown, "ClusterStatusUnknown"},
		{"unreachable", condition(1, "False", "ClusterNotReachable", "refused"), StateFailed, "ClusterNotReachable"},
		{"incomplete", condition(0, "False", "Partial", "metrics.k8s.io does not answer"), StateDegraded, "Partial"},
		{"node lost", func(c *clusterv1alpha1.Cluster) { c.Status.NodeSummary.ReadyNum = 2 }, StateDegraded, "NodesNotReady"},
		{"going", func(c *clusterv1alpha1.Cluster) {
			c.DeletionTimestamp = &deleted
			c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{Type: ConditionRemoving, Status: "True", Reason: ReasonWaitingForWorks, Message: "2 works"})
		}, StateRemoving, ReasonWaitingForWorks},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			row := fromObject(object(test.change))
			if row.State != test.state || row.Reason != test.reason {
				t.Errorf("got %s (%s: %s), want %s (%s)", row.State, row.Reason, row.Message, test.state, test.reason)
			}
			if (row.Removal != nil) != (test.state == StateRemoving) {
				t.Errorf("removal is %+v", row.Removal)
			}
		})
	}
}

// TestRowOfAnOCMMember shows no use of what nobody measures.
func TestRowOfAnOCMMember(t *testing.T) {
	row := fromObject(object(func(c *clusterv1alpha1.Cluster) {
		c.Annotations = map[string]string{registration.AnnotationOrigin: registration.OriginOCM}
		c.Status.NodeSummary, c.Status.ResourceSummary = nil, &clusterv1alpha1.ResourceSummary{Allocatable: corev1.ResourceList{"cpu": resource.MustParse("4")}}
	}))
	if row.Dialect != "ocm" || row.Agent != "ocm" || row.CPU != nil || row.Nodes != nil || row.State != StateReady {
		t.Errorf("row is %+v", row)
	}
}

func TestRowOfACluster(t *testing.T) {
	row := fromObject(object(func(c *clusterv1alpha1.Cluster) {
		c.Annotations = map[string]string{registration.AnnotationAgent: registration.AgentMuster}
		c.Spec.Zone, c.Spec.ProxyURL = "z1", "http://user:pass@proxy.example:3128"
		c.Spec.Taints = []corev1.Taint{{Key: clusterv1alpha1.TaintClusterUnschedulable, Effect: corev1.TaintEffectNoSchedule}}
		c.Status.ResourceSummary = &clusterv1alpha1.ResourceSummary{
			Allocatable: corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi")},
			Allocated:   corev1.ResourceList{"cpu": resource.MustParse("1500m"), "memory": resource.MustParse("1Gi")},
		}
		c.Status.KubernetesVersion = "v1.36.3\x1b[31m"
	}))
	if row.Agent != "muster" || row.Zones[0] != "z1" || !row.Cordoned || row.Version != "v1.36.3" || row.Pods != nil {
		t.Errorf("row is %+v", row)
	}
	if diff := cmp.Diff([]*Usage{{4000, 1500}, {8 << 30, 1 << 30}}, []*Usage{row.CPU, row.Memory}); diff != "" {
		t.Errorf("use (-want +got):\n%s", diff)
	}
	if strings.Contains(row.ProxyURL, "pass") {
		t.Errorf("the row shows a password: %s", row.ProxyURL)
	}
}
