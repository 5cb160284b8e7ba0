package workload

import (
	"context"

	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/workload/fact"
	"muster.dev/muster/backend/workload/pods"
)

// Pods tells of the pods of a workload in one of its clusters, as the member
// shows them now. Everybody who is signed in may.
func (s *Service) Pods(ctx context.Context, key fact.Key, name string) (pods.Answer, error) {
	if err := s.open(ctx); err != nil {
		return pods.Answer{}, err
	}
	if name == "" {
		return pods.Answer{}, fault.Invalid("name a cluster to look at pods in").WithField("cluster", "name one of the workload's clusters")
	}
	seen, err := s.find(key)
	if err != nil {
		return pods.Answer{}, err
	}
	if seen.binding == nil {
		return pods.Answer{}, fault.NotFound("%s %s goes to no cluster", seen.ref.Kind, seen.ref.Name)
	}
	if _, err := chooseTargets(seen, []string{name}); err != nil {
		return pods.Answer{}, err
	}
	cluster := s.cluster(ctx, name)
	if cluster == nil {
		return pods.Answer{}, fault.NotFound("there is no cluster %s", name)
	}
	return s.pods.Read(ctx, cluster, seen.ref)
}
