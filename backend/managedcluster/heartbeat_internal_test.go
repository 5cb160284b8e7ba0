package managedcluster

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmaddonv1alpha1 "muster.dev/muster/backend/apis/ocm/addon/v1alpha1"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

var midday = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestPatience(t *testing.T) {
	t.Parallel()
	for seconds, want := range map[int32]time.Duration{
		0: 300 * time.Second, 60: 300 * time.Second, 2: 10 * time.Second, -5: 300 * time.Second, 1<<31 - 1: longestPatience,
	} {
		cluster := &ocmv1.ManagedCluster{Spec: ocmv1.ManagedClusterSpec{LeaseDurationSeconds: seconds}}
		if got := patience(cluster); got != want {
			t.Errorf("%d s: %v, want %v", seconds, got, want)
		}
	}
}

func TestPatienceIsToldInPlainWords(t *testing.T) {
	t.Parallel()
	cluster := &ocmv1.ManagedCluster{}
	if got, want := silentCondition(cluster).Message, "The agent has not renewed its lease for 5m."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	off, _ := clockCondition(cluster, clockOff)
	if want := "The clocks of cluster and hub differ by more than 5m. Until they agree, the agent does not report."; off.Message != want {
		t.Errorf("%q, want %q", off.Message, want)
	}
}

// sight is one look at a cluster: what the agent wrote, and when the hub looked.
type sight struct {
	after   time.Duration // since midday
	renewed time.Duration // since midday, by the agent's clock
	status  metav1.ConditionStatus
	uid     types.UID
}

// TestHeartbeats tells when an agent was heard last, by the hub's clock.
func TestHeartbeats(t *testing.T) {
	t.Parallel()
	const (
		yes     = metav1.ConditionTrue
		no      = metav1.ConditionFalse
		unknown = metav1.ConditionUnknown
		skew    = time.Hour
	)
	for name, c := range map[string]struct {
		sights []sight
		since  time.Duration
		clock  clockState
	}{
		"a first look is no renewal":       {sights: []sight{{after: time.Minute, status: yes}}, since: -time.Minute, clock: clockUnknown},
		"nothing new":                      {sights: []sight{{status: yes}, {after: time.Minute, status: yes}}, since: -time.Minute, clock: clockUnknown},
		"renewed":                          {sights: []sight{{status: yes}, {after: time.Minute, renewed: time.Minute, status: yes}}, since: time.Minute, clock: clockSynced},
		"renewed by a clock that is ahead": {sights: []sight{{status: yes}, {after: time.Minute, renewed: skew, status: yes}}, since: time.Minute, clock: clockOff},
		"renewed by a clock that is late":  {sights: []sight{{status: yes}, {after: skew, renewed: time.Minute, status: yes}}, since: skew, clock: clockOff},
		"as late as it may be":             {sights: []sight{{status: yes}, {after: 299 * time.Second, renewed: time.Nanosecond, status: yes}}, since: 299 * time.Second, clock: clockSynced},
		"the clock was set":                {sights: []sight{{status: yes}, {after: time.Minute, renewed: skew}, {after: 2 * time.Minute, renewed: 2 * time.Minute}}, since: 2 * time.Minute, clock: clockSynced},
		"the clock stays as judged":        {sights: []sight{{status: yes}, {after: time.Minute, renewed: skew, status: yes}, {after: 2 * time.Minute, renewed: skew, status: yes}}, since: time.Minute, clock: clockOff},
		"the agent says that it is well":   {sights: []sight{{status: unknown}, {after: time.Minute, status: yes}}, since: time.Minute, clock: clockUnknown},
		"the agent says that its API is down": {
			sights: []sight{{status: yes}, {after: time.Minute, status: no}}, since: time.Minute, clock: clockUnknown,
		},
		"the hub says that it is silent": {sights: []sight{{status: yes}, {after: time.Minute, status: unknown}}, since: -time.Minute, clock: clockUnknown},
		"another cluster of the name":    {sights: []sight{{status: yes}, {after: time.Minute, renewed: time.Minute, status: yes}, {after: 2 * time.Minute, renewed: time.Minute, uid: "2"}}, since: -time.Minute, clock: clockUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			heard := &heartbeats{last: map[string]heartbeat{}}
			var last heartbeat
			for _, s := range c.sights {
				cluster := &ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "c1", UID: s.uid + "1"}}
				if s.status != "" {
					cluster.Status.Conditions = []metav1.Condition{{Type: ocmv1.ConditionAvailable, Status: s.status}}
				}
				renewed := metav1.NewMicroTime(midday.Add(s.renewed))
				lease := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{RenewTime: &renewed}}
				last = heard.look(cluster, lease, midday.Add(s.after), midday.Add(-time.Minute))
			}
			if got := last.since.Sub(midday); got != c.since || last.clock != c.clock {
				t.Errorf("heard %v after midday with clock %v, want %v and %v", got, last.clock, c.since, c.clock)
			}
		})
	}
}

func TestClockCondition(t *testing.T) {
	t.Parallel()
	skips := &ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{ocmv1.SkipClockSyncCheckAnnotation: "true"}}}
	for name, c := range map[string]struct {
		cluster *ocmv1.ManagedCluster
		state   clockState
		want    metav1.ConditionStatus
	}{
		"nothing seen":       {new(ocmv1.ManagedCluster), clockUnknown, ""},
		"synced":             {new(ocmv1.ManagedCluster), clockSynced, metav1.ConditionTrue},
		"off":                {new(ocmv1.ManagedCluster), clockOff, metav1.ConditionFalse},
		"off, not looked at": {skips, clockOff, metav1.ConditionTrue},
	} {
		got, ok := clockCondition(c.cluster, c.state)
		if got.Status != c.want || ok != (c.want != "") {
			t.Errorf("%s: %s %v, want %s", name, got.Status, ok, c.want)
		}
	}
}

func TestLastWritten(t *testing.T) {
	t.Parallel()
	lease := &coordinationv1.Lease{}
	if _, ok := lastWritten(lease); ok {
		t.Error("something is known of a lease without times")
	}
	for _, minutes := range []int{3, 7, 5} {
		lease.ManagedFields = append(lease.ManagedFields, metav1.ManagedFieldsEntry{Time: ptr.To(metav1.NewTime(midday.Add(time.Duration(minutes) * time.Minute)))})
	}
	if at, ok := lastWritten(lease); !ok || !at.Equal(midday.Add(7*time.Minute)) {
		t.Errorf("written %v %v", at, ok)
	}
}

// TestHeardSince judges an agent by its own Lease, not by one that a cluster of the
// name has left.
func TestHeardSince(t *testing.T) {
	t.Parallel()
	at := func(minutes int) time.Time { return midday.Add(time.Duration(minutes) * time.Minute) }
	for name, c := range map[string]struct{ created, decided, written, want int }{
		"its own":                            {created: -60, decided: -50, written: -5, want: -5},
		"its own, written before a decision": {created: -60, decided: -1, written: -5, want: -5},
		"left by another one":                {created: -10, decided: -2, written: -60, want: -2},
		"left, and accepted beforehand":      {created: -10, decided: -10, written: -60, want: -10},
		"written by a clock that is ahead":   {created: -10, decided: -2, written: 5, want: 0},
	} {
		cluster := &ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(at(c.created))}}
		cluster.Status.Conditions = []metav1.Condition{{Type: ocmv1.ConditionHubAccepted, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(at(c.decided))}}
		if got := heardSince(cluster, at(c.written), midday); !got.Equal(at(c.want)) {
			t.Errorf("%s: heard since %v, want %v", name, got, at(c.want))
		}
	}
}

func TestSystemTaints(t *testing.T) {
	t.Parallel()
	added := metav1.NewTime(midday)
	user := ocmv1.Taint{Key: "mine", Value: "x", Effect: ocmv1.TaintEffectPreferNoSelect, TimeAdded: added}
	gone := ocmv1.Taint{Key: ocmv1.UnreachableTaint, Effect: ocmv1.TaintEffectNoSelect, TimeAdded: added}
	down := ocmv1.Taint{Key: ocmv1.UnavailableTaint, Effect: ocmv1.TaintEffectNoSelect, TimeAdded: added}
	fresh := func(taint ocmv1.Taint) ocmv1.Taint { taint.TimeAdded = metav1.Time{}; return taint }
	odd := gone
	odd.Effect = ocmv1.TaintEffectPreferNoSelect
	type taints = []ocmv1.Taint
	for name, c := range map[string]struct {
		status metav1.ConditionStatus
		have   taints
		want   taints
	}{
		"nothing said yet":       {"", taints{user}, taints{user, fresh(gone)}},
		"silent":                 {metav1.ConditionUnknown, taints{down, user}, taints{user, fresh(gone)}},
		"silent, tainted":        {metav1.ConditionUnknown, taints{gone, user}, taints{gone, user}},
		"down":                   {metav1.ConditionFalse, taints{gone, user}, taints{user, fresh(down)}},
		"well":                   {metav1.ConditionTrue, taints{gone, user, down}, taints{user}},
		"well, untainted":        {metav1.ConditionTrue, taints{user}, taints{user}},
		"the taint was weakened": {metav1.ConditionUnknown, taints{odd}, taints{fresh(gone)}},
		"the taint came twice":   {metav1.ConditionUnknown, taints{gone, gone}, taints{gone}},
	} {
		var conditions []metav1.Condition
		if c.status != "" {
			conditions = []metav1.Condition{{Type: ocmv1.ConditionAvailable, Status: c.status}}
		}
		if diff := cmp.Diff(c.want, withSystemTaint(c.have, systemTaint(conditions))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestFeatures(t *testing.T) {
	t.Parallel()
	var addons []ocmaddonv1alpha1.ManagedClusterAddOn
	for name, status := range map[string]metav1.ConditionStatus{"well": metav1.ConditionTrue, "ill": metav1.ConditionFalse, "lost": metav1.ConditionUnknown, "new": "", strings.Repeat("x", 63): metav1.ConditionTrue} {
		addon := ocmaddonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if status != "" {
			meta.SetStatusCondition(&addon.Status.Conditions, metav1.Condition{Type: ocmaddonv1alpha1.ConditionAvailable, Status: status})
		}
		addons = append(addons, addon)
	}
	const prefix = ocmv1.AddonFeatureLabelPrefix
	want := map[string]string{"a": "b", prefix + "well": "available", prefix + "ill": "unhealthy", prefix + "lost": "unreachable", prefix + "new": "unreachable"}
	if diff := cmp.Diff(want, withFeatures(map[string]string{"a": "b", prefix + "gone": "available", prefix + "ill": "available"}, addons)); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

func object(name, priority string, finalizers ...string) client.Object {
	made := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers}}
	if priority != "" {
		made.Annotations = map[string]string{ocmv1.CleanupPriorityAnnotation: priority}
	}
	return made
}

func TestNextGone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		have []client.Object
		want string
	}{
		{nil, ""},
		{[]client.Object{object("a", ""), object("b", "")}, "a b"},
		{[]client.Object{object("a", "50"), object("b", ""), object("c", "0")}, "b c"},
		{[]client.Object{object("a", "50"), object("b", "7"), object("c", "100")}, "b"},
		{[]client.Object{object("a", "x"), object("b", "101"), object("c", "-1"), object("d", "1")}, "a b c"}, // no priorities
	} {
		var names []string
		for _, next := range nextGone(c.have) {
			names = append(names, next.GetName())
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("next %q, want %q", got, c.want)
		}
	}
}

// TestDeletingConditions name what holds a cluster up, and what to do if nobody is
// there to take it away.
func TestDeletingConditions(t *testing.T) {
	t.Parallel()
	silent := &ocmv1.ManagedCluster{}
	well := &ocmv1.ManagedCluster{Status: ocmv1.ManagedClusterStatus{Conditions: []metav1.Condition{{Type: ocmv1.ConditionAvailable, Status: metav1.ConditionTrue}}}}
	works := []client.Object{object("w7", "", "f"), object("w1", "", "f"), object("w2", ""), object("w3", ""), object("w4", ""), object("w5", ""), object("w6", "")}
	for name, c := range map[string]struct {
		got        metav1.Condition
		reason     string
		has, lacks []string
	}{
		"an agent at work": {remainingCondition(well, "ManifestWork", works), ocmv1.ReasonResourceRemaining, []string{"7 of kind ManifestWork", "w1, w2, w3, w4, w5", "2 more"}, []string{"give up", "w6"}},
		"nobody there":     {remainingCondition(silent, "ManifestWork", works[:2]), ocmv1.ReasonResourceRemaining, []string{"w1, w7", "remove from them: f."}, nil},
		"without any hold": {remainingCondition(silent, "ManifestWork", works[2:3]), ocmv1.ReasonResourceRemaining, []string{"w2"}, []string{"give up"}},
		"an error":         {cleanupErrorCondition(errors.New("list things")), ocmv1.ReasonDeletingError, []string{"list things"}, nil},
		"done":             {cleanCondition(), ocmv1.ReasonNoResource, nil, nil},
	} {
		if c.got.Type != ocmv1.ConditionDeleting || c.got.Reason != c.reason || (c.got.Status == metav1.ConditionTrue) != (c.reason == ocmv1.ReasonNoResource) {
			t.Errorf("%s: %+v", name, c.got)
		}
		for _, part := range c.has {
			if !strings.Contains(c.got.Message, part) {
				t.Errorf("%s: %q lacks %q", name, c.got.Message, part)
			}
		}
		for _, part := range c.lacks {
			if strings.Contains(c.got.Message, part) {
				t.Errorf("%s: %q has %q", name, c.got.Message, part)
			}
		}
	}
}
