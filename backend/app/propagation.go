package app

import (
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/agent/interpret"
	"muster.dev/muster/backend/access"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/estimator"
	"muster.dev/muster/backend/eviction"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/policy"
	"muster.dev/muster/backend/propagation"
	"muster.dev/muster/backend/scheduling"
	"muster.dev/muster/backend/template"
	"muster.dev/muster/backend/workload"
	"muster.dev/muster/deploy"
)

// spread is what brings templates to members.
type spread struct {
	manager     ctrl.Manager
	interpreter *interpret.Interpreter
	templates   *template.Cache
	scheduler   *scheduling.Scheduler
	misses      *policy.Misses
	troubles    *template.Troubles
	unserved    *propagation.Unserved
	members     *kube.Members
}

// newSpread adds the controllers that bring templates to members to a manager.
func (a *App) newSpread(manager ctrl.Manager, members *kube.Members) (*spread, error) {
	s := &spread{
		manager: manager, interpreter: newInterpreter(), members: members,
		misses: policy.NewMisses(), troubles: template.NewTroubles(), unserved: propagation.NewUnserved(),
	}
	if err := manager.Add(&lessons{cache: manager.GetCache(), interpreter: s.interpreter}); err != nil {
		return nil, fmt.Errorf("add interpreter: %w", err)
	}
	if a.config.Gates.FederatedQuotaEnforcement {
		a.policies.EnforceQuotas(manager.GetCache())
	}
	var err error
	if s.scheduler, err = a.newScheduler(manager); err != nil {
		return nil, fmt.Errorf("set up scheduler: %w", err)
	}
	s.templates, err = template.SetupWithManager(manager, template.Deps{
		Config: a.plane.Config(), Interpreter: s.interpreter, Scheduler: s.scheduler, SkippedNamespaces: a.config.SkippedNamespaces, Gates: a.config.Gates,
		Misses: s.misses, Troubles: s.troubles,
	})
	if err != nil {
		return nil, fmt.Errorf("set up templates: %w", err)
	}
	err = propagation.SetupWithManager(manager, propagation.Deps{
		Members: members, Templates: s.templates, Interpreter: s.interpreter, SkippedNamespaces: a.config.SkippedNamespaces,
		QuotasEnforced: a.config.Gates.FederatedQuotaEnforcement, Unserved: s.unserved,
	})
	if err != nil {
		return nil, fmt.Errorf("set up propagation: %w", err)
	}
	err = eviction.SetupWithManager(manager, eviction.Deps{
		Gates: a.config.Gates, Taints: a.config.TaintEviction, Timeout: a.config.EvictionTimeout, Rate: a.config.EvictionRate,
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// newScheduler adds the scheduler, and the estimators that it asks if it is told to.
func (a *App) newScheduler(manager ctrl.Manager) (*scheduling.Scheduler, error) {
	deps := scheduling.Deps{Gates: a.config.Gates}
	if a.config.Estimator.Enabled {
		estimators, err := estimator.New(a.config.Estimator, estimator.Deps{Services: manager.GetAPIReader(), Recorder: manager.GetEventRecorder(policyv1alpha1.DefaultSchedulerName)})
		if err != nil {
			return nil, err
		}
		if err := manager.Add(estimators); err != nil {
			return nil, fmt.Errorf("add estimators: %w", err)
		}
		deps.Estimator = estimators
	}
	return scheduling.SetupWithManager(manager, deps)
}

// workloads is what shows all this.
func (s *spread) workloads(a *App, clients func(access.Actor) (client.Client, error)) *workload.Service {
	return workload.NewService(workload.ServiceOptions{
		Cache: s.manager.GetCache(), Templates: s.templates, Troubles: s.troubles, Unserved: s.unserved, Scheduler: s.scheduler, Quotas: a.policies, Interpreter: s.interpreter,
		Clients: clients, Audit: a.audit, Live: a.live, Members: s.members, CRDs: deploy.CRDs(), Gates: a.config.Gates,
	})
}
