package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// foresight is what the hub says that a policy would do with an object.
type foresight struct {
	// Placed are the clusters, "name" or "name:replicas"; Failure is "reason: message".
	Placed  []string
	Failure string
	// out says of each cluster that is left out by which filter and why.
	out map[string]string
	// fleet is what the clusters were like.
	fleet string
}

// fleetNow is all of the clusters that placements depend on, and their names.
func (f *fleet) fleetNow(ctx context.Context, t testing.TB) (text string, names []string) {
	t.Helper()
	list, err := f.dynamic.Resource(clustersResource).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var all []any
	for i := range list.Items {
		c := &list.Items[i]
		names = append(names, c.GetName())
		apis, _, _ := unstructured.NestedFieldNoCopy(c.Object, "status", "apiEnablements")
		room, _, _ := unstructured.NestedFieldNoCopy(c.Object, "status", "resourceSummary")
		all = append(all, c.GetName(), c.GetLabels(), c.GetDeletionTimestamp(), c.Object["spec"], apis, room)
	}
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(data), names
}

// foresee asks the hub over REST what a policy would do with the object that it
// means, which is there; and that every cluster is accounted for.
func (s *space) foresee(t testing.TB, policy string) (seen foresight) {
	t.Helper()
	eventually(t, "the preview of "+policy, func(ctx context.Context) bool {
		before, names := s.fleetNow(ctx, t)
		first, there := s.preview(ctx, t, policy)
		second, _ := s.preview(ctx, t, policy)
		after, _ := s.fleetNow(ctx, t)
		if seen = second; !there || before != after || !cmp.Equal(first.Placed, second.Placed) || first.Failure != second.Failure {
			return false // it does not know the object yet, or the fleet is changing
		}
		seen.fleet = after
		var accounted []string
		for _, placed := range seen.Placed {
			name, _, _ := strings.Cut(placed, ":")
			accounted = append(accounted, name)
		}
		for name := range seen.out {
			accounted = append(accounted, name)
		}
		slices.Sort(accounted)
		slices.Sort(names)
		if seen.Failure == "" && !slices.Equal(accounted, names) {
			t.Errorf("the preview of %s\nplaces on %v and leaves out %v, of %v", policy, seen.Placed, seen.out, names)
		}
		return true
	})
	return seen
}

// preview is one answer about the one object that a policy means.
func (s *space) preview(ctx context.Context, t testing.TB, policy string) (seen foresight, there bool) {
	t.Helper()
	answer, err := s.root.Do(ctx, http.MethodPost, "/api/v1/policies/preview", map[string]string{"yaml": policy})
	if err == nil && answer.Status == http.StatusServiceUnavailable {
		return seen, false // the hub is starting
	}
	if err != nil || answer.Status != http.StatusOK {
		t.Fatalf("preview %s: %d %s (%v)", policy, answer.Status, answer.Body, err)
	}
	var told struct {
		Valid     bool `json:"valid"`
		Templates struct {
			Items []struct {
				Takes  bool   `json:"takes"`
				Why    string `json:"why"`
				Chosen []struct {
					Name     string `json:"name"`
					Replicas *int32 `json:"replicas"`
				} `json:"chosen"`
				Excluded []struct{ Name, Filter, Reason string } `json:"excluded"`
				Failure  *struct{ Reason, Message string }       `json:"failure"`
			} `json:"items"`
		} `json:"templates"`
	}
	if err := answer.Into(&told); err != nil {
		t.Fatal(err)
	}
	if !told.Valid {
		t.Fatalf("preview %s: %s", policy, answer.Body)
	}
	if len(told.Templates.Items) != 1 {
		return seen, false
	}
	item := &told.Templates.Items[0]
	if !item.Takes {
		t.Fatalf("the preview says that the object is not taken, as %s", item.Why)
	}
	seen.out = map[string]string{}
	for _, c := range item.Chosen {
		if c.Replicas != nil {
			c.Name += fmt.Sprint(":", *c.Replicas)
		}
		seen.Placed = append(seen.Placed, c.Name)
	}
	slices.Sort(seen.Placed)
	for _, e := range item.Excluded {
		seen.out[e.Name] = e.Filter + ": " + e.Reason
	}
	if item.Failure != nil {
		seen.Failure = item.Failure.Reason + ": " + item.Failure.Message
	}
	return seen, true
}

// decree puts a policy for one object, which is there, and waits until it is as the
// preview of the very same text said. Where the fleet changed in between nothing can
// be said; such cases are counted.
func (s *space) decree(t testing.TB, name, kind, more string) foresight {
	t.Helper()
	policy := fmt.Sprintf("{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: %s, namespace: %s}, spec: {resourceSelectors: [%s], %s}}",
		name, s.namespace, named(kind, name), more)
	seen := s.foresee(t, policy)
	s.put(t, "%s", policy)
	_, kind, _ = strings.Cut(kind, " ")
	binding := name + "-" + strings.ToLower(kind)
	var got foresight
	defer func() {
		if t.Failed() {
			t.Logf("%s is not as its preview said (-preview +binding):\n%s", binding, cmp.Diff(seen, got, cmp.FilterPath(func(p cmp.Path) bool {
				return p.String() == "out" || p.String() == "fleet"
			}, cmp.Ignore())))
		}
	}()
	eventually(t, binding+" as its preview said", func(ctx context.Context) bool {
		var settled bool
		if got, settled = s.outcome(ctx, t, name, binding); settled && slices.Equal(got.Placed, seen.Placed) && got.Failure == seen.Failure {
			s.foreseen.Add(1)
			return true
		}
		if now, _ := s.fleetNow(ctx, t); now != seen.fleet {
			s.overtaken.Add(1)
			return true
		}
		return false
	})
	return seen
}

// outcome is what became of a policy's object, and whether the scheduler has looked
// at the policy as it is now.
func (s *space) outcome(ctx context.Context, t testing.TB, policy, binding string) (got foresight, settled bool) {
	t.Helper()
	p, err := s.look(ctx, t, onHub, "policy.karmada.io/v1alpha1 PropagationPolicy", policy)
	if err != nil || p == nil {
		return got, false
	}
	b, err := s.look(ctx, t, onHub, aBinding, binding)
	if err != nil || b == nil {
		return got, false
	}
	wanted, _, _ := unstructured.NestedFieldNoCopy(p.Object, "spec", "placement")
	placement, _, _ := unstructured.NestedFieldNoCopy(b.Object, "spec", "placement")
	status, reason, message := condition(b, "Scheduled")
	got.Placed = placedOn(b)
	if status == "False" {
		got.Failure = reason + ": " + message
	}
	observed := valueAt(b, "status schedulerObservedGeneration") == valueAt(b, "metadata generation")
	return got, cmp.Equal(wanted, placement) && (status == "False" || status == "True" && observed)
}
