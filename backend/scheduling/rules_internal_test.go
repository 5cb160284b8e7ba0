package scheduling

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/time/rate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// parties makes shares of clusters, in the order of their names.
func parties(weights ...int64) []share {
	shares := make([]share, 0, len(weights))
	for i, weight := range weights {
		shares = append(shares, share{row: &row{at: i}, weight: weight})
	}
	return shares
}

func seats(shares []share) []int32 {
	list := make([]int32, 0, len(shares))
	for _, s := range shares {
		list = append(list, s.seats)
	}
	return list
}

func TestApportion(t *testing.T) {
	for _, row := range []struct {
		total      int32
		weights    []int64
		descending bool
		want       []int32
	}{
		{total: 9, weights: []int64{1, 3}, want: []int32{2, 7}},
		{total: 9, weights: []int64{2, 1}, want: []int32{6, 3}},
		{total: 0, weights: []int64{1, 3}, want: []int32{0, 0}},
		{total: 5, weights: []int64{0, 1}, want: []int32{0, 5}},
		{total: 4, weights: []int64{1, 1, 1}, want: []int32{2, 1, 1}},
		{total: 4, weights: []int64{1, 1, 1}, descending: true, want: []int32{1, 1, 2}},
		// 3/3 and 1/1 tie: the one that has fewer goes first.
		{total: 2, weights: []int64{3, 1}, want: []int32{1, 1}},
		{total: 100, weights: []int64{1 << 62, 1 << 61}, want: []int32{67, 33}},
		{total: 2147483647, weights: []int64{1, 1}, want: []int32{1073741824, 1073741823}},
	} {
		shares := parties(row.weights...)
		apportion(row.total, shares, row.descending)
		if !slices.Equal(seats(shares), row.want) {
			t.Errorf("%d by %v: got %v, want %v", row.total, row.weights, seats(shares), row.want)
		}
	}
}

// TestApportionSeatBySeat compares with the rule as it is stated, without the head start.
func TestApportionSeatBySeat(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 9))
	for range 500 {
		weights := make([]int64, random.IntN(12)+1)
		for i := range weights {
			weights[i] = random.Int64N(12)
		}
		weights[0]++
		total, descending := random.Int32N(300), random.IntN(2) == 0
		want, got := parties(weights...), parties(weights...)
		for range total {
			best := slices.MinFunc(want, func(a, b share) int {
				names := cmp.Compare(a.row.at, b.row.at)
				if descending {
					names = -names
				}
				return cmp.Or(cmp.Compare(b.weight*(2*int64(a.seats)+1), a.weight*(2*int64(b.seats)+1)), cmp.Compare(a.seats, b.seats), names)
			})
			at := slices.IndexFunc(want, func(s share) bool { return s.row == best.row })
			want[at].seats++
		}
		apportion(total, got, descending)
		if !slices.Equal(seats(got), seats(want)) {
			t.Fatalf("%d by %v: got %v, want %v", total, weights, seats(got), seats(want))
		}
	}
}

// TestBestRegions compares with a look at every set of regions.
func TestBestRegions(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 10))
	for range 500 {
		regions := make([]region, random.IntN(7)+1)
		for i := range regions {
			regions[i] = region{name: fmt.Sprintf("r%d", i), rows: make([]*row, random.IntN(5)+1), score: random.Int64N(4) * regionWeight}
		}
		slices.SortFunc(regions, func(a, b region) int {
			return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(len(b.rows), len(a.rows)), cmp.Compare(a.name, b.name))
		})
		n, clusters := random.IntN(len(regions))+1, random.IntN(20)
		total := func(set []int) (score int64, have int) {
			for _, at := range set {
				score, have = score+regions[at].score, have+len(regions[at].rows)
			}
			return score, have
		}
		var bestScore int64
		bestHave, found := 0, false
		for bits := range 1 << len(regions) {
			var set []int
			for at := range regions {
				if bits&(1<<at) != 0 {
					set = append(set, at)
				}
			}
			score, have := total(set)
			if len(set) == 0 || len(set) > n || have < clusters {
				continue
			}
			if !found || score > bestScore || score == bestScore && have > bestHave {
				bestScore, bestHave, found = score, have, true
			}
		}
		got := bestRegions(regions, n, clusters)
		score, have := total(got)
		if found != (len(got) > 0) || found && (score != bestScore || have != bestHave || len(got) > n || !slices.IsSorted(got)) {
			t.Fatalf("of %d regions at most %d with %d clusters: got %v (%d, %d), want score %d, %d clusters, found %t", len(regions), n, clusters, got, score, have, bestScore, bestHave, found)
		}
	}
}

func TestOwnWrites(t *testing.T) {
	w := newOwnWrites()
	w.expect("a", 2)
	if w.seen("b", 2) || w.seen("a", 1) {
		t.Error("another write was taken for ours")
	}
	if !w.seen("a", 2) || w.seen("a", 2) {
		t.Error("our write was not seen once")
	}
	w.expect("a", 3)
	if w.seen("a", 4) || len(w.generations) != 0 {
		t.Error("a later write was taken for ours, or ours is still expected")
	}
	w.expect("a", 5)
	w.drop("a")
	if w.seen("a", 5) {
		t.Error("a failed write is still expected")
	}
}

func TestResultList(t *testing.T) {
	spec := &workv1alpha2.ResourceBindingSpec{Replicas: 2, Clusters: []workv1alpha2.TargetCluster{{Name: "member1", Replicas: 1}, {Name: "member2", Replicas: 1}}}
	if got := resultList(spec); got != "member1:1, member2:1" {
		t.Error(got)
	}
	for i := range 1000 {
		spec.Clusters = append(spec.Clusters, workv1alpha2.TargetCluster{Name: fmt.Sprintf("cluster-with-a-longer-name-%d", i), Replicas: 12345})
	}
	got := "scheduled to " + resultList(spec)
	told := strings.Count(got, ":")
	if len(got) > noteLimit || !strings.HasSuffix(got, fmt.Sprintf(" and %d more", len(spec.Clusters)-told)) {
		t.Errorf("%d characters: …%s", len(got), got[max(len(got)-80, 0):])
	}
	if got := resultList(&workv1alpha2.ResourceBindingSpec{}); got != "no cluster" {
		t.Error(got)
	}
	if got := shorten(strings.Repeat("ä", noteLimit)); len(got) > noteLimit || !strings.HasSuffix(got, "ä…") {
		t.Errorf("%d characters, ends in %q", len(got), got[len(got)-8:])
	}
}

// TestAnnounce checks that Events tell transitions, and not too many.
func TestAnnounce(t *testing.T) {
	recorder := events.NewFakeRecorder(100)
	a := announcer{recorder: recorder, limit: rate.NewLimiter(0, 2), troubles: rate.NewLimiter(0, 2)}
	condition := func(status metav1.ConditionStatus, reason string) *metav1.Condition {
		return &metav1.Condition{Type: workv1alpha2.Scheduled, Status: status, Reason: reason, Message: "why"}
	}
	placed, nowhere := condition("True", workv1alpha2.ReasonSuccess), condition("False", workv1alpha2.ReasonNoClusterFit)
	for _, row := range []struct {
		before, now *metav1.Condition
		moved       bool
		want        string
	}{
		{now: placed, want: "Normal ScheduleBindingSucceed scheduled to no cluster"},
		{before: placed, now: placed},
		{before: placed, now: nowhere, want: "Warning ScheduleBindingFailed why"},
		{before: nowhere, now: nowhere},
		{before: placed, now: placed, moved: true, want: "Normal ScheduleBindingSucceed scheduled to no cluster"},
		{before: placed, now: placed, moved: true},                                // one too many
		{before: placed, now: nowhere, want: "Warning ScheduleBindingFailed why"}, // which silences no trouble
		{before: placed, now: nowhere},                                            // but that is one too many, too
	} {
		b := &workv1alpha2.ResourceBinding{Status: workv1alpha2.ResourceBindingStatus{Conditions: []metav1.Condition{*row.now}}}
		a.announce(b, row.before, row.moved)
		var got []string
		for len(recorder.Events) > 0 {
			got = append(got, <-recorder.Events)
		}
		if row.want == "" && len(got) > 0 || row.want != "" && !slices.Equal(got, []string{row.want, row.want}) {
			t.Errorf("from %v to %v: got %q, want %q twice", row.before, row.now, got, row.want)
		}
	}
}

// TestReport checks what of the status an outcome changes.
func TestReport(t *testing.T) {
	early, late := time.Unix(1000, 0), time.Unix(2000, 0)
	b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
	o := outcome{failure: &Failure{Reason: workv1alpha2.ReasonNoClusterFit, Message: "0/1"}, renewed: true}
	o.report(b, early)
	// As recorded in no-cluster-fit: nothing but the condition.
	if s := b.Status; s.SchedulerObservedGeneration != 0 || s.LastScheduledTime != nil || len(s.Conditions) != 1 || s.Conditions[0].Reason != "NoClusterFit" {
		t.Errorf("after no fit: %+v", s)
	}
	o = outcome{renewed: true, moved: true, affinity: "one"}
	o.report(b, early)
	if s := b.Status; s.SchedulerObservedGeneration != 2 || !s.LastScheduledTime.Time.Equal(early) || s.SchedulerObservedAffinityName != "one" || s.Conditions[0].Reason != "Success" {
		t.Errorf("after success: %+v", s)
	}
	for name, row := range map[string]struct {
		outcome    outcome
		generation int64
		want       time.Time
		// asked and last are early unless given.
		asked, last time.Time
	}{
		"the same again":             {outcome: outcome{renewed: true}, generation: 2, want: early},
		"only looked at":             {outcome: outcome{}, generation: 3, want: early},
		"for another spec":           {outcome: outcome{renewed: true}, generation: 3, want: late},
		"afresh":                     {outcome: outcome{renewed: true, fresh: true}, generation: 2, want: late},
		"to different clusters":      {outcome: outcome{renewed: true, moved: true}, generation: 2, want: late},
		"asked for in this second":   {outcome: outcome{renewed: true, fresh: true}, asked: late, generation: 2, want: late.Add(time.Second)},
		"asked for by a clock ahead": {outcome: outcome{renewed: true, fresh: true}, asked: late.Add(time.Hour), generation: 2, want: late.Add(time.Hour + time.Second)},
		"recorded ahead":             {outcome: outcome{renewed: true, moved: true}, last: late.Add(time.Second), generation: 2, want: late.Add(time.Second)},
	} {
		again := b.DeepCopy()
		asked := metav1.NewTime(early)
		if !row.asked.IsZero() {
			asked = metav1.NewTime(row.asked)
		}
		if !row.last.IsZero() {
			last := metav1.NewTime(row.last)
			again.Status.LastScheduledTime = &last
		}
		again.Spec.RescheduleTriggeredAt = &asked
		again.Generation = row.generation
		row.outcome.report(again, late)
		if !again.Status.LastScheduledTime.Time.Equal(row.want) || again.Status.SchedulerObservedGeneration != row.generation {
			t.Errorf("%s: %+v", name, again.Status)
		}
	}
}
