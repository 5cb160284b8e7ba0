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
	"muster.dev/muster/backend/propagation/work"
	"muster.dev/muster/backend/template"
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
	// Templates are the objects of the hub. Without them only what every member
	// gets is sent to members.
	Templates Templates
	// Interpreter knows the kinds; nil: the native ones.
	Interpreter *interpret.Interpreter
	// SkippedNamespaces are expressions for the names of namespaces that are
	// propagated to no member; nil: template.DefaultSkippedNamespaces.
	SkippedNamespaces []string
	// QuotasEnforced says that admission holds bindings to FederatedResourceQuotas.
	QuotasEnforced bool
	// Unserved takes in which clusters cannot be sent what they are to have; nil if
	// only bindings show it.
	Unserved *Unserved
}

// SetupWithManager adds the controllers of this package to the manager, and those
// that execute the Works of push members.
func SetupWithManager(m ctrl.Manager, d Deps) error {
	if d.Interpreter == nil {
		d.Interpreter = interpret.Native()
	}
	if err := addIndexes(context.Background(), m); err != nil {
		return err
	}
	hub, live := m.GetClient(), m.GetAPIReader()
	if err := NewImpersonationReconciler(hub, live, m.GetEventRecorder("unified-auth-controller")).SetupWithManager(m); err != nil {
		return fmt.Errorf("set up controller impersonation: %w", err)
	}
	if err := execution.SetupWithManager(m, execution.Deps{Members: d.Members, Interpreter: d.Interpreter}); err != nil {
		return err
	}
	if err := setUpNamespaces(m, d); err != nil {
		return err
	}
	if d.Templates == nil {
		return nil
	}
	quotas := &QuotaReconciler{hub: hub, writer: work.Writer{Hub: hub, Live: live}, events: kube.NewAnnouncer(m.GetEventRecorder("federated-resource-quota-sync-controller")), troubles: newTroubles(), enforced: d.QuotasEnforced}
	if err := quotas.setup(m); err != nil {
		return fmt.Errorf("set up controller federated-resource-quota: %w", err)
	}
	return setUpBindings(m, d)
}

func setUpNamespaces(m ctrl.Manager, d Deps) error {
	skipped := d.SkippedNamespaces
	if skipped == nil {
		skipped = template.DefaultSkippedNamespaces
	}
	scope, err := template.NewScope(skipped)
	if err != nil {
		return err
	}
	namespaces := &NamespaceReconciler{hub: m.GetClient(), works: work.Writer{Hub: m.GetClient(), Live: m.GetAPIReader()}, scope: scope}
	if err := namespaces.setup(m); err != nil {
		return fmt.Errorf("set up controller namespace-sync: %w", err)
	}
	return nil
}

func setUpBindings(m ctrl.Manager, d Deps) error {
	bindings := newBindingReconciler(m.GetClient(), m.GetAPIReader(), d, m.GetEventRecorder("binding-controller"))
	status := newStatusReconciler(m.GetClient(), d, bindings, m.GetEventRecorder("binding-status-controller"))
	if err := bindings.setup(m); err != nil {
		return fmt.Errorf("set up controller binding: %w", err)
	}
	if err := status.setup(m); err != nil {
		return fmt.Errorf("set up controller binding-status: %w", err)
	}
	followTemplates(d.Templates, bindings.external, bindings.status)
	if err := m.Add(&relearn{hub: m.GetClient(), interpreter: d.Interpreter, feeds: []*feed{bindings.external, bindings.status}}); err != nil {
		return fmt.Errorf("follow the interpreter: %w", err)
	}
	return nil
}
