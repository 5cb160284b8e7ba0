package manifestwork

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
)

// reconcile carries out one work.
func (a *Agent) reconcile(ctx context.Context, name string) error {
	work := a.work(name)
	switch {
	case work == nil:
		a.member.kinds.forget(name, nil)
		return a.abandon(ctx, name)
	case work.DeletionTimestamp != nil:
		return a.remove(ctx, work)
	}
	return a.apply(ctx, work)
}

// apply brings a work's manifests into the member and reports. The record comes
// first, for what it lists and owns can be found again. That the hub holds the work
// until its objects are gone takes two more writes to the hub's disk: nothing waits
// for them, and abandon sees to a work that goes before they are done.
func (a *Agent) apply(ctx context.Context, work *ocmworkv1.ManifestWork) error {
	var held *ocmworkv1.ManifestWork
	holding := make(chan error, 1)
	a.setHeld(work, slices.Contains(work.Finalizers, ocmworkv1.ManifestWorkFinalizer))
	go func() {
		var err error
		held, err = a.ensureFinalizer(ctx, work)
		holding <- err
	}()
	record, err := a.ensureRecord(ctx, work.Name)
	if err != nil {
		return errors.Join(err, <-holding)
	}
	outcomes, applied, failed := a.applyAll(ctx, work, ownerOf(record))
	if err := <-holding; err != nil {
		return errors.Join(err, a.keepRecord(ctx, record, applied, true))
	}
	a.setHeld(work, true)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if held.UID != work.UID || held.Generation != work.Generation { // it is in the queue again
		return a.keepRecord(ctx, record, applied, true)
	}
	work = held
	keep := map[place]struct{}{}
	polled := false
	for i := range outcomes {
		if outcomes[i].place.name != "" {
			keep[outcomes[i].place] = struct{}{}
			outcomes[i].unwatched = !a.member.kinds.watched(outcomes[i].place)
			polled = polled || outcomes[i].unwatched
		}
	}
	a.member.kinds.forget(work.Name, keep)
	unreadable := slices.ContainsFunc(outcomes, func(o outcome) bool { return o.place.name == "" })
	err = errors.Join(a.report(ctx, work, outcomes), a.keepRecord(ctx, record, applied, unreadable), failed)
	if err == nil && polled {
		a.queue.AddAfter(work.Name, a.o.StatusInterval)
	}
	return err
}

// setHeld notes whether the hub is known to hold a work until what it applied is gone.
func (a *Agent) setHeld(work *ocmworkv1.ManifestWork, held bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if held {
		delete(a.unheld, work.Name)
	} else {
		a.unheld[work.Name] = struct{}{}
	}
}

// abandon takes out what a work applied that went before the hub held it: nobody
// waits for that, and it has no time of grace.
func (a *Agent) abandon(ctx context.Context, name string) error {
	a.mu.Lock()
	_, unheld := a.unheld[name]
	a.mu.Unlock()
	if !unheld {
		return nil
	}
	if record := a.record(a.recordName(name)); record != nil && record.DeletionTimestamp == nil {
		if err := a.deleteRecord(ctx, record); err != nil {
			return fmt.Errorf("delete the record of manifest work %s, which is gone: %w", name, err)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.unheld, name)
	return nil
}

// ensureFinalizer marks a work as carried out: the hub keeps it until what it
// applied is gone.
func (a *Agent) ensureFinalizer(ctx context.Context, work *ocmworkv1.ManifestWork) (*ocmworkv1.ManifestWork, error) {
	if slices.Contains(work.Finalizers, ocmworkv1.ManifestWorkFinalizer) {
		return work, nil
	}
	marked, err := a.write(ctx, work, false, map[string]any{
		"metadata": map[string]any{"finalizers": append(slices.Clone(work.Finalizers), ocmworkv1.ManifestWorkFinalizer)},
	})
	if err != nil {
		return work, a.again(ctx, work.Name, err)
	}
	if seen := a.sawWork(marked); seen != nil {
		return seen, nil
	}
	return work, nil
}

// write writes to a work as it was seen.
func (a *Agent) write(ctx context.Context, work *ocmworkv1.ManifestWork, status bool, change map[string]any) (*unstructured.Unstructured, error) {
	data, err := patchOf(work, change)
	if err != nil {
		return nil, err
	}
	return a.hub.Patch(ctx, work.Name, data, status)
}

// again reads a work that somebody else has changed meanwhile.
func (a *Agent) again(ctx context.Context, name string, err error) error {
	if apierrors.IsConflict(err) {
		if fresh, getErr := a.hub.Get(ctx, name); getErr == nil {
			a.sawWork(fresh)
		}
	}
	return err
}

// applyAll applies the manifests of a work. It returns what became of each, in
// their order, and what the record is to list.
func (a *Agent) applyAll(ctx context.Context, work *ocmworkv1.ManifestWork, owner metav1.OwnerReference) ([]outcome, []ocmworkv1.AppliedManifestResourceMeta, error) {
	manifests := work.Spec.Workload.Manifests
	outcomes := make([]outcome, len(manifests))
	objects := make([]*unstructured.Unstructured, len(manifests))
	for i := range manifests {
		objects[i], outcomes[i].err = decode(manifests[i])
		outcomes[i].tried = true
		outcomes[i].meta.Ordinal = int32(i)
	}
	user, userErr := userOf(work.Spec.Executor)
	var applied []ocmworkv1.AppliedManifestResourceMeta
	var failed []error
	for _, i := range order(objects) {
		o := &outcomes[i]
		if objects[i] != nil {
			if o.err = userErr; o.err == nil {
				a.applyOne(ctx, work, objects[i], user, owner, o)
			} else {
				describe(o, objects[i], schema.GroupVersionResource{})
			}
		}
		if o.err != nil {
			failed = append(failed, o.err)
		}
		if o.object != nil && (o.err == nil || o.object.GetUID() != "") && !readOnly(o.option) {
			applied = append(applied, ocmworkv1.AppliedManifestResourceMeta{ResourceIdentifier: identify(o.place.resource, o.object),
				Version: o.place.resource.Version, UID: string(o.object.GetUID())})
		}
	}
	return outcomes, applied, errors.Join(failed...)
}

func readOnly(option *ocmworkv1.ManifestConfigOption) bool {
	return strategyOf(option).Type == ocmworkv1.UpdateStrategyReadOnly
}

// describe fills in what an outcome is about.
func describe(o *outcome, wanted *unstructured.Unstructured, resource schema.GroupVersionResource) {
	kind := wanted.GroupVersionKind()
	o.meta.Group, o.meta.Version, o.meta.Kind, o.meta.Resource = kind.Group, kind.Version, kind.Kind, resource.Resource
	o.meta.Name, o.meta.Namespace = wanted.GetName(), wanted.GetNamespace()
}

func (a *Agent) applyOne(ctx context.Context, work *ocmworkv1.ManifestWork, wanted *unstructured.Unstructured, user string, owner metav1.OwnerReference, o *outcome) {
	t, err := a.member.target(work.Name, wanted)
	if err != nil {
		describe(o, wanted, schema.GroupVersionResource{})
		o.err = err
		return
	}
	describe(o, wanted, t.place.resource)
	o.place = t.place
	id := identify(t.place.resource, wanted)
	o.option = optionOf(work.Spec.ManifestConfigs, id)
	t.strategy, t.owner = strategyOf(o.option), owner
	t.owns = t.strategy.Type != ocmworkv1.UpdateStrategyReadOnly && !orphaned(work.Spec.DeleteOption, id)
	if o.err = a.member.executors.check(ctx, user, t.place, t.strategy.Type, t.owns); o.err == nil {
		var client dynamic.Interface
		if client, o.err = a.member.executors.client(user); o.err == nil {
			t.api = a.member.at(client, t.place)
			o.object, o.err = t.apply(ctx)
		}
	}
	if o.err != nil && o.object == nil { // it may be there all the same
		if o.object, err = t.read(ctx, false); err != nil && !apierrors.IsForbidden(err) {
			o.unread = err
		}
	}
}

// report writes the status of a work, if it is another than the hub has.
func (a *Agent) report(ctx context.Context, work *ocmworkv1.ManifestWork, outcomes []outcome) error {
	for range attempts {
		status := a.reporter.status(work, outcomes)
		if sameStatus(&work.Status, status) {
			return nil
		}
		difference, err := statusDifference(&work.Status, status)
		if err != nil {
			return err
		}
		written, err := a.write(ctx, work, true, map[string]any{"status": difference})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil {
			a.sawWork(written)
			return nil
		}
		if !apierrors.IsConflict(err) {
			return fmt.Errorf("patch the status of manifest work %s: %w", work.Name, err)
		}
		if fresh, err := a.hub.Get(ctx, work.Name); err == nil {
			seen := a.sawWork(fresh)
			if seen == nil || seen.UID != work.UID || seen.Generation != work.Generation {
				return nil // there is a newer work to be carried out
			}
			work = seen
		}
	}
	return errors.New("the status is written by somebody else all the time")
}

func sameStatus(a, b *ocmworkv1.ManifestWorkStatus) bool { return equality.Semantic.DeepEqual(a, b) }

func statusDifference(before, after *ocmworkv1.ManifestWorkStatus) (json.RawMessage, error) {
	old, err := json.Marshal(before)
	if err != nil {
		return nil, fmt.Errorf("write the status: %w", err)
	}
	now, err := json.Marshal(after)
	if err != nil {
		return nil, fmt.Errorf("write the status: %w", err)
	}
	return jsonpatch.CreateMergePatch(old, now)
}

// remove takes out what a work that is being deleted has applied, and then lets
// the work go.
func (a *Agent) remove(ctx context.Context, work *ocmworkv1.ManifestWork) error {
	if !slices.Contains(work.Finalizers, ocmworkv1.ManifestWorkFinalizer) {
		a.member.kinds.forget(work.Name, nil)
		return a.abandon(ctx, work.Name)
	}
	record := a.record(a.recordName(work.Name))
	if record != nil {
		if err := a.report(ctx, work, a.look(ctx, work)); err != nil {
			return err
		}
		if record.DeletionTimestamp != nil {
			return nil // its end brings us back
		}
		if err := a.release(ctx, work, record); err != nil {
			return err
		}
		return a.deleteRecord(ctx, record)
	}
	a.member.kinds.forget(work.Name, nil)
	var finalizers any
	if others := slices.DeleteFunc(slices.Clone(work.Finalizers), func(f string) bool { return f == ocmworkv1.ManifestWorkFinalizer }); len(others) > 0 {
		finalizers = others
	}
	if current := a.work(work.Name); current != nil && current.UID == work.UID {
		work = current
	}
	_, err := a.write(ctx, work, false, map[string]any{"metadata": map[string]any{"finalizers": finalizers}})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return a.again(ctx, work.Name, err)
}

// look sees what is there of a work, without applying anything.
func (a *Agent) look(ctx context.Context, work *ocmworkv1.ManifestWork) []outcome {
	outcomes := make([]outcome, len(work.Spec.Workload.Manifests))
	for i, m := range work.Spec.Workload.Manifests {
		o := &outcomes[i]
		o.meta.Ordinal = int32(i)
		wanted, err := decode(m)
		if err != nil {
			continue
		}
		t, err := a.member.target(work.Name, wanted)
		if err != nil {
			describe(o, wanted, schema.GroupVersionResource{})
			continue
		}
		describe(o, wanted, t.place.resource)
		o.place, o.option = t.place, optionOf(work.Spec.ManifestConfigs, identify(t.place.resource, wanted))
		o.object, o.unread = t.read(ctx, false)
	}
	return outcomes
}

// release takes the record off the owners of what is to stay, so that it does not
// go with the record.
func (a *Agent) release(ctx context.Context, work *ocmworkv1.ManifestWork, record *ocmworkv1.AppliedManifestWork) error {
	var errs []error
	for _, m := range record.Status.AppliedResources {
		if !orphaned(work.Spec.DeleteOption, m.ResourceIdentifier) {
			continue
		}
		p := place{schema.GroupVersionResource{Group: m.Group, Version: m.Version, Resource: m.Resource}, m.Namespace, m.Name}
		api := a.member.at(a.member.client, p)
		o, err := api.Get(ctx, m.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err == nil {
			if by, _ := owned(o, ownerOf(record)); by {
				_, err = disown(ctx, api, o, ownerOf(record))
			}
		}
		if err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("leave %s %s to the member: %w", m.Resource, m.Name, err))
		}
	}
	return errors.Join(errs...)
}
