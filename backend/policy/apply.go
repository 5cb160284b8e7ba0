package policy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/access"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/kube"
)

// Codes of conflicts between writers.
const (
	// codeStale: somebody wrote the policy after it was read.
	codeStale = "stale"
	// codeOwned: fields belong to another manager.
	codeOwned = "owned"
)

// Write is a policy as somebody wants it.
type Write struct {
	// YAML is the whole policy; what it leaves out is taken away.
	YAML string `json:"yaml"`
	// ResourceVersion is of the policy that was edited. If it was written since,
	// this write is refused as stale.
	ResourceVersion string `json:"resourceVersion,omitempty" validate:"optional"`
	// Force takes fields over from other managers.
	Force bool `json:"force,omitempty" validate:"optional"`
}

// Apply creates or changes a policy as the actor, who needs to be an operator,
// by server-side apply. With dryRun nothing is written, nor recorded. It fails
// with fault.Senseless that names the fields, or with a fault.Conflict: stale or
// owned.
func (s *Service) Apply(ctx context.Context, ref Ref, write Write, dryRun bool) (Detail, error) {
	var stored *unstructured.Unstructured
	act := func(ctx context.Context) error {
		hub, err := s.as(ctx, access.RoleOperator)
		if err != nil {
			return err
		}
		desired, err := readDocument(ref, s.schemas[ref.Kind.Resource], write.YAML)
		if err != nil {
			return err
		}
		w := writer{hub: hub, ref: ref, schema: s.schemas[ref.Kind.Resource], write: write, dryRun: dryRun}
		// A conflict of versions is worth another try, unless the actor named one.
		err = retry.OnError(retry.DefaultRetry, func(err error) bool { return apierrors.IsConflict(err) && write.ResourceVersion == "" }, func() error {
			stored, err = w.apply(ctx, desired)
			return err
		})
		if err != nil {
			return refusal(ref, err)
		}
		tell(ctx, difference(ref.Kind, w.live, stored))
		return nil
	}
	var err error
	if dryRun {
		err = act(ctx)
	} else {
		action := audit.Action{Verb: "apply", Kind: ref.Kind.Name, Namespace: ref.Namespace, Name: ref.Name, Needs: access.RoleOperator}
		err = s.Audit.Do(ctx, action, act)
	}
	if err != nil {
		return Detail{}, err
	}
	return s.detailOf(ref.Kind, stored)
}

// writer writes one policy.
type writer struct {
	hub    client.Client
	ref    Ref
	schema *kindSchema
	write  Write
	dryRun bool
	// live is the policy as it was read before the write; nil: there was none.
	live *unstructured.Unstructured
}

// apply writes desired and returns what is stored then.
func (w *writer) apply(ctx context.Context, desired *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live, err := fetch(ctx, w.hub, w.ref)
	missing := fault.Is(err, fault.KindNotFound)
	switch {
	case err != nil && !missing:
		return nil, err
	case missing && w.write.ResourceVersion != "":
		return nil, fault.Conflict("%s was removed in the meantime", w.ref).WithCode(codeStale).WithFix("save it as a new policy, or let it be")
	case missing:
		w.live = nil
		return w.send(ctx, desired, false)
	}
	w.live = live
	if w.write.ResourceVersion != "" && w.write.ResourceVersion != live.GetResourceVersion() {
		return nil, stale(w.ref)
	}
	if live.GetDeletionTimestamp() != nil {
		return nil, fault.Conflict("%s is being removed", w.ref).WithFix("wait until it is gone, then create it again")
	}
	desired = desired.DeepCopy()
	desired.SetResourceVersion(live.GetResourceVersion())
	if left := removals(w.ref.Kind, w.schema, live, desired); len(left) > 0 {
		return w.replace(ctx, desired, left)
	}
	stored, err := w.send(ctx, desired, w.write.Force)
	if foreign, owned := foreignOwners(err); owned && len(foreign) == 0 {
		// Only the dashboard itself owns them, by an earlier replace.
		return w.send(ctx, desired, true)
	} else if owned {
		return nil, ownedFault(w.ref, foreign)
	}
	return stored, err
}

// send applies desired.
func (w *writer) send(ctx context.Context, desired *unstructured.Unstructured, force bool) (*unstructured.Unstructured, error) {
	options := []client.ApplyOption{client.FieldOwner(FieldManager)}
	if force {
		options = append(options, client.ForceOwnership)
	}
	if w.dryRun {
		options = append(options, client.DryRunAll)
	}
	sent := desired.DeepCopy()
	if err := w.hub.Apply(ctx, client.ApplyConfigurationFromUnstructured(sent), options...); err != nil {
		return nil, err
	}
	return sent, nil
}

// replace writes desired where an apply would leave fields in place that it
// leaves out. It is one update, since taking fields away before or after an
// apply would let a policy be in force, for a moment, that nobody wrote.
func (w *writer) replace(ctx context.Context, desired *unstructured.Unstructured, left []removal) (*unstructured.Unstructured, error) {
	if !w.write.Force {
		owners := map[string][]string{}
		for _, r := range left {
			if len(r.owners) > 0 {
				owners[dotted(r.path)] = r.owners
			}
		}
		// What desired changes may be owned as well: only the API server can tell.
		probe := writer{hub: w.hub, ref: w.ref, dryRun: true}
		if _, err := probe.send(ctx, desired, false); err != nil {
			changed, _ := foreignOwners(err)
			maps.Copy(owners, changed)
		}
		if len(owners) > 0 {
			return nil, ownedFault(w.ref, owners)
		}
	}
	next := w.live.DeepCopy()
	next.SetManagedFields(nil)
	next.Object["spec"] = desired.Object["spec"]
	labels, annotations := desired.GetLabels(), desired.GetAnnotations()
	if id := w.live.GetLabels()[w.ref.Kind.idLabel]; id != "" {
		labels = with(labels, w.ref.Kind.idLabel, id)
	}
	if last := w.live.GetAnnotations()[lastApplied]; last != "" {
		annotations = with(annotations, lastApplied, last)
	}
	next.SetLabels(labels)
	next.SetAnnotations(annotations)
	options := []client.UpdateOption{client.FieldOwner(FieldManager), client.FieldValidation("Strict")}
	if w.dryRun {
		options = append(options, client.DryRunAll)
	}
	if err := w.hub.Update(ctx, next, options...); err != nil {
		return nil, err
	}
	return next, nil
}

func with(pairs map[string]string, key, value string) map[string]string {
	pairs = maps.Clone(pairs)
	if pairs == nil {
		pairs = map[string]string{}
	}
	pairs[key] = value
	return pairs
}

// foreignOwners tells whether err is about fields of other managers, and who
// they are but for the dashboard itself.
func foreignOwners(err error) (map[string][]string, bool) {
	var refused apierrors.APIStatus
	if !errors.As(err, &refused) {
		return nil, false
	}
	found := conflicts(refused.Status())
	foreign := map[string][]string{}
	for field, owners := range found {
		if owners = slices.DeleteFunc(owners, func(owner string) bool { return owner == FieldManager }); len(owners) > 0 {
			foreign[field] = owners
		}
	}
	return foreign, len(found) > 0
}

func ownedFault(ref Ref, owners map[string][]string) error {
	problem := fault.Conflict("%s has fields that somebody else keeps", ref).WithCode(codeOwned).
		WithFix("leave them as they are, or take them over; their manager may set them back")
	for _, field := range slices.Sorted(maps.Keys(owners)) {
		problem.WithField(field, "owned by "+strings.Join(owners[field], ", "))
	}
	return problem
}

func stale(ref Ref) error {
	return fault.Conflict("%s was changed by somebody else in the meantime", ref).WithCode(codeStale).
		WithFix("read it again and carry your changes over")
}

// refusal is what the API server refused, as a fault.
func refusal(ref Ref, err error) error {
	if _, ok := fault.As(err); ok {
		return err
	}
	if apierrors.IsConflict(err) {
		return stale(ref)
	}
	if known, ok := fault.As(kube.Fault(err)); ok {
		if known.Kind == fault.KindInvalid { // 422 from the API server, too
			known.Kind = fault.KindSenseless
			known.WithCode(codeInvalid)
		}
		return known
	}
	return fmt.Errorf("write %s: %w", ref, err)
}
