package policy

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

// fleet are the names of the clusters that there are: a policy may name others,
// by mistake or ahead of time.
type fleet struct {
	mu     sync.RWMutex
	names  map[string]struct{}
	synced func() bool // nil until the clusters are followed
}

// missing are those names that no cluster has; none until all clusters are known.
func (f *fleet) missing(names []string) []string {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.synced == nil || !f.synced() {
		return nil
	}
	var missing []string
	for _, name := range names {
		if _, ok := f.names[name]; !ok {
			missing = append(missing, name)
		}
	}
	return missing
}

func (f *fleet) set(name string, there bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if there {
		f.names[name] = struct{}{}
	} else {
		delete(f.names, name)
	}
}

// followClusters keeps the fleet up to date and publishes the policies that name a
// cluster that comes or goes. It returns how to leave.
func (s *Service) followClusters(ctx context.Context) (leave func() error, err error) {
	informer, err := s.informer(ctx, &clusterv1alpha1.Cluster{})
	if err != nil {
		return nil, err
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, initial bool) {
			if cluster, ok := object.(client.Object); ok {
				s.clusterChanged(ctx, cluster.GetName(), true, initial)
			}
		},
		DeleteFunc: func(object any) {
			if last, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
				object = last.Obj
			}
			if cluster, ok := object.(client.Object); ok {
				s.clusterChanged(ctx, cluster.GetName(), false, false)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	s.fleet.mu.Lock()
	s.fleet.synced = registration.HasSynced
	s.fleet.mu.Unlock()
	return func() error { return informer.RemoveEventHandler(registration) }, nil
}

func (s *Service) clusterChanged(ctx context.Context, name string, there, initial bool) {
	s.fleet.set(name, there)
	if initial {
		return
	}
	for i := range Kinds {
		list := Kinds[i].list()
		if s.Cache.List(ctx, list, client.UnsafeDisableDeepCopy) != nil {
			continue // a kind that is not served has no policies
		}
		_ = meta.EachListItem(list, func(object runtime.Object) error {
			policy, ok := object.(client.Object)
			if !ok {
				return nil
			}
			if row, ok := rowOf(policy); ok && slices.Contains(row.Clusters, name) {
				s.publishAgain(row.target())
			}
			return nil
		})
	}
}
