package template

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// errOvertaken: the template was replaced while it was handled.
var errOvertaken = errors.New("the object was replaced")

// overtaken says whether a write came too late. The event of what came first has
// the template handled again.
func overtaken(err error) bool {
	return errors.Is(err, errOvertaken) || apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// writeClaim makes the template carry a claim and no other, if it does not.
func (d *detector) writeClaim(ctx context.Context, s *detection, claim Claim) error {
	metadata := claim.patchOf(s.object)
	if metadata == nil {
		return nil
	}
	resource, ok := d.cache.Resource(s.ref.APIVersion, s.ref.Kind)
	if !ok {
		return errOvertaken
	}
	metadata["uid"] = s.object.GetUID() // refuses another object of the name
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return fmt.Errorf("encode claim: %w", err)
	}
	stored, err := d.metadata.Resource(resource).Namespace(s.ref.Namespace).Patch(ctx, s.ref.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if cause, invalid := apierrors.StatusCause(err, metav1.CauseTypeFieldValueInvalid); invalid && cause.Field == "metadata.uid" {
		return errOvertaken
	}
	if err != nil {
		return fmt.Errorf("write claim: %w", err)
	}
	s.version = stored.ResourceVersion
	return nil
}

// refused says whether the API will not have a write, as it is, later either.
func refused(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) || overtaken(err) {
		return false
	}
	code := answer.Status().Code
	return code >= 400 && code < 500 && code != http.StatusNotFound && code != http.StatusConflict && code != http.StatusTooManyRequests
}

// bind creates the binding, or has it follow its template and policy.
func (d *detector) bind(ctx context.Context, s *detection) error {
	b, err := d.binding(ctx, bindingOf(s.ref))
	if err != nil {
		return err
	}
	if b != nil && (b.GetDeletionTimestamp() != nil || !belongsTo(b, s.object)) {
		s.waits = true // for the end of the binding of an object that had this name
		return d.removeBinding(ctx, b)
	}
	claim := ClaimOf(s.policy)
	if bound := b != nil && b.BindingSpec().Placement != nil; !follows(s.policy, s.object, s.change.mark, bound) {
		if carried, ok := claimOn(b); ok && carried != claim {
			return d.unclaim(ctx, b)
		}
		return nil
	}
	scale, err := d.scale(ctx, s.object)
	if err != nil {
		return err
	}
	extras, err := LookUpExtras(s.policy, d.cache, d.gates)
	if err != nil {
		return err
	}
	if b == nil {
		made := NewBinding(s.object, s.policy, scale, extras)
		made.BindingSpec().Resource.ResourceVersion = s.version
		d.scheduler.Place(made)
		if b, err = d.store(ctx, made); err != nil {
			return err
		}
		if b == nil {
			d.announce(s, scale)
			return nil
		}
		if b.GetDeletionTimestamp() != nil || !belongsTo(b, s.object) {
			s.waits = true
			return d.removeBinding(ctx, b)
		}
	}
	return d.update(ctx, s, b, scale, extras)
}

// announce says that a template is bound for the first time.
func (d *detector) announce(s *detection, scale Scale) {
	d.troubles.events.Routine(s.object, nil, eventApplied, "Propagate", "%s has taken the object", ClaimOf(s.policy))
	if len(scale.Components) > 0 {
		d.troubles.events.Routine(s.object, nil, eventComponents, "Propagate", "the object has %d parts with replicas of their own", len(scale.Components))
	}
	if scale.Replicas > 0 || scale.Need != nil {
		d.troubles.events.Routine(s.object, nil, eventReplicas, "Propagate", "the object asks for %d replicas", scale.Replicas)
	}
}

func claimOn(b workv1alpha2.Binding) (Claim, bool) {
	if b == nil {
		return Claim{}, false
	}
	return ClaimIn(b)
}

// store creates a binding. If there is one already, which the cache does not
// show, that is returned.
func (d *detector) store(ctx context.Context, made workv1alpha2.Binding) (existing workv1alpha2.Binding, err error) {
	identify(made)
	err = d.hub.Create(ctx, made)
	if apierrors.IsAlreadyExists(err) {
		existing := newBindingObject(made.GetNamespace())
		if err := d.live.Get(ctx, client.ObjectKeyFromObject(made), existing); err != nil {
			return nil, fmt.Errorf("read binding %s: %w", made.GetName(), err)
		}
		return existing, nil
	}
	if err != nil {
		return nil, fmt.Errorf("create binding %s: %w", made.GetName(), err)
	}
	d.written.keep(keyOfBinding(made), made)
	return nil, nil
}

// identify gives a new binding its permanent id, as the hub's admission would.
func identify(b workv1alpha2.Binding) {
	key, _ := b.PermanentID()
	labels := b.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[key] = string(uuid.NewUUID())
	b.SetLabels(labels)
}

// update has a binding follow its template and policy. That it names an older
// version of a template that is otherwise the same is no reason to write.
func (d *detector) update(ctx context.Context, s *detection, b workv1alpha2.Binding, scale Scale, extras Extras) error {
	wanted := b.DeepCopyObject().(workv1alpha2.Binding)
	follow(wanted, s.object, s.policy, scale, extras)
	wanted.SetOwnerReferences([]metav1.OwnerReference{ownedBy(s.object)})
	// An event of the template may come after we have read a later one.
	version, known := &wanted.BindingSpec().Resource.ResourceVersion, b.BindingSpec().Resource.ResourceVersion
	*version = known
	if !s.change.mark.has(markContent) && equality.Semantic.DeepEqual(b, wanted) {
		return nil
	}
	if !olderVersion(s.version, known) {
		*version = s.version
	}
	// Only what is different is stored, and that is ours alone: it needs no lock
	// against the scheduler and the others who write to the binding.
	return d.write(ctx, b, wanted, client.MergeFrom(b))
}

// unclaim takes the claim off a binding. It fails with a conflict if the binding
// has changed: another policy may have it by now.
func (d *detector) unclaim(ctx context.Context, b workv1alpha2.Binding) error {
	wanted := b.DeepCopyObject().(workv1alpha2.Binding)
	Claim{}.Put(wanted)
	return d.write(ctx, b, wanted, locked(b))
}

// locked is a patch that fails with a conflict if the binding is not what we
// think it is. Lists, and maps that become empty, are replaced whole.
func locked(b workv1alpha2.Binding) client.Patch {
	return client.MergeFromWithOptions(b, client.MergeFromWithOptimisticLock{})
}

func (d *detector) write(ctx context.Context, b, wanted workv1alpha2.Binding, patch client.Patch) error {
	if equality.Semantic.DeepEqual(b, wanted) {
		return nil
	}
	if err := d.hub.Patch(ctx, wanted, patch); err != nil {
		return fmt.Errorf("write binding %s: %w", b.GetName(), err)
	}
	d.written.keep(keyOfBinding(wanted), wanted)
	return nil
}

// scale asks for the replicas of a template.
func (d *detector) scale(ctx context.Context, o *unstructured.Unstructured) (Scale, error) {
	var s Scale
	var err error
	if d.gates.MultiplePodTemplatesScheduling {
		// Parts stand in for replicas: what both told would count twice.
		var known bool
		if s.Components, known, err = d.interpreter.Components(ctx, o); err != nil {
			return Scale{}, &failed{eventComponentsFailed, err}
		}
		if known {
			return s, nil
		}
	}
	if s.Replicas, s.Need, _, err = d.interpreter.Replicas(ctx, o); err != nil {
		return Scale{}, &failed{eventReplicasFailed, err}
	}
	return s, nil
}

// binding reads a binding, nil if there is none.
func (d *detector) binding(ctx context.Context, key bindingKey) (workv1alpha2.Binding, error) {
	b := newBindingObject(key.namespace)
	err := d.hub.Get(ctx, client.ObjectKey{Namespace: key.namespace, Name: key.name}, b)
	if apierrors.IsNotFound(err) {
		return d.written.newer(key, nil), nil
	}
	if err != nil {
		return nil, fmt.Errorf("read binding %s: %w", key.name, err)
	}
	return d.written.newer(key, b), nil
}

func newBindingObject(namespace string) workv1alpha2.Binding {
	if namespace == "" {
		return &workv1alpha2.ClusterResourceBinding{}
	}
	return &workv1alpha2.ResourceBinding{}
}

func keyOfBinding(b workv1alpha2.Binding) bindingKey {
	return bindingKey{b.GetNamespace(), b.GetName()}
}

// abandon deletes the binding of a template that is gone. The garbage collector
// would do so a little later.
func (d *detector) abandon(ctx context.Context, ref Ref) error {
	d.troubles.Forget(ref)
	d.unblockAll(ref)
	b, err := d.binding(ctx, bindingOf(ref))
	if err != nil || b == nil || b.GetDeletionTimestamp() != nil {
		return err
	}
	of := b.BindingSpec().Resource
	kind := Ref{APIVersion: of.APIVersion, Kind: of.Kind}.GroupVersionKind().GroupKind()
	if kind != ref.GroupVersionKind().GroupKind() {
		return nil // kinds of one name in two groups share the name
	}
	// The cache may only have lost sight of the template: its kind may be served
	// in another version now.
	mapping, err := d.cache.Mapper().RESTMapping(kind)
	if err == nil {
		stored, err := d.metadata.Resource(mapping.Resource).Namespace(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("look for the object: %w", err)
		}
		if err == nil && stored.UID == of.UID {
			return nil
		}
	} else if !meta.IsNoMatchError(err) {
		return fmt.Errorf("look up the kind: %w", err)
	}
	return d.removeBinding(ctx, b)
}

func (d *detector) removeBinding(ctx context.Context, b workv1alpha2.Binding) error {
	if b.GetDeletionTimestamp() != nil {
		return nil
	}
	uid := b.GetUID()
	err := d.hub.Delete(ctx, b, client.Preconditions{UID: &uid})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete binding %s: %w", b.GetName(), err)
	}
	return nil
}
