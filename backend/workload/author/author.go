package author

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/access"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/policy"
	"muster.dev/muster/backend/template"
	"muster.dev/muster/backend/workload/manifest"
)

// Auditor records an intent, runs do and records what came of it.
type Auditor interface {
	Do(ctx context.Context, action audit.Action, do func(ctx context.Context) error) error
}

// Options are what an Author works with.
type Options struct {
	// Clients gives the hub API as the actor sees it, not from a cache.
	Clients func(actor access.Actor) (client.Client, error)
	Audit   Auditor
}

// Author writes templates on behalf of whoever acts in ctx, who needs to be an
// operator.
type Author struct{ Options }

// New returns an Author.
func New(options Options) *Author { return &Author{options} }

// Made is an object as somebody wants it for the first time.
type Made struct {
	// YAML is one object.
	YAML string `json:"yaml"`
}

// Changed is an object as somebody wants it instead of what they read.
type Changed struct {
	// YAML is the object as it is to be.
	YAML string `json:"yaml"`
	// Base is the text that the change began with.
	Base string `json:"base"`
	// Force takes this change where somebody else changed the same field meanwhile.
	Force bool `json:"force,omitempty" validate:"optional"`
}

// Written is an object after a write.
type Written struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty" validate:"optional"`
	Name       string `json:"name"`
	// YAML is the object as it is stored, without what servers add and without
	// the values of Secrets.
	YAML string `json:"yaml"`
	// Listed says whether it has a page of its own although no policy holds it yet.
	Listed bool `json:"listed"`
}

// Create makes the object of a text. With dryRun nothing is made, nor recorded.
// It fails with fault.Senseless that names the fields, or with fault.Conflict and
// the code exists.
func (a *Author) Create(ctx context.Context, made Made, dryRun bool) (Written, error) {
	var stored *unstructured.Unstructured
	object, err := read(made.YAML)
	if err != nil {
		return Written{}, err
	}
	act := func(ctx context.Context) error {
		hub, err := a.as(ctx)
		if err != nil {
			return err
		}
		if err := settle(hub, object); err != nil {
			return err
		}
		options := []client.CreateOption{client.FieldOwner(policy.FieldManager), client.FieldValidation("Strict")}
		if dryRun {
			options = append(options, client.DryRunAll)
		}
		if err := hub.Create(ctx, object, options...); err != nil {
			return refusal(template.RefOf(object), err)
		}
		stored = object
		tell(ctx, nil, object)
		return nil
	}
	if err := a.record(ctx, "create", template.RefOf(object), dryRun, act); err != nil {
		return Written{}, err
	}
	return written(stored)
}

// Change writes what differs between a text and the one that it began with. With
// dryRun nothing is written, nor recorded. It fails with fault.Senseless that
// names the fields, or with fault.Conflict and the code stale, whose fields are
// those that somebody else changed as well.
func (a *Author) Change(ctx context.Context, ref template.Ref, changed Changed, dryRun bool) (Written, error) {
	var stored *unstructured.Unstructured
	act := func(ctx context.Context) error {
		hub, err := a.as(ctx)
		if err != nil {
			return err
		}
		patch, err := patchOf(ref, changed)
		if err != nil {
			return err
		}
		// Controllers write objects all the time: an object that moved between
		// reading and writing is judged anew.
		err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			stored, err = patch.write(ctx, hub, changed.Force, dryRun)
			return err
		})
		if err != nil {
			return refusal(ref, err)
		}
		return nil
	}
	if err := a.record(ctx, "update", ref, dryRun, act); err != nil {
		return Written{}, err
	}
	return written(stored)
}

// Delete takes an object away, once its name was repeated. What a policy carried
// of it goes from the members, unless the policy says to keep it.
func (a *Author) Delete(ctx context.Context, ref template.Ref, confirm string) error {
	return a.record(ctx, "delete", ref, false, func(ctx context.Context) error {
		if confirm != ref.Name {
			return fault.Invalid("to remove %s, confirm its name", ref).WithField("confirm", "must be "+ref.Name)
		}
		if err := kept(ref); err != nil {
			return err
		}
		hub, err := a.as(ctx)
		if err != nil {
			return err
		}
		live, err := fetch(ctx, hub, ref)
		if err != nil {
			return err
		}
		options := []client.DeleteOption{client.Preconditions{UID: ptr.To(live.GetUID())}, client.PropagationPolicy(metav1.DeletePropagationBackground)}
		if err := hub.Delete(ctx, live, options...); err != nil {
			return refusal(ref, err)
		}
		return nil
	})
}

// record runs act, within an entry of the audit unless nothing is written.
func (a *Author) record(ctx context.Context, verb string, ref template.Ref, dryRun bool, act func(ctx context.Context) error) error {
	if dryRun {
		return act(ctx)
	}
	return a.Audit.Do(ctx, audit.Action{Verb: verb, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name, Needs: access.RoleOperator}, act)
}

// as is the hub API as the actor of ctx, who must be an operator.
func (a *Author) as(ctx context.Context) (client.Client, error) {
	if err := access.Require(ctx, access.RoleOperator); err != nil {
		return nil, err
	}
	actor, _ := access.ActorFrom(ctx)
	hub, err := a.Clients(actor)
	if err != nil {
		return nil, fmt.Errorf("act as %s: %w", actor.Name, err)
	}
	return hub, nil
}

// settle refuses what is not to be made here and gives an object the namespace
// that it needs.
func settle(hub client.Client, object *unstructured.Unstructured) error {
	ref := template.RefOf(object)
	if err := kept(ref); err != nil {
		return err
	}
	gvk := object.GroupVersionKind()
	mapping, err := hub.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		return fault.Senseless("the hub has no kind %s in %s", ref.Kind, ref.APIVersion).WithCode(codeInvalid).WithField("kind", "is not served by the hub in "+ref.APIVersion).
			WithFix("look for a slip of the pen, or install its definition on the hub first")
	}
	if err != nil {
		return fmt.Errorf("look up %s: %w", ref, err)
	}
	namespaced := mapping.Scope.Name() == meta.RESTScopeNameNamespace
	switch {
	case namespaced && object.GetNamespace() == "":
		object.SetNamespace(metav1.NamespaceDefault)
	case !namespaced && object.GetNamespace() != "":
		return fault.Senseless("a %s has no namespace", ref.Kind).WithCode(codeInvalid).WithField("metadata.namespace", "must not be set")
	}
	return nil
}

// kept refuses what stays on the hub whatever policies say.
func kept(ref template.Ref) error {
	var scope *template.Scope
	switch {
	case strings.HasPrefix(ref.APIVersion, "policy.karmada.io/"):
		return fault.Senseless("a %s is a policy, not a workload", ref.Kind).WithCode(codeInvalid).WithField("kind", "is made under Policies").WithFix("make it under Policies")
	case scope.Skips(ref):
		return fault.Senseless("%s belongs to the hub itself and is carried nowhere", ref).WithCode(codeInvalid).WithField("", "belongs to the hub itself and is carried nowhere").
			WithFix("use another namespace, or kubectl for what the hub keeps")
	}
	return nil
}

// fetch reads an object. It fails with fault.NotFound.
func fetch(ctx context.Context, hub client.Client, ref template.Ref) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(ref.GroupVersionKind())
	err := hub.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, object)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil, fault.NotFound("there is no %s", ref)
	case err != nil:
		return nil, refusal(ref, err)
	}
	return object, nil
}

func written(object *unstructured.Unstructured) (Written, error) {
	text, err := manifest.YAML(manifest.Cleaned(object))
	if err != nil {
		return Written{}, err
	}
	ref := template.RefOf(object)
	return Written{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name, YAML: text}, nil
}
