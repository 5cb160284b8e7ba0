package handshake

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

func TestClaimsThatAreTold(t *testing.T) {
	t.Parallel()
	all := map[string]claim{"z": {value: "1"}, "a": {value: "2"}, "m": {value: "3"}, "platform.open-cluster-management.io": {value: "Other"}, "id.k8s.io": {value: "x"},
		"own": {value: "4", spokeOnly: true}, "empty": {}, "ours.example.io": {value: "5"}}
	for name, c := range map[string]struct {
		claims Claims
		want   string
	}{
		"all":         {Claims{Max: 20}, "id.k8s.io platform.open-cluster-management.io a m ours.example.io z"},
		"few":         {Claims{Max: 2}, "id.k8s.io platform.open-cluster-management.io a m"},
		"none custom": {Claims{Max: 0}, "id.k8s.io platform.open-cluster-management.io"},
		"a suffix":    {Claims{Max: 1, ReservedSuffixes: []string{".example.io", ""}}, "id.k8s.io ours.example.io platform.open-cluster-management.io a"},
	} {
		var names []string
		for _, told := range c.claims.tell(all) {
			names = append(names, told.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	yes, no, now := true, false, time.Unix(1000, 0)
	good := observation{healthy: &yes, version: "v1.36.3", capacity: corev1.ResourceList{"cpu": resource.MustParse("4")}, allocatable: corev1.ResourceList{"cpu": resource.MustParse("3")},
		claims: []ocmv1.ManagedClusterClaim{{Name: "a", Value: "b"}}, namespaces: map[string]string{"n": "no room"}}
	accepted := metav1.Condition{Type: ocmv1.ConditionHubAccepted, Status: metav1.ConditionTrue}
	for name, c := range map[string]struct {
		conditions []metav1.Condition
		seen       observation
		turned     *rotation
		want       string // conditions beside those of the hub
		version    string
	}{
		"not accepted":      {nil, good, nil, "", ""},
		"denied":            {[]metav1.Condition{{Type: ocmv1.ConditionHubAccepted, Status: metav1.ConditionFalse}}, good, nil, "", ""},
		"clock out of sync": {[]metav1.Condition{accepted, {Type: ocmv1.ConditionClockSynced, Status: metav1.ConditionFalse}}, good, nil, "", ""},
		"not seen, yet":     {[]metav1.Condition{accepted}, observation{}, nil, "ManagedClusterJoined=True/ManagedClusterJoined", ""},
		"well":              {[]metav1.Condition{accepted}, good, nil, "ManagedClusterJoined=True/ManagedClusterJoined ManagedClusterConditionAvailable=True/ManagedClusterAvailable", "v1.36.3"},
		"not well": {[]metav1.Condition{accepted}, observation{healthy: &no, problem: "p", version: "v1"}, nil,
			"ManagedClusterJoined=True/ManagedClusterJoined ManagedClusterConditionAvailable=False/ManagedClusterKubeAPIServerUnavailable", ""},
		"renewed": {[]metav1.Condition{accepted}, observation{}, &rotation{}, "ManagedClusterJoined=True/ManagedClusterJoined ClusterCertificateRotated=True/ClientCertificateUpdated", ""},
		"not renewed": {[]metav1.Condition{accepted}, observation{}, &rotation{problem: "no"},
			"ManagedClusterJoined=True/ManagedClusterJoined ClusterCertificateRotated=False/ClientCertificateUpdateFailed", ""},
	} {
		cluster := &ocmv1.ManagedCluster{Status: ocmv1.ManagedClusterStatus{Conditions: c.conditions, ManagedNamespaces: []ocmv1.ClusterSetManagedNamespace{{Name: "n", ClusterSet: "s"}}}}
		status := report(cluster, c.seen, c.turned, now)
		var got []string
		for _, condition := range status.Conditions {
			if condition.Type != ocmv1.ConditionHubAccepted && condition.Type != ocmv1.ConditionClockSynced {
				got = append(got, condition.Type+"="+string(condition.Status)+"/"+condition.Reason)
			}
		}
		if text := strings.Join(got, " "); text != c.want || status.Version.Kubernetes != c.version {
			t.Errorf("%s: %s, version %s", name, text, status.Version.Kubernetes)
		}
	}
	cluster := &ocmv1.ManagedCluster{}
	cluster.UID, cluster.ResourceVersion = "u", "7"
	cluster.Status.Conditions = []metav1.Condition{accepted}
	cluster.Status.Capacity = corev1.ResourceList{"theirs": resource.MustParse("1"), "cpu": resource.MustParse("2")}
	cluster.Status.ManagedNamespaces = []ocmv1.ClusterSetManagedNamespace{{Name: "n", ClusterSet: "s"}}
	status := report(cluster, good, nil, now)
	if status.Capacity.Cpu().String() != "4" || len(status.Capacity) != 2 || len(status.Allocatable) != 1 {
		t.Errorf("%v, %v", status.Capacity, status.Allocatable)
	}
	if c := meta.FindStatusCondition(status.ManagedNamespaces[0].Conditions, "NamespaceAvailable"); c == nil || c.Reason != "NamespaceApplyFailed" || c.Message != "no room" {
		t.Errorf("%+v", c)
	}
	same := cluster.DeepCopy()
	same.Status = *status
	if patch, err := statusPatch(same, report(same, good, nil, now.Add(time.Hour))); err != nil || patch != nil {
		t.Errorf("a second report writes %s, %v", patch, err)
	}
	patch, err := statusPatch(cluster, status)
	if err != nil || !strings.Contains(string(patch), `"metadata":{"resourceVersion":"7","uid":"u"}`) {
		t.Errorf("%s, %v", patch, err)
	}
}

func TestIdentityThatDoes(t *testing.T) {
	t.Parallel()
	hub := Stanza{Name: "hub", Server: "https://h", CA: []byte("ca")}
	for want, b := range map[string]Stanza{
		"":                            hub,
		"the hub has another address": {Name: "hub", Server: "https://i", CA: []byte("ca")},
		"the hub has another proxy":   {Name: "hub", Server: "https://h", CA: []byte("ca"), Proxy: "http://p"},
		"the hub has another CA":      {Name: "hub", Server: "https://h", CA: []byte("cb")},
		"the hub has another name in the kubeconfig": {Name: "other", Server: "https://h", CA: []byte("ca")},
	} {
		if got := hub.differs(b); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAddonByLease(t *testing.T) {
	t.Parallel()
	now := time.Unix(10_000, 0)
	for want, c := range map[string]struct {
		found bool
		age   time.Duration
	}{
		"True ManagedClusterAddOnLeaseUpdated":        {true, 4 * time.Minute},
		"False ManagedClusterAddOnLeaseUpdateStopped": {true, 5 * time.Minute},
		"Unknown ManagedClusterAddOnLeaseNotFound":    {false, 0},
	} {
		if got := judgeAddon("x", c.found, now.Add(-c.age), now); string(got.Status)+" "+got.Reason != want {
			t.Errorf("%s %s, want %s", got.Status, got.Reason, want)
		}
	}
}

// A member whose API hangs is as little available as one that refuses.
func TestHangingMemberIsNotWell(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(release)
	m, err := newMemberWatch(&rest.Config{Host: server.URL}, Claims{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err = m.alive(ctx)
	if err == nil || !strings.Contains(err.Error(), "no answer within") {
		t.Fatalf("error %v", err)
	}
	now := time.Unix(1000, 0)
	m.now = func() time.Time { return now }
	if soon := m.judge(err); !soon || m.observed().healthy != nil {
		t.Error("one failure is told at once")
	}
	now = now.Add(doubt)
	m.judge(err)
	if seen := m.observed(); seen.healthy == nil || *seen.healthy || !strings.Contains(seen.problem, "no answer") {
		t.Errorf("%+v", seen)
	}
}

func TestHealthTurns(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/version":
			_, _ = w.Write([]byte(`{"gitVersion": "v1.30.1"}`))
		case "/healthz":
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	m, err := newMemberWatch(&rest.Config{Host: server.URL}, Claims{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1000, 0)
	m.now = func() time.Time { return now }
	if err := m.alive(t.Context()); err != nil {
		t.Fatalf("a member with only the older endpoint: %v", err)
	}
	changed, end := m.subscribe()
	defer end()
	healthy := func() string {
		seen := m.observed()
		if seen.healthy == nil {
			return "unknown"
		}
		return map[bool]string{true: "well", false: "not well"}[*seen.healthy]
	}
	var got []string
	for _, step := range []struct {
		err   error
		after time.Duration
	}{{nil, 0}, {errors.New("x"), time.Second}, {nil, time.Second}, {errors.New("x"), time.Second}, {errors.New("x"), doubt}, {nil, time.Second}} {
		now = now.Add(step.after)
		m.judge(step.err)
		got = append(got, healthy())
	}
	if diff := cmp.Diff([]string{"well", "well", "well", "well", "not well", "well"}, got); diff != "" {
		t.Error(diff)
	}
	if m.observed().version != "v1.30.1" {
		t.Errorf("version %s", m.observed().version)
	}
	select {
	case <-changed:
	default:
		t.Error("nobody was told")
	}
}
