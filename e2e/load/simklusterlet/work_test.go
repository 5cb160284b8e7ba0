package main

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
)

// TestStatusOfAWork: a work that is said to be there has all of its manifests there, as the hub counts them.
func TestStatusOfAWork(t *testing.T) {
	work := &unstructured.Unstructured{}
	if err := work.UnmarshalJSON([]byte(`{"apiVersion":"work.open-cluster-management.io/v1","kind":"ManifestWork","metadata":{"name":"w","generation":3},"spec":{"workload":{"manifests":[
		{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default"}},{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"b","namespace":"shop"}}]}}}`)); err != nil {
		t.Fatal(err)
	}
	patch, err := statusOf(work)
	if err != nil {
		t.Fatal(err)
	}
	var told ocmworkv1.ManifestWork
	if err := json.Unmarshal(patch, &told); err != nil {
		t.Fatal(err)
	}
	told.Generation, told.Spec = 3, ocmworkv1.ManifestWorkSpec{}
	for _, kind := range []string{ocmworkv1.ConditionApplied, ocmworkv1.ConditionAvailable} {
		if c := told.CurrentCondition(kind); c == nil || c.Status != "True" {
			t.Errorf("the work's %s is %+v", kind, c)
		}
	}
	if manifests := told.Status.ResourceStatus.Manifests; len(manifests) != 2 {
		t.Fatalf("told of %d manifests", len(manifests))
	}
	second := told.Status.ResourceStatus.Manifests[1]
	want := ocmworkv1.ManifestResourceMeta{Ordinal: 1, Group: "apps", Version: "v1", Kind: "Deployment", Name: "b", Namespace: "shop"}
	if second.ResourceMeta != want || len(second.Conditions) != 2 || second.Conditions[1].Type != ocmworkv1.ConditionAvailable || second.Conditions[1].Status != "True" {
		t.Errorf("the second manifest is %+v", second)
	}
}
