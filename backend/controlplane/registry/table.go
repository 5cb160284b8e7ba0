package registry

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metatable "k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

const (
	unknownCell = "Unknown"
	noneCell    = "<none>"
)

// table prints a kind as kubectl shows it. cells returns one value for each column after the name; age is ready for people to read.
type table struct {
	columns []metav1.TableColumnDefinition
	cells   func(obj runtime.Object, age string) ([]any, error)
}

var nameColumn = metav1.TableColumnDefinition{Name: "Name", Type: "string", Format: "name", Description: metav1.ObjectMeta{}.SwaggerDoc()["name"]}

// ConvertToTable prints an object or a list.
func (t table) ConvertToTable(_ context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	out := &metav1.Table{}
	if m, err := meta.ListAccessor(obj); err == nil {
		out.ResourceVersion, out.Continue, out.RemainingItemCount = m.GetResourceVersion(), m.GetContinue(), m.GetRemainingItemCount()
	} else if m, err := meta.CommonAccessor(obj); err == nil {
		out.ResourceVersion = m.GetResourceVersion()
	}
	if tableOptions, ok := options.(*metav1.TableOptions); !ok || tableOptions == nil || !tableOptions.NoHeaders {
		out.ColumnDefinitions = append([]metav1.TableColumnDefinition{nameColumn}, t.columns...)
	}
	var err error
	out.Rows, err = metatable.MetaToTableRow(obj, func(obj runtime.Object, _ metav1.Object, name, age string) ([]any, error) {
		cells, err := t.cells(obj, age)
		return append([]any{name}, cells...), err
	})
	return out, err
}

// clusterTable has ten columns in every answer; clients hide those of priority 1 unless asked for wide output (contract section 1).
func clusterTable() table {
	wide := func(name, description string) metav1.TableColumnDefinition {
		return metav1.TableColumnDefinition{Name: name, Type: "string", Priority: 1, Description: description}
	}
	return table{
		columns: []metav1.TableColumnDefinition{
			{Name: "Version", Type: "string", Description: "Kubernetes version of the member."},
			{Name: "Mode", Type: "string", Description: "Which side applies manifests."},
			{Name: "Ready", Type: "string", Description: "Status of the condition Ready."},
			{Name: "Age", Type: "string", Description: "Time since the cluster was registered."},
			wide("Zones", "Failure domains of the member."), wide("Region", "Region of the member."), wide("Provider", "Provider of the member."),
			wide("API-Endpoint", "Address of the member's API server."), wide("Proxy-URL", "Forward proxy on the way to the member."),
		},
		cells: clusterCells,
	}
}

func clusterCells(obj runtime.Object, age string) ([]any, error) {
	cluster, ok := obj.(*clusterv1alpha1.Cluster)
	if !ok {
		return nil, fmt.Errorf("print %T: not a Cluster", obj)
	}
	ready := unknownCell
	if condition := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1alpha1.ClusterConditionReady); condition != nil {
		ready = string(condition.Status)
	}
	orNone := func(value string) string {
		if value == "" {
			return noneCell
		}
		return value
	}
	spec := &cluster.Spec
	return []any{
		cluster.Status.KubernetesVersion, string(spec.SyncMode), ready, age,
		orNone(strings.Join(spec.Zones, ",")), orNone(spec.Region), orNone(spec.Provider), spec.APIEndpoint, orNone(spec.ProxyURL),
	}, nil
}

// The tables below are those of the custom resource definitions that Karmada has for these kinds, so their columns describe themselves
// by the path of the field, and a field that is absent leaves its cell empty.

func workTable() table {
	return table{
		columns: []metav1.TableColumnDefinition{
			pathColumn("WORKLOAD-KIND", "string", ".spec.workload.manifests[*].kind"),
			conditionColumn("APPLIED", workv1alpha1.WorkApplied),
			pathColumn("AGE", "date", ".metadata.creationTimestamp"),
		},
		cells: func(obj runtime.Object, age string) ([]any, error) {
			work, ok := obj.(*workv1alpha1.Work)
			if !ok {
				return nil, fmt.Errorf("print %T: not a Work", obj)
			}
			return []any{workloadKind(work), conditionCell(work.Status.Conditions, workv1alpha1.WorkApplied), age}, nil
		},
	}
}

// workloadKind is the kind of the first manifest.
func workloadKind(work *workv1alpha1.Work) any {
	if len(work.Spec.Workload.Manifests) == 0 {
		return nil
	}
	head, err := headOf(&work.Spec.Workload.Manifests[0])
	if err != nil || head.Kind == "" {
		return nil
	}
	return head.Kind
}

func bindingTable() table {
	return table{
		columns: []metav1.TableColumnDefinition{
			conditionColumn("SCHEDULED", workv1alpha2.Scheduled),
			conditionColumn("FULLYAPPLIED", workv1alpha2.FullyApplied),
			pathColumn("AGE", "date", ".metadata.creationTimestamp"),
		},
		cells: func(obj runtime.Object, age string) ([]any, error) {
			var conditions []metav1.Condition
			switch binding := obj.(type) {
			case *workv1alpha2.ResourceBinding:
				conditions = binding.Status.Conditions
			case *workv1alpha2.ClusterResourceBinding:
				conditions = binding.Status.Conditions
			default:
				return nil, fmt.Errorf("print %T: not a binding", obj)
			}
			return []any{conditionCell(conditions, workv1alpha2.Scheduled), conditionCell(conditions, workv1alpha2.FullyApplied), age}, nil
		},
	}
}

// firstBindingTable has the columns that definitions have by themselves.
func firstBindingTable() table {
	return table{
		columns: []metav1.TableColumnDefinition{{Name: "Age", Type: "date", Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"]}},
		cells:   func(_ runtime.Object, age string) ([]any, error) { return []any{age}, nil },
	}
}

func pathColumn(name, kind, path string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: kind, Description: "Custom resource definition column (in JSONPath format): " + path}
}

func conditionColumn(name, condition string) metav1.TableColumnDefinition {
	return pathColumn(name, "string", `.status.conditions[?(@.type=="`+condition+`")].status`)
}

func conditionCell(conditions []metav1.Condition, name string) any {
	if condition := meta.FindStatusCondition(conditions, name); condition != nil {
		return string(condition.Status)
	}
	return nil
}
