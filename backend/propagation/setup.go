package propagation

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"

	"muster.dev/muster/agent/interpret"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/execution"
	"muster.dev/muster/backend/kube"
)

// Interpreter knows the kinds of templates. *interpret.Interpreter is one.
type Interpreter interface {
	Reviser
	Replicas(ctx context.Context, o *unstructured.Unstructured) (n int32, need *workv1alpha2.ReplicaRequirements, workload bool, err error)
	Aggregate(ctx context.Context, template *unstructured.Unstructured, items []workv1alpha2.AggregatedStatusItem) (changed *unstructured.Unstructured, aggregates bool, err error)
}

// Deps are what the controllers of this package work with.
type Deps struct {
	// Members reaches push members.
	Members *kube.Members
	// Interpreter knows the kinds; nil: the native ones.
	Interpreter *interpret.Interpreter
	// SkippedNamespaces are expressions for the names of namespaces that are
	// propagated to no member, each of which has to match a whole name (contract
	// section 3.1). nil: kube-.*
	SkippedNamespaces []string
}

// SetupWithManager adds the controllers of this package to the manager.
func SetupWithManager(m ctrl.Manager, d Deps) error {
	if d.Interpreter == nil {
		d.Interpreter = interpret.Native()
	}
	hub, live := m.GetClient(), m.GetAPIReader()
	if err := NewImpersonationReconciler(hub, live, m.GetEventRecorder("unified-auth-controller")).SetupWithManager(m); err != nil {
		return fmt.Errorf("set up controller impersonation: %w", err)
	}
	return execution.SetupWithManager(m, execution.Deps{Members: d.Members, Interpreter: d.Interpreter})
}
