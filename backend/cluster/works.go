package cluster

import (
	"context"
	"fmt"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/access"
	"muster.dev/muster/backend/apis"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/live"
)

// WorksTopics is the prefix of the live topics of single clusters' works; their
// rows are Work, keyed by name.
const WorksTopics = "works/"

// WorksPage is one page of a cluster's works; Next continues, empty at the end.
// Epoch and Seq tell which changes of the cluster's topic the page holds.
type WorksPage struct {
	Works []Work
	Next  string
	Total int
	Epoch string
	Seq   uint64
}

// Works lists what the hub keeps in a member, as the actor may see it.
func (s *Service) Works(ctx context.Context, name string, limit int, from string) (WorksPage, error) {
	hub, err := s.as(ctx, access.RoleViewer)
	if err != nil {
		return WorksPage{}, err
	}
	if _, err := s.find(ctx, name); err != nil {
		return WorksPage{}, err
	}
	page := WorksPage{}
	page.Epoch, page.Seq = s.Live.Seq(WorksTopics + name) // before the list: a change may be told twice, never lost
	var works workv1alpha1.WorkList
	err = hub.List(ctx, &works, client.InNamespace(apis.ExecutionSpace(name)), client.Limit(int64(limit)), client.Continue(from))
	if err != nil {
		return WorksPage{}, fmt.Errorf("list works of %s: %w", name, kube.Fault(err))
	}
	page.Works, page.Next = make([]Work, 0, len(works.Items)), works.Continue
	for i := range works.Items {
		page.Works = append(page.Works, workFromObject(&works.Items[i]))
	}
	var counted workv1alpha1.WorkList
	if err := s.Cache.List(ctx, &counted, client.InNamespace(apis.ExecutionSpace(name)), client.UnsafeDisableDeepCopy); err == nil {
		page.Total = len(counted.Items)
	}
	page.Total = max(page.Total, len(page.Works))
	return page, nil
}

// followWorks publishes the changes of works to those who look at their cluster,
// until ctx ends.
func (s *Service) followWorks(ctx context.Context) error {
	informer, err := s.Cache.GetInformer(ctx, &workv1alpha1.Work{}, cache.BlockUntilSynced(false))
	if err != nil && ctx.Err() != nil {
		return nil // stopped before it began
	}
	if err != nil {
		return fmt.Errorf("follow works: %w", err)
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { s.workChanged(object, live.OpUpsert) },
		UpdateFunc: func(_, object any) { s.workChanged(object, live.OpUpsert) },
		DeleteFunc: func(object any) {
			if last, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
				object = last.Obj
			}
			s.workChanged(object, live.OpDelete)
		},
	})
	if err != nil {
		return fmt.Errorf("follow works: %w", err)
	}
	return nil
}

func (s *Service) workChanged(object any, op string) {
	work, ok := object.(*workv1alpha1.Work)
	if !ok {
		return
	}
	cluster, ok := apis.ClusterOfExecutionSpace(work.Namespace)
	if !ok || !s.Live.Wanted(WorksTopics+cluster) {
		return
	}
	event := live.Event{Op: op, Key: work.Name}
	if op == live.OpUpsert {
		event.Row = workFromObject(work)
	}
	s.Live.Publish(WorksTopics+cluster, event)
}
