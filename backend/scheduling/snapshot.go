package scheduling

import (
	"cmp"
	"slices"
	"strings"
	"unique"

	corev1 "k8s.io/api/core/v1"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

// Snapshot is the clusters at one moment, and where the workloads are that groups
// keep together or apart. It never changes; With and Without return the next one,
// which shares with it everything but the two lists. What
// the filters ask of every cluster in every decision is worked out once, when a
// cluster enters: a decision then compares values and copies no cluster.
type Snapshot struct {
	members  []*member // by name
	clusters []*clusterv1alpha1.Cluster
	groups   map[groupKey][]companion // each by name and kind
}

// catalogsKept bounds the answers that a decision remembers.
const catalogsKept = 16

// member is a cluster and what follows from it.
type member struct {
	cluster *clusterv1alpha1.Cluster
	taints  []barrier
	apis    catalog
	room    room
}

// barrier is a taint that keeps workloads away, and the words for it.
type barrier struct {
	taint  *corev1.Taint
	reason string
}

// NewSnapshot returns a snapshot of the clusters, which must not be changed any more.
func NewSnapshot(clusters []*clusterv1alpha1.Cluster) *Snapshot {
	s := &Snapshot{members: make([]*member, 0, len(clusters))}
	for _, cluster := range clusters {
		s.members = append(s.members, newMember(cluster, nil))
	}
	slices.SortFunc(s.members, func(a, b *member) int { return cmp.Compare(a.cluster.Name, b.cluster.Name) })
	for _, m := range s.members {
		s.clusters = append(s.clusters, m.cluster)
	}
	return s
}

// With returns a snapshot that holds the cluster in place of the one of that name.
func (s *Snapshot) With(cluster *clusterv1alpha1.Cluster) *Snapshot {
	at, found := s.find(cluster.Name)
	var before *member
	if found {
		before = s.members[at]
	}
	next := &Snapshot{members: make([]*member, 0, len(s.members)+1), clusters: make([]*clusterv1alpha1.Cluster, 0, len(s.clusters)+1), groups: s.groups}
	next.members = append(append(next.members, s.members[:at]...), newMember(cluster, before))
	next.clusters = append(append(next.clusters, s.clusters[:at]...), cluster)
	if found {
		at++
	}
	next.members = append(next.members, s.members[at:]...)
	next.clusters = append(next.clusters, s.clusters[at:]...)
	return next
}

// Without returns a snapshot that does not hold the cluster of that name.
func (s *Snapshot) Without(name string) *Snapshot {
	at, found := s.find(name)
	if !found {
		return s
	}
	return &Snapshot{members: slices.Concat(s.members[:at], s.members[at+1:]), clusters: slices.Concat(s.clusters[:at], s.clusters[at+1:]), groups: s.groups}
}

// Clusters are the clusters by name. The slice must not be changed.
func (s *Snapshot) Clusters() []*clusterv1alpha1.Cluster { return s.clusters }

// Get returns the cluster of that name, or nil.
func (s *Snapshot) Get(name string) *clusterv1alpha1.Cluster {
	at, found := s.find(name)
	if !found {
		return nil
	}
	return s.clusters[at]
}

func (s *Snapshot) find(name string) (at int, found bool) {
	return slices.BinarySearchFunc(s.members, name, func(m *member, name string) int { return cmp.Compare(m.cluster.Name, name) })
}

// newMember works out what follows from a cluster; before is what it was, if known.
func newMember(cluster *clusterv1alpha1.Cluster, before *member) *member {
	m := &member{cluster: cluster, room: newRoom(cluster)}
	if before != nil && sameAPIs(before.cluster, cluster) {
		m.apis = before.apis
	} else {
		m.apis = newCatalog(cluster)
	}
	for i := range cluster.Spec.Taints {
		taint := &cluster.Spec.Taints[i]
		if taint.Effect == corev1.TaintEffectNoSchedule || taint.Effect == corev1.TaintEffectNoExecute {
			m.taints = append(m.taints, barrier{taint: taint, reason: "untolerated taint " + taint.ToString()})
		}
	}
	return m
}

// catalog is what a member serves, one line "\napiVersion kind" for each kind.
// Most members serve the same: they share one catalog, and a decision looks into
// each once.
type catalog = unique.Handle[string]

func newCatalog(cluster *clusterv1alpha1.Cluster) catalog {
	size := 1
	for _, group := range cluster.Status.APIEnablements {
		for _, served := range group.Resources {
			size += len(group.GroupVersion) + len(served.Kind) + 2
		}
	}
	var text strings.Builder
	text.Grow(size)
	for _, group := range cluster.Status.APIEnablements {
		for _, served := range group.Resources {
			text.WriteString("\n")
			text.WriteString(group.GroupVersion)
			text.WriteString(" ")
			text.WriteString(served.Kind)
		}
	}
	text.WriteString("\n")
	return unique.Make(text.String())
}

func sameAPIs(a, b *clusterv1alpha1.Cluster) bool {
	return slices.EqualFunc(a.Status.APIEnablements, b.Status.APIEnablements, func(x, y clusterv1alpha1.APIEnablement) bool {
		return x.GroupVersion == y.GroupVersion && slices.Equal(x.Resources, y.Resources)
	})
}

// kindLookup asks catalogs for one kind. A list that is not complete counts as it
// stands (contract section 9.2).
type kindLookup struct {
	line    string
	answers []kindAnswer
}

type kindAnswer struct {
	catalog catalog
	served  bool
}

func newKindLookup(apiVersion, kind string) *kindLookup {
	return &kindLookup{line: "\n" + apiVersion + " " + kind + "\n"}
}

func (l *kindLookup) in(c catalog) bool {
	for i := range l.answers {
		if l.answers[i].catalog == c {
			return l.answers[i].served
		}
	}
	served := strings.Contains(c.Value(), l.line)
	if len(l.answers) < catalogsKept {
		l.answers = append(l.answers, kindAnswer{catalog: c, served: served})
	}
	return served
}
