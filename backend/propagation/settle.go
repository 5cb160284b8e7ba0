package propagation

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// settleLimit is how long a binding waits for what it is about to be told. The
// change comes as an event; the limit is for changes that never come.
const settleLimit = time.Second

// unsettled says why a binding, its template and its schedule do not belong
// together yet, "" if they do. Works made now would be made again in a moment, and
// every Work is a write here and another in the member. replicas are those of the
// template.
func unsettled(b workv1alpha2.Binding, template *unstructured.Unstructured, replicas int32) string {
	spec, status := b.BindingSpec(), b.BindingStatus()
	if order, err := resourceversion.CompareResourceVersion(template.GetResourceVersion(), spec.Resource.ResourceVersion); err == nil && order < 0 {
		return "the cache does not know the template yet from which the binding was made"
	}
	if !isWorkload(spec) {
		return ""
	}
	if replicas != spec.Replicas {
		return "the binding does not know the template's replicas yet"
	}
	if len(spec.Clusters) == 0 || status.SchedulerObservedGeneration >= b.GetGeneration() {
		return ""
	}
	var sum int32
	for i := range spec.Clusters {
		if sum += spec.Clusters[i].Replicas; !divided(spec) && spec.Clusters[i].Replicas != spec.Replicas {
			return "the replicas are not scheduled yet"
		}
	}
	if divided(spec) && sum != spec.Replicas {
		return "the replicas are not scheduled yet"
	}
	return ""
}

// settling remembers since when bindings wait.
type settling struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	since map[types.NamespacedName]time.Time
}

func newSettling(c clock.PassiveClock) *settling {
	return &settling{clock: c, since: map[types.NamespacedName]time.Time{}}
}

// left is how long a binding still waits, 0 if it has waited long enough.
func (s *settling) left(binding types.NamespacedName, limit time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	began, waits := s.since[binding]
	if !waits {
		began = s.clock.Now()
		s.since[binding] = began
	}
	return max(0, limit-s.clock.Since(began))
}

// patience is left, or more of it in a storm; which may end before, so that it is
// to be asked again after the usual time at the latest.
func (s *settling) patience(binding types.NamespacedName, usual time.Duration) time.Duration {
	left := s.left(binding, usual)
	s.mu.Lock()
	storm := len(s.since) > stormSize
	s.mu.Unlock()
	if left > 0 || !storm {
		return left
	}
	return min(usual, s.left(binding, stormWithin))
}

func (s *settling) done(binding types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.since, binding)
}

// significant says whether a template changed in a way that its Works tell. What
// is pruned from them does not count.
func significant(old, current *unstructured.Unstructured) bool {
	if old == nil || current == nil || old.GetUID() != current.GetUID() || old.GetGeneration() != current.GetGeneration() {
		return true
	}
	if !maps.Equal(old.GetLabels(), current.GetLabels()) || !maps.Equal(old.GetAnnotations(), current.GetAnnotations()) {
		return true
	}
	for _, pair := range [][2]map[string]any{{old.Object, current.Object}, {current.Object, old.Object}} {
		for field, value := range pair[0] {
			if field != "metadata" && field != "status" && !equality.Semantic.DeepEqual(value, pair[1][field]) {
				return true
			}
		}
	}
	return false
}
