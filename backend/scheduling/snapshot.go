package scheduling

import (
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

// Snapshot is the clusters at one moment. It never changes; With and Without
// return the next one, which shares with it what is the same.
type Snapshot struct {
	clusters []*clusterv1alpha1.Cluster
}

// NewSnapshot returns a snapshot of the clusters, which must not be changed any more.
func NewSnapshot(clusters []*clusterv1alpha1.Cluster) *Snapshot { panic("being written") }

// With returns a snapshot that holds the cluster in place of the one of that name.
func (s *Snapshot) With(cluster *clusterv1alpha1.Cluster) *Snapshot { panic("being written") }

// Without returns a snapshot that does not hold the cluster of that name.
func (s *Snapshot) Without(name string) *Snapshot { panic("being written") }

// Clusters are the clusters by name. The slice must not be changed.
func (s *Snapshot) Clusters() []*clusterv1alpha1.Cluster { return s.clusters }

// Get returns the cluster of that name, or nil.
func (s *Snapshot) Get(name string) *clusterv1alpha1.Cluster { panic("being written") }
