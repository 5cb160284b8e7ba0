package registry

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

func printTable(t *testing.T, tb table, obj runtime.Object) ([]string, [][]any) {
	t.Helper()
	out, err := tb.ConvertToTable(context.Background(), obj, &metav1.TableOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var columns []string
	for _, column := range out.ColumnDefinitions {
		name := column.Name
		if column.Priority > 0 {
			name += "*"
		}
		columns = append(columns, name+" "+column.Type)
	}
	var rows [][]any
	for _, row := range out.Rows {
		if row.Object.Object == nil {
			t.Error("a row lacks its object")
		}
		rows = append(rows, row.Cells)
	}
	return columns, rows
}

func TestClusterTable(t *testing.T) {
	registered := metav1.NewTime(time.Now().Add(-3*time.Minute - 4*time.Second))
	list := &clusterv1alpha1.ClusterList{Items: []clusterv1alpha1.Cluster{
		{
			ObjectMeta: metav1.ObjectMeta{Name: "m1", CreationTimestamp: registered},
			Spec: clusterv1alpha1.ClusterSpec{SyncMode: clusterv1alpha1.Push, Zones: []string{"zone-a", "zone-b"}, Region: "eu", Provider: "acme",
				APIEndpoint: "https://127.0.0.1:6441", ProxyURL: "http://proxy"},
			Status: clusterv1alpha1.ClusterStatus{KubernetesVersion: "v1.36.3", Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse}}},
		},
		{ObjectMeta: metav1.ObjectMeta{Name: "m2"}, Spec: clusterv1alpha1.ClusterSpec{SyncMode: clusterv1alpha1.Pull}},
	}}
	columns, rows := printTable(t, clusterTable(), list)
	wantColumns := []string{"Name string", "Version string", "Mode string", "Ready string", "Age string",
		"Zones* string", "Region* string", "Provider* string", "API-Endpoint* string", "Proxy-URL* string"}
	if diff := cmp.Diff(wantColumns, columns); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	wantRows := [][]any{
		{"m1", "v1.36.3", "Push", "False", "3m4s", "zone-a,zone-b", "eu", "acme", "https://127.0.0.1:6441", "http://proxy"},
		{"m2", "", "Pull", "Unknown", "<unknown>", "<none>", "<none>", "<none>", "", "<none>"},
	}
	if diff := cmp.Diff(wantRows, rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestWorkAndBindingTables(t *testing.T) {
	work := exampleWork(manifest(`{"kind":"ConfigMap"}`), manifest(`{"kind":"Secret"}`))
	columns, rows := printTable(t, workTable(), &workv1alpha1.WorkList{Items: []workv1alpha1.Work{*work, *withConditions(exampleWork(), metav1.Condition{Type: "Applied", Status: "True"})}})
	if diff := cmp.Diff([]string{"Name string", "WORKLOAD-KIND string", "APPLIED string", "AGE date"}, columns); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]any{{"web", "ConfigMap", nil, "<unknown>"}, {"web", nil, "True", "<unknown>"}}, rows); diff != "" {
		t.Error(diff)
	}

	binding := &workv1alpha2.ClusterResourceBinding{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Status: workv1alpha2.ResourceBindingStatus{
		Conditions: []metav1.Condition{{Type: "FullyApplied", Status: "False"}}}}
	columns, rows = printTable(t, bindingTable(), binding)
	if diff := cmp.Diff([]string{"Name string", "SCHEDULED string", "FULLYAPPLIED string", "AGE date"}, columns); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]any{{"b", nil, "False", "<unknown>"}}, rows); diff != "" {
		t.Error(diff)
	}
}

func TestTableWithoutHeaders(t *testing.T) {
	out, err := clusterTable().ConvertToTable(context.Background(), &clusterv1alpha1.ClusterList{ListMeta: metav1.ListMeta{ResourceVersion: "5", Continue: "c"}}, &metav1.TableOptions{NoHeaders: true})
	if err != nil || len(out.ColumnDefinitions) != 0 || out.ResourceVersion != "5" || out.Continue != "c" {
		t.Errorf("got %+v, %v", out, err)
	}
	if _, err := clusterTable().ConvertToTable(context.Background(), &workv1alpha1.Work{}, nil); err == nil {
		t.Error("a Work was printed as a Cluster")
	}
}
