package scheduling

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

// Snapshot is the clusters at one moment. It never changes; With and Without
// return the next one, which shares with it everything but the two lists. What
// the filters ask of every cluster in every decision is worked out once, when a
// cluster enters: a decision then compares values and copies no cluster.
type Snapshot struct {
	members  []*member // by name
	clusters []*clusterv1alpha1.Cluster
}

// member is a cluster and what follows from it.
type member struct {
	cluster *clusterv1alpha1.Cluster
	taints  []barrier
	sorted  bool // status.apiEnablements are in order
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
		s.members = append(s.members, newMember(cluster))
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
	next := &Snapshot{members: make([]*member, 0, len(s.members)+1), clusters: make([]*clusterv1alpha1.Cluster, 0, len(s.clusters)+1)}
	next.members = append(append(next.members, s.members[:at]...), newMember(cluster))
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
	return &Snapshot{members: slices.Concat(s.members[:at], s.members[at+1:]), clusters: slices.Concat(s.clusters[:at], s.clusters[at+1:])}
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

func newMember(cluster *clusterv1alpha1.Cluster) *member {
	m := &member{cluster: cluster, room: newRoom(cluster)}
	for i := range cluster.Spec.Taints {
		taint := &cluster.Spec.Taints[i]
		if taint.Effect == corev1.TaintEffectNoSchedule || taint.Effect == corev1.TaintEffectNoExecute {
			m.taints = append(m.taints, barrier{taint: taint, reason: "untolerated taint " + taint.ToString()})
		}
	}
	m.sorted = slices.IsSortedFunc(cluster.Status.APIEnablements, func(a, b clusterv1alpha1.APIEnablement) int {
		return cmp.Compare(a.GroupVersion, b.GroupVersion)
	})
	return m
}

// serves says whether the member lists the kind. A list that is not complete
// counts as it stands (contract section 9.2).
func (m *member) serves(apiVersion, kind string) bool {
	list := m.cluster.Status.APIEnablements
	at := 0
	if m.sorted {
		at, _ = slices.BinarySearchFunc(list, apiVersion, func(e clusterv1alpha1.APIEnablement, version string) int {
			return cmp.Compare(e.GroupVersion, version)
		})
	}
	for ; at < len(list); at++ {
		if list[at].GroupVersion != apiVersion {
			if m.sorted {
				return false
			}
			continue
		}
		for i := range list[at].Resources {
			if list[at].Resources[i].Kind == kind {
				return true
			}
		}
	}
	return false
}
