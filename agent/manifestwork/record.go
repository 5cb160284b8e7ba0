package manifestwork

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
)

var (
	manifestWorks = ocmworkv1.GroupVersion.WithResource("manifestworks")
	appliedWorks  = ocmworkv1.GroupVersion.WithResource("appliedmanifestworks")
)

// recordName names the record of a work of this hub.
func (a *Agent) recordName(work string) string { return a.hubHash + "-" + work }

// ensureRecord returns the record of a work, made if it is missing.
func (a *Agent) ensureRecord(ctx context.Context, work string) (*ocmworkv1.AppliedManifestWork, error) {
	api := a.member.client.Resource(appliedWorks)
	record := a.record(a.recordName(work))
	if record == nil {
		fresh := &ocmworkv1.AppliedManifestWork{
			TypeMeta:   metav1.TypeMeta{APIVersion: ocmworkv1.GroupVersion.String(), Kind: "AppliedManifestWork"},
			ObjectMeta: metav1.ObjectMeta{Name: a.recordName(work), Finalizers: []string{ocmworkv1.AppliedManifestWorkFinalizer}},
			Spec:       ocmworkv1.AppliedManifestWorkSpec{HubHash: a.hubHash, AgentID: a.o.AgentID, ManifestWorkName: work},
		}
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(fresh)
		if err != nil {
			return nil, fmt.Errorf("write a record: %w", err)
		}
		made, err := api.Create(ctx, &unstructured.Unstructured{Object: fields}, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			made, err = api.Get(ctx, fresh.Name, metav1.GetOptions{})
		}
		if err != nil {
			return nil, fmt.Errorf("create the record %s: %w", fresh.Name, err)
		}
		if record = a.sawRecord(made); record == nil {
			return nil, fmt.Errorf("the record %s is not understood", fresh.Name)
		}
	}
	switch {
	case record.DeletionTimestamp != nil:
		return nil, errRecordGoing
	case !slices.Contains(record.Finalizers, ocmworkv1.AppliedManifestWorkFinalizer) || record.Spec.AgentID != a.o.AgentID:
		return a.patchRecord(ctx, record, "", map[string]any{
			"metadata": map[string]any{"finalizers": append(slices.Clone(record.Finalizers), missing(record.Finalizers, ocmworkv1.AppliedManifestWorkFinalizer)...)},
			"spec":     map[string]any{"agentID": a.o.AgentID},
		})
	}
	return record, nil
}

// errRecordGoing says that what an earlier work of the name left is still there.
var errRecordGoing = errors.New("what an earlier work of this name applied is being removed")

func missing(all []string, one string) []string {
	if slices.Contains(all, one) {
		return nil
	}
	return []string{one}
}

// patchRecord writes to a record as it was seen.
func (a *Agent) patchRecord(ctx context.Context, record *ocmworkv1.AppliedManifestWork, subresource string, change map[string]any) (*ocmworkv1.AppliedManifestWork, error) {
	data, err := patchOf(record, change)
	if err != nil {
		return nil, err
	}
	var subresources []string
	if subresource != "" {
		subresources = append(subresources, subresource)
	}
	o, err := a.member.client.Resource(appliedWorks).Patch(ctx, record.Name, types.MergePatchType, data, metav1.PatchOptions{}, subresources...)
	if err != nil {
		return nil, err
	}
	if seen := a.sawRecord(o); seen != nil {
		return seen, nil
	}
	return record, nil
}

// patchOf is a merge patch to an object as it was seen: if it has changed since,
// the patch is a conflict, and nothing happens.
func patchOf(o metav1.Object, change map[string]any) ([]byte, error) {
	metadata, _ := change["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		change["metadata"] = metadata
	}
	metadata["uid"], metadata["resourceVersion"] = o.GetUID(), o.GetResourceVersion()
	data, err := json.Marshal(change)
	if err != nil {
		return nil, fmt.Errorf("write a patch: %w", err)
	}
	return data, nil
}

// keepRecord notes in the record what is applied, and removes what was before and
// is not any more.
func (a *Agent) keepRecord(ctx context.Context, record *ocmworkv1.AppliedManifestWork, applied []ocmworkv1.AppliedManifestResourceMeta, failed bool) error {
	var errs []error
	keep := slices.Clone(applied)
	for _, old := range record.Status.AppliedResources {
		if slices.ContainsFunc(applied, func(m ocmworkv1.AppliedManifestResourceMeta) bool {
			return m.ResourceIdentifier == old.ResourceIdentifier
		}) {
			continue
		}
		gone := false
		var err error
		if !failed { // a manifest that cannot be read now may be that of this object
			gone, err = a.removeObject(ctx, record, old)
		}
		if err != nil {
			errs = append(errs, err)
		}
		if !gone {
			keep = append(keep, old)
		}
	}
	slices.SortFunc(keep, compareApplied)
	if !equality.Semantic.DeepEqual(keep, record.Status.AppliedResources) || record.Status.EvictionStartTime != nil {
		_, err := a.patchRecord(ctx, record, "status", map[string]any{"status": map[string]any{"appliedResources": keep, "evictionStartTime": nil}})
		errs = append(errs, err)
	}
	if len(keep) > len(applied) && !failed {
		a.queue.AddAfter(record.Spec.ManifestWorkName, time.Second) // until it is gone
	}
	return errors.Join(errs...)
}

func compareApplied(a, b ocmworkv1.AppliedManifestResourceMeta) int {
	for _, pair := range [][2]string{{a.Group, b.Group}, {a.Version, b.Version}, {a.Resource, b.Resource}, {a.Namespace, b.Namespace}, {a.Name, b.Name}} {
		if pair[0] != pair[1] {
			if pair[0] < pair[1] {
				return -1
			}
			return 1
		}
	}
	return 0
}

// removeObject deletes an object that a record owns alone. One that others own,
// too, is left to them, and one that the record does not own is left alone. gone
// says that nothing is left to do.
func (a *Agent) removeObject(ctx context.Context, record *ocmworkv1.AppliedManifestWork, m ocmworkv1.AppliedManifestResourceMeta) (gone bool, err error) {
	p := place{schema.GroupVersionResource{Group: m.Group, Version: m.Version, Resource: m.Resource}, m.Namespace, m.Name}
	api := a.member.at(a.member.client, p)
	o, err := api.Get(ctx, m.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("get %s %s: %w", m.Resource, m.Name, err)
	}
	if m.UID != "" && string(o.GetUID()) != m.UID {
		return true, nil // another object by now
	}
	owner := ownerOf(record)
	by, byOthers := owned(o, owner)
	switch {
	case !by:
		return true, nil
	case byOthers:
		_, err := disown(ctx, api, o, owner)
		return err == nil, err
	case o.GetDeletionTimestamp() != nil:
		return false, nil
	}
	err = api.Delete(ctx, m.Name, metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground), Preconditions: &metav1.Preconditions{UID: ptr.To(o.GetUID())}})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return false, fmt.Errorf("delete %s %s: %w", m.Resource, m.Name, err)
	}
	_, err = api.Get(ctx, m.Name, metav1.GetOptions{})
	return apierrors.IsNotFound(err), nil
}

// finalize removes what a record that is being deleted owns, and then lets it go.
func (a *Agent) finalize(ctx context.Context, record *ocmworkv1.AppliedManifestWork) error {
	if !slices.Contains(record.Finalizers, ocmworkv1.AppliedManifestWorkFinalizer) {
		return nil
	}
	var left []ocmworkv1.AppliedManifestResourceMeta
	var errs []error
	for _, m := range slices.Backward(record.Status.AppliedResources) {
		gone, err := a.removeObject(ctx, record, m)
		if err != nil {
			errs = append(errs, err)
		}
		if !gone {
			left = append(left, m)
		}
	}
	if len(left) > 0 {
		if len(errs) == 0 {
			a.records.AddAfter(record.Name, 500*time.Millisecond) // the member is deleting it
		}
		return errors.Join(errs...)
	}
	if len(record.Status.AppliedResources) > 0 {
		next, err := a.patchRecord(ctx, record, "status", map[string]any{"status": map[string]any{"appliedResources": nil}})
		if err != nil {
			return err
		}
		record = next
	}
	var finalizers any
	if others := slices.DeleteFunc(slices.Clone(record.Finalizers), func(f string) bool { return f == ocmworkv1.AppliedManifestWorkFinalizer }); len(others) > 0 {
		finalizers = others
	}
	_, err := a.patchRecord(ctx, record, "", map[string]any{"metadata": map[string]any{"finalizers": finalizers}})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// reconcileRecord looks after one record: those being deleted are finished, those
// without a work are evicted after a time of grace.
func (a *Agent) reconcileRecord(ctx context.Context, name string) error {
	record := a.record(name)
	if record == nil || !a.concerns(record) {
		return nil
	}
	if record.DeletionTimestamp != nil {
		return a.finalize(ctx, record)
	}
	if !a.isOrphan(record) {
		if record.Status.EvictionStartTime != nil && record.Spec.HubHash == a.hubHash {
			_, err := a.patchRecord(ctx, record, "status", map[string]any{"status": map[string]any{"evictionStartTime": nil}})
			return err
		}
		return nil
	}
	now := a.now()
	if len(record.Status.AppliedResources) == 0 {
		// The agent ended before its first pass did; the hub may never have held the work.
		return a.deleteRecord(ctx, record)
	}
	if record.Status.EvictionStartTime == nil {
		a.log.Warn("the work of applied objects is gone; they are removed after a time of grace", "cluster", a.o.Cluster, "name", record.Spec.ManifestWorkName, "grace", a.o.EvictionGrace)
		_, err := a.patchRecord(ctx, record, "status", map[string]any{"status": map[string]any{"evictionStartTime": metav1.NewTime(now).Rfc3339Copy()}})
		if err == nil {
			a.records.AddAfter(name, a.o.EvictionGrace)
		}
		return err
	}
	if left := record.Status.EvictionStartTime.Add(a.o.EvictionGrace).Sub(now); left > 0 {
		a.records.AddAfter(name, left+time.Second)
		return nil
	}
	a.log.Warn("applied objects are removed: their work is gone", "cluster", a.o.Cluster, "name", record.Spec.ManifestWorkName)
	return a.deleteRecord(ctx, record)
}

func (a *Agent) deleteRecord(ctx context.Context, record *ocmworkv1.AppliedManifestWork) error {
	err := a.member.client.Resource(appliedWorks).Delete(ctx, record.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(record.UID)}})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// concerns says whether a record is this agent's to look after: of its hub, or its
// own of another hub, which it served before.
func (a *Agent) concerns(record *ocmworkv1.AppliedManifestWork) bool {
	return record.Spec.HubHash == a.hubHash || a.o.AgentID != "" && record.Spec.AgentID == a.o.AgentID
}

// isOrphan says whether the work of a record is gone, as far as the hub could be
// asked.
func (a *Agent) isOrphan(record *ocmworkv1.AppliedManifestWork) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.hubSeen {
		return false
	}
	return record.Spec.HubHash != a.hubHash || a.works[record.Spec.ManifestWorkName] == nil
}
