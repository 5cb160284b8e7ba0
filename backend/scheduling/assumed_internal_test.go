package scheduling

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// ledger keeps assumptions in virtual time, and the bindings that they are about.
type ledger struct {
	*assumptions
	time     *clocktesting.FakePassiveClock
	version  int
	bindings map[string]*workv1alpha2.ResourceBinding
}

func newLedger() *ledger {
	l := &ledger{time: clocktesting.NewFakePassiveClock(time.Unix(1e9, 0)), bindings: map[string]*workv1alpha2.ResourceBinding{}}
	l.assumptions = newAssumptions(l.time)
	return l
}

// binding is the present version of a binding, "web" of a Deployment or "job" of a
// template of two parts.
func (l *ledger) binding(name string) *workv1alpha2.ResourceBinding {
	b := l.bindings[name]
	if b == nil {
		b = &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)}}
		b.Spec.Resource = workv1alpha2.ObjectReference{Namespace: "shop", Name: name}
		need := &workv1alpha2.ReplicaRequirements{ResourceRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}}
		if strings.HasPrefix(name, "job") {
			b.Spec.Components = []workv1alpha2.Component{{Name: "manager", Replicas: 1, ReplicaRequirements: need}, {Name: "worker", Replicas: 2}}
		} else {
			b.Spec.ReplicaRequirements = need
		}
		l.bindings[name] = b
	}
	l.version++
	b = b.DeepCopy()
	b.ResourceVersion = fmt.Sprint(l.version)
	l.bindings[name] = b
	return b
}

// targets reads "m1=2 m2=1", of jobs "m1 m2".
func (l *ledger) targets(b *workv1alpha2.ResourceBinding, text string) (list []workv1alpha2.TargetCluster) {
	for _, word := range strings.Fields(text) {
		name, count, _ := strings.Cut(word, "=")
		target := workv1alpha2.TargetCluster{Name: name}
		if len(b.Spec.Components) > 0 {
			for _, c := range b.Spec.Components {
				target.Components = append(target.Components, workv1alpha2.TargetComponent{Name: c.Name, Replicas: c.Replicas})
			}
		} else if _, err := fmt.Sscan(count, &target.Replicas); err != nil {
			panic(err)
		}
		list = append(list, target)
	}
	return list
}

// give reserves targets for a binding and writes them.
func (l *ledger) give(name, targets string) {
	l.reserve(l.binding(name), l.targets(l.bindings[name], targets))
	l.bindings[name].Spec.Clusters = l.targets(l.bindings[name], targets)
}

// refuse reserves targets for a binding that cannot be written.
func (l *ledger) refuse(name, targets string, meanwhile ...func()) {
	giveBack := l.reserve(l.binding(name), l.targets(l.bindings[name], targets))
	for _, do := range meanwhile {
		do()
	}
	giveBack()
}

// health has a binding told healthy in clusters, and in no others.
func (l *ledger) health(name, healthy string) {
	b := l.binding(name)
	b.Status.AggregatedStatus = nil
	for i := range b.Spec.Clusters {
		item := workv1alpha2.AggregatedStatusItem{ClusterName: b.Spec.Clusters[i].Name, Health: workv1alpha2.ResourceUnhealthy}
		if slices.Contains(strings.Fields(healthy), item.ClusterName) {
			item.Health = workv1alpha2.ResourceHealthy
		}
		b.Status.AggregatedStatus = append(b.Status.AggregatedStatus, item)
	}
	l.observe(b)
}

func (l *ledger) after(d time.Duration) { l.time.SetTime(l.time.Now().Add(d)) }

// said is what is told, "m1: web*2, job.manager*1 job.worker*2; m2: …".
func (l *ledger) said() string {
	var clusters []string
	for cluster, workloads := range l.told() {
		var list []string
		for _, w := range workloads {
			var parts []string
			for _, p := range w.Parts {
				parts = append(parts, fmt.Sprintf("%s*%d", p.Name, p.Replicas))
			}
			list = append(list, strings.Join(parts, "+"))
		}
		clusters = append(clusters, cluster+": "+strings.Join(list, ", "))
	}
	slices.Sort(clusters)
	return strings.Join(clusters, "; ")
}

// TestAssumptions: when something is assumed, of what, and what ends it.
func TestAssumptions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		do   func(*ledger)
		want string
	}{
		"nothing is assumed at first": {func(*ledger) {}, ""},
		"the share of each cluster":   {func(l *ledger) { l.give("web", "m1=2 m2=1") }, "m1: web*2; m2: web*1"},
		"all parts":                   {func(l *ledger) { l.give("job", "m1") }, "m1: manager*1+worker*2"},
		"the latest is told last": {func(l *ledger) {
			l.give("web", "m1=2")
			l.after(time.Second)
			l.give("job", "m1")
			l.give("api", "m1=9")
		}, "m1: web*2, manager*1+worker*2, api*9"},
		"no replica falls to a cluster": {func(l *ledger) { l.give("web", "m1=2 m2=0") }, "m1: web*2"},
		"what takes no room":            {func(l *ledger) { l.binding("web").Spec.ReplicaRequirements = nil; l.give("web", "m1=0") }, ""},
		"replicas that ask for nothing": {func(l *ledger) {
			b := l.binding("web")
			b.Spec.ReplicaRequirements, b.Spec.Replicas = nil, 2
			l.give("web", "m1=2")
		}, "m1: web*2"},
		"healthy in one cluster": {func(l *ledger) { l.give("web", "m1=2 m2=1"); l.health("web", "m2") }, "m1: web*2"},
		"healthy everywhere":     {func(l *ledger) { l.give("web", "m1=2 m2=1"); l.health("web", "m1 m2") }, ""},
		"not healthy":            {func(l *ledger) { l.give("web", "m1=2"); l.health("web", "") }, "m1: web*2"},
		"almost too long":        {func(l *ledger) { l.give("web", "m1=2"); l.after(assumptionTTL - 1) }, "m1: web*2"},
		"too long":               {func(l *ledger) { l.give("web", "m1=2"); l.after(assumptionTTL) }, ""},
		"one too long": {func(l *ledger) {
			l.give("web", "m1=2")
			l.after(time.Second)
			l.give("api", "m1=1")
			l.after(assumptionTTL - 1)
		}, "m1: api*1"},
		"gone":                            {func(l *ledger) { l.give("web", "m1=2"); l.give("api", "m1=1"); l.forget(l.binding("web")) }, "m1: api*1"},
		"another one of its name is gone": {func(l *ledger) { l.give("web", "m1=2"); b := l.binding("web"); b.UID = "before"; l.forget(b) }, "m1: web*2"},
		"another one has its name":        {func(l *ledger) { l.give("web", "m1=2"); l.binding("web").UID = "next"; l.health("web", "") }, ""},
		"moved":                           {func(l *ledger) { l.give("web", "m1=2"); l.give("web", "m2=2") }, "m2: web*2"},
		"fits nowhere":                    {func(l *ledger) { l.give("web", "m1=2"); l.give("web", "") }, ""},
		"grows before it runs":            {func(l *ledger) { l.give("web", "m1=2"); l.give("web", "m1=5") }, "m1: web*5"},
		"grows once it runs":              {func(l *ledger) { l.give("web", "m1=2"); l.health("web", "m1"); l.give("web", "m1=5") }, "m1: web*3"},
		"shrinks before it runs":          {func(l *ledger) { l.give("web", "m1=5"); l.give("web", "m1=2") }, "m1: web*2"},
		"shrinks once it runs":            {func(l *ledger) { l.give("web", "m1=5"); l.health("web", "m1"); l.give("web", "m1=2") }, ""},
		"grows and shrinks": {func(l *ledger) {
			l.give("web", "m1=2")
			l.health("web", "m1")
			l.give("web", "m1=5")
			l.give("web", "m1=3")
		}, "m1: web*1"},
		"decided again as it is": {func(l *ledger) { l.give("web", "m1=2"); l.health("web", "m1"); l.give("web", "m1=2") }, ""},
		"as it is, which lasts no longer": {func(l *ledger) {
			l.give("web", "m1=2")
			l.after(time.Minute)
			l.give("web", "m1=2")
			l.after(assumptionTTL - time.Minute)
		}, ""},
		"growth lasts anew": {func(l *ledger) {
			l.give("web", "m1=2")
			l.after(time.Minute)
			l.give("web", "m1=3")
			l.after(assumptionTTL - time.Minute)
		}, "m1: web*3"},
		"grew, what ran is still healthy": {func(l *ledger) {
			l.give("web", "m1=2")
			l.health("web", "m1")
			l.give("web", "m1=5")
			l.health("web", "m1")
		}, "m1: web*3"},
		"grew, and all of it is healthy": {func(l *ledger) {
			l.give("web", "m1=2")
			l.health("web", "m1")
			l.give("web", "m1=5")
			l.health("web", "")
			l.health("web", "m1")
		}, ""},
		"a part grows": {func(l *ledger) {
			l.give("job", "m1")
			l.health("job", "m1")
			l.binding("job").Spec.Components[1].Replicas = 5
			l.give("job", "m1")
		}, "m1: worker*3"},
		"a part comes": {func(l *ledger) {
			l.give("job", "m1")
			l.health("job", "m1")
			b := l.binding("job")
			b.Spec.Components = append(b.Spec.Components, workv1alpha2.Component{Name: "new", Replicas: 1})
			l.give("job", "m1")
		}, "m1: new*1"},
		"not written":                     {func(l *ledger) { l.refuse("web", "m1=2") }, ""},
		"the growth is not written":       {func(l *ledger) { l.give("web", "m1=2"); l.refuse("web", "m1=5 m2=1") }, "m1: web*2"},
		"that it goes is not written":     {func(l *ledger) { l.give("web", "m1=2"); l.refuse("web", "") }, "m1: web*2"},
		"not written, gone meanwhile":     {func(l *ledger) { l.give("web", "m1=2"); l.refuse("web", "m1=5", func() { l.forget(l.binding("web")) }) }, ""},
		"not written, too long meanwhile": {func(l *ledger) { l.give("web", "m1=2"); l.refuse("web", "m1=5", func() { l.after(assumptionTTL) }) }, ""},
		"given back in its place": {func(l *ledger) {
			l.give("web", "m1=2")
			l.after(time.Second)
			l.give("api", "m1=1")
			l.refuse("web", "m1=5")
		}, "m1: web*2, api*1"},
		"what was told before it was given": {func(l *ledger) {
			l.give("web", "m1=2")
			late := l.bindings["web"].DeepCopy()
			late.Status.AggregatedStatus = []workv1alpha2.AggregatedStatusItem{{ClusterName: "m1", Health: workv1alpha2.ResourceHealthy}}
			l.observe(late)
		}, "m1: web*2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLedger()
			test.do(l)
			if got := l.said(); got != test.want {
				t.Errorf("told %q, want %q", got, test.want)
			}
			l.after(assumptionTTL)
			if got := l.said(); got != "" || l.byAge.Len() != 0 || len(l.byBinding) != 0 {
				t.Errorf("kept in the end: %q, %d in %v", got, l.byAge.Len(), l.byBinding)
			}
		})
	}
}

// TestRecall: what was given shortly before the hub started is assumed until it would
// have been.
func TestRecall(t *testing.T) {
	t.Parallel()
	l := newLedger()
	scheduled := func(name, targets string, ago time.Duration, healthy ...string) {
		b := l.binding(name)
		b.Spec.Clusters = l.targets(b, targets)
		at := metav1.NewTime(l.time.Now().Add(-ago))
		b.Status.LastScheduledTime = &at
		for _, cluster := range healthy {
			b.Status.AggregatedStatus = append(b.Status.AggregatedStatus, workv1alpha2.AggregatedStatusItem{ClusterName: cluster, Health: workv1alpha2.ResourceHealthy})
		}
		l.recall(b)
	}
	scheduled("young", "m1=2", time.Minute)
	scheduled("elder", "m1=1 m2=1 m3=0", 2*time.Minute, "m2")
	scheduled("job", "m1", 0)
	scheduled("old", "m1=7", assumptionTTL)
	scheduled("runs", "m1=7", 0, "m1")
	l.recall(l.binding("never"))
	for _, step := range []struct {
		after time.Duration
		want  string
	}{
		{0, "m1: elder*1, young*2, manager*1+worker*2"},
		{assumptionTTL - 2*time.Minute, "m1: young*2, manager*1+worker*2"},
		{time.Minute, "m1: manager*1+worker*2"},
		{time.Minute, ""},
	} {
		l.after(step.after)
		if got := l.said(); got != step.want {
			t.Errorf("told %q, want %q", got, step.want)
		}
	}
	if len(l.byBinding) != 0 {
		t.Errorf("kept %v", l.byBinding)
	}
	l.give("web", "m1=2")
	scheduled("web", "m1=9", 0)
	if got := l.said(); got != "m1: web*2" {
		t.Errorf("what is known was replaced by what was recalled: %q", got)
	}
}

// TestAssumptionsOff: without the gate nothing is kept.
func TestAssumptionsOff(t *testing.T) {
	t.Parallel()
	var off *assumptions
	l := newLedger()
	b := l.binding("web")
	off.reserve(b, l.targets(b, "m1=2"))()
	off.recall(b)
	off.observe(b)
	off.forget(b)
	if told := off.told(); told != nil {
		t.Errorf("told %v", told)
	}
}

// TestAssumptionsTogether has all that happens happen at once.
func TestAssumptionsTogether(t *testing.T) {
	t.Parallel()
	l := newLedger()
	var doing sync.WaitGroup
	for worker := range 8 {
		b := l.binding(fmt.Sprintf("web%d", worker))
		next := b.DeepCopy()
		next.ResourceVersion = "1000000"
		targets := l.targets(b, "m1=2 m2=1")
		doing.Go(func() {
			for range 200 {
				giveBack := l.reserve(b, targets)
				l.told()
				giveBack()
				l.reserve(b, targets)
				l.observe(next)
				l.recall(b)
				l.forget(b)
			}
		})
	}
	doing.Wait()
	if diff := cmp.Diff("", l.said()); diff != "" || l.byAge.Len() != 0 || len(l.byBinding) != 0 {
		t.Errorf("kept %d of %d bindings: %s", l.byAge.Len(), len(l.byBinding), diff)
	}
}
