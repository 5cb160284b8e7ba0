package eviction

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/jsonpath"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// preservation are the rules of a policy's failover for what made a task.
func preservation(failover *policyv1alpha1.FailoverBehavior, reason string) *policyv1alpha1.StatePreservation {
	switch {
	case failover == nil:
		return nil
	case reason == workv1alpha2.EvictionReasonApplicationFailure && failover.Application != nil:
		return failover.Application.StatePreservation
	case reason == workv1alpha2.EvictionReasonTaintUntolerated && failover.Cluster != nil:
		return failover.Cluster.StatePreservation
	}
	return nil
}

// Preserve reads from the status of the copy that has to go what the new copy is
// to be told in labels (contract section 2.2).
func Preserve(b workv1alpha2.Binding, cluster, reason string) (map[string]string, error) {
	rules := preservation(b.BindingSpec().Failover, reason)
	if rules == nil || len(rules.Rules) == 0 {
		return nil, nil
	}
	var status any
	for _, item := range b.BindingStatus().AggregatedStatus {
		if item.ClusterName == cluster && item.Status != nil {
			if err := json.Unmarshal(item.Status.Raw, &status); err != nil {
				return nil, fmt.Errorf("read the status in cluster %s: %w", cluster, err)
			}
		}
	}
	state := map[string]string{}
	for _, rule := range rules.Rules {
		value, err := find(rule.JSONPath, status)
		if err != nil {
			return nil, fmt.Errorf("preserve label %s: %w", rule.AliasLabelName, err)
		}
		state[rule.AliasLabelName] = value
	}
	return state, nil
}

// stateWithin is how long an eviction waits for a status that says what is to be
// preserved: a new copy has none yet. Then it moves without, for it fails where it is.
const stateWithin = time.Minute

// speechless remembers since when copies that have to go do not tell their state.
type speechless struct {
	mu    sync.Mutex
	since map[copyOf]time.Time
}

// copyOf names the copy of a binding's template in a cluster.
type copyOf struct {
	binding types.NamespacedName
	cluster string
}

// forget drops the copies of a binding in some clusters.
func (s *speechless) forget(binding types.NamespacedName, in func(cluster string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.since, func(of copyOf, _ time.Time) bool { return of.binding == binding && in(of.cluster) })
}

// waited is how long a copy has been waited for; told ends it.
func (s *speechless) waited(of copyOf, told bool, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	began, waits := s.since[of]
	switch {
	case told:
		delete(s.since, of)
		return 0
	case waits:
		return now.Sub(began)
	case s.since == nil:
		s.since = map[copyOf]time.Time{}
	}
	s.since[of] = now
	return 0
}

// preserve fills in the state that a task carries, and says whether the eviction
// can go on.
func (r *BindingReconciler) preserve(l *look, b workv1alpha2.Binding, cluster string, task *workv1alpha2.GracefulEvictionTask) bool {
	state, err := Preserve(b, cluster, task.Reason)
	of := copyOf{types.NamespacedName{Namespace: b.GetNamespace(), Name: b.GetName()}, cluster}
	if waited := r.state.waited(of, err == nil, l.now); err != nil && waited < stateWithin {
		l.again(retryAfter)
		return false
	}
	if err != nil {
		r.state.waited(of, true, l.now)
		r.tell(b, corev1.EventTypeWarning, eventEvictionFail, "it moves without its state: "+err.Error())
	}
	task.PreservedLabelState = state
	return true
}

// find evaluates a path, with or without its braces.
func find(path string, status any) (string, error) {
	if !strings.Contains(path, "{") {
		path = "{" + path + "}"
	}
	parser := jsonpath.New("state")
	if err := parser.Parse(path); err != nil {
		return "", fmt.Errorf("parse path %s: %w", path, err)
	}
	var found bytes.Buffer
	if err := parser.Execute(&found, status); err != nil {
		return "", fmt.Errorf("find %s in the status: %w", path, err)
	}
	return found.String(), nil
}
