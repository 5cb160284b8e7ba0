package manifestwork

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
)

func saidOf(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: reason + "\x1b[31m"}
}

// someWork carries two objects, of which the agent has told about one.
func someWork() *ocmworkv1.ManifestWork {
	work := &ocmworkv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "edge-1", Name: "web"}}
	work.Spec.Workload.Manifests = make([]ocmworkv1.Manifest, 2)
	work.Spec.Workload.Manifests[0].Raw = []byte(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"shop"},"data":{"password":"c2VjcmV0"}}`)
	work.Spec.Workload.Manifests[1].Raw = []byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop"}}`)
	work.Status.ResourceStatus.Manifests = []ocmworkv1.ManifestCondition{{
		ResourceMeta: ocmworkv1.ManifestResourceMeta{Ordinal: 1, Name: "web"}, Conditions: []metav1.Condition{saidOf("Applied", "True", "Done"), saidOf("Available", "True", "There")},
		StatusFeedbacks: ocmworkv1.StatusFeedbackResult{Values: []ocmworkv1.FeedbackValue{
			{Name: "ReadyReplicas", Value: ocmworkv1.FieldValue{Type: ocmworkv1.ValueInteger, Integer: ptr.To[int64](3)}},
			{Name: "Phase", Value: ocmworkv1.FieldValue{Type: ocmworkv1.ValueString, String: ptr.To("up\x1b[31m")}},
		}},
	}}
	return work
}

func TestRowOfAWork(t *testing.T) {
	for name, c := range map[string]struct {
		conditions []metav1.Condition
		want       string
		reason     string
	}{
		"nobody said anything":     {nil, "pending", ""},
		"applied":                  {[]metav1.Condition{saidOf("Applied", "True", "Done")}, "applied", ""},
		"applied, not yet there":   {[]metav1.Condition{saidOf("Applied", "True", "Done"), saidOf("Available", "False", "Missing")}, "applied", "Missing"},
		"available":                {[]metav1.Condition{saidOf("Applied", "True", "Done"), saidOf("Available", "True", "There")}, "available", ""},
		"refused by the cluster":   {[]metav1.Condition{saidOf("Applied", "False", "NoKind"), saidOf("Available", "False", "Missing")}, "failed", "NoKind"},
		"refused, but it is there": {[]metav1.Condition{saidOf("Applied", "False", "NoKind"), saidOf("Available", "True", "There")}, "failed", "NoKind"},
	} {
		t.Run(name, func(t *testing.T) {
			work := someWork()
			work.Status.Conditions = c.conditions
			row := rowOf(work)
			if got := stateOf(&row); got != c.want || row.Reason != c.reason || row.Message != c.reason {
				t.Errorf("got %s because of %q (%q), want %s because of %q", got, row.Reason, row.Message, c.want, c.reason)
			}
			if diff := cmp.Diff(ManifestCounts{Total: 2, Applied: 1, Available: 1}, row.Manifests); diff != "" {
				t.Errorf("manifests (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRowOfAChangedWork: what was said of a work before it was changed, and of manifests that are gone, says nothing of what it carries now.
func TestRowOfAChangedWork(t *testing.T) {
	work := someWork()
	for _, kind := range []string{"Applied", "Available"} {
		condition := saidOf(kind, "True", "Done")
		condition.ObservedGeneration = 1
		work.Status.Conditions = append(work.Status.Conditions, condition)
	}
	work.Generation = 1
	if row := rowOf(work); stateOf(&row) != stateAvailable {
		t.Errorf("before the change it is %s", stateOf(&row))
	}
	work.Generation = 2
	work.Spec.Workload.Manifests[1].Raw = []byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"shop","namespace":"shop"}}`)
	gone := work.Status.ResourceStatus.Manifests[0]
	gone.ResourceMeta.Ordinal = 2
	work.Status.ResourceStatus.Manifests = append(work.Status.ResourceStatus.Manifests, gone)
	row := rowOf(work)
	if diff := cmp.Diff(ManifestCounts{Total: 2}, row.Manifests); stateOf(&row) != statePending || diff != "" {
		t.Errorf("after the change it is %s; manifests (-want +got):\n%s", stateOf(&row), diff)
	}
}

func TestWhoMadeAWork(t *testing.T) {
	work := someWork()
	if row := rowOf(work); row.Relayed || row.Owner != "" {
		t.Errorf("a work of nobody is of %q, relayed %t", row.Owner, row.Relayed)
	}
	work.Labels = map[string]string{LabelRelayed: "true", ownerLabel: "apps.web"}
	if row := rowOf(work); !row.Relayed || row.Owner != "apps.web" {
		t.Errorf("a work with both labels is of %q, relayed %t", row.Owner, row.Relayed)
	}
}

// TestDetailShowsNoContent holds what is shown of the objects to names, conditions
// and feedback.
func TestDetailShowsNoContent(t *testing.T) {
	detail := detailOf(someWork())
	want := []Object{
		{Ordinal: 0, APIVersion: "v1", Kind: "Secret", Namespace: "shop", Name: "s", Conditions: []Condition{}, Feedback: []Feedback{}},
		{
			Ordinal: 1, APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web",
			Conditions: []Condition{{Type: "Applied", Status: "True", Reason: "Done", Message: "Done"}, {Type: "Available", Status: "True", Reason: "There", Message: "There"}},
			Feedback:   []Feedback{{Name: "ReadyReplicas", Type: "Integer", Value: "3"}, {Name: "Phase", Type: "String", Value: "up"}},
		},
	}
	if diff := cmp.Diff(want, detail.Objects); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if detail.DeletePolicy != "Foreground" {
		t.Errorf("delete policy is %q", detail.DeletePolicy)
	}
	work := someWork()
	work.Status.ResourceStatus.Manifests[0].ResourceMeta.Name = "before"
	if told := detailOf(work).Objects[1].Conditions; len(told) != 0 {
		t.Errorf("what was told of another object is shown: %+v", told)
	}
}
