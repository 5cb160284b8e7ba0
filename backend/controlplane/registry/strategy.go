package registry

import (
	"context"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// kind says how the registry treats the kind T, whose spec is S and whose status is U. All functions but parts may be nil.
type kind[T, S, U any] struct {
	groupVersion schema.GroupVersion
	// views are older versions that the kind is served in too.
	views      []schema.GroupVersion
	namespaced bool
	// unconditional allows updates without a resourceVersion.
	unconditional bool
	// bornComplete lets the hub itself create an object with its status, so that
	// deciding something and creating its object is one write.
	bornComplete bool
	// parts gives access to the parts of an object.
	parts func(*T) (*metav1.ObjectMeta, *S, *U)
	// prepare completes an object before its generation is decided and before it is validated; old is nil on creation.
	prepare func(obj, old *T)
	// validateName judges the name of an object that is created.
	validateName func(name string) []string
	// validateSpec and validateStatus judge what a write may change.
	validateSpec   func(*S, *field.Path) field.ErrorList
	validateStatus func(*U, *field.Path) field.ErrorList
	// canonicalize brings a valid object into its stored form.
	canonicalize func(*T)
}

// strategy is how the main resource of a kind is written.
type strategy[T, S, U any] struct {
	runtime.ObjectTyper
	names.NameGenerator
	kind[T, S, U]
}

func newStrategy[T, S, U any](k kind[T, S, U]) strategy[T, S, U] {
	return strategy[T, S, U]{ObjectTyper: Scheme, NameGenerator: names.SimpleNameGenerator, kind: k}
}

// NamespaceScoped says whether objects live in namespaces.
func (s strategy[T, S, U]) NamespaceScoped() bool { return s.namespaced }

// PrepareForCreate wipes the status and sets the first generation.
func (s strategy[T, S, U]) PrepareForCreate(ctx context.Context, obj runtime.Object) {
	created := any(obj).(*T)
	meta, _, status := s.parts(created)
	if !s.bornComplete || !byTheHub(ctx) {
		*status = *new(U)
	}
	meta.Generation = 1
	if s.prepare != nil {
		s.prepare(created, nil)
	}
}

// byTheHub says whether it is the hub itself that asks.
func byTheHub(ctx context.Context) bool {
	who, ok := request.UserFrom(ctx)
	return ok && who.GetName() == user.APIServerUser
}

// PrepareForUpdate keeps the status and raises the generation when the spec changes.
func (s strategy[T, S, U]) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	updated, existing := any(obj).(*T), any(old).(*T)
	meta, spec, status := s.parts(updated)
	oldMeta, oldSpec, oldStatus := s.parts(existing)
	*status = *oldStatus
	if s.prepare != nil {
		s.prepare(updated, existing)
	}
	meta.Generation = oldMeta.Generation
	if !apiequality.Semantic.DeepEqual(spec, oldSpec) {
		meta.Generation++
	}
}

// Validate judges an object that is created.
func (s strategy[T, S, U]) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	meta, spec, _ := s.parts(any(obj).(*T))
	var errs field.ErrorList
	if s.validateName != nil {
		for _, message := range s.validateName(meta.Name) {
			errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), meta.Name, message))
		}
	}
	return append(errs, s.specErrors(spec)...)
}

// ValidateUpdate judges an object that replaces another.
func (s strategy[T, S, U]) ValidateUpdate(_ context.Context, obj, _ runtime.Object) field.ErrorList {
	_, spec, _ := s.parts(any(obj).(*T))
	return s.specErrors(spec)
}

func (s strategy[T, S, U]) specErrors(spec *S) field.ErrorList {
	if s.validateSpec == nil {
		return nil
	}
	return s.validateSpec(spec, field.NewPath("spec"))
}

// Canonicalize brings a valid object into its stored form.
func (s strategy[T, S, U]) Canonicalize(obj runtime.Object) {
	if s.canonicalize != nil {
		s.canonicalize(any(obj).(*T))
	}
}

// AllowCreateOnUpdate is false: a PUT never creates.
func (strategy[T, S, U]) AllowCreateOnUpdate() bool { return false }

// AllowUnconditionalUpdate says whether a PUT may omit the resourceVersion.
func (s strategy[T, S, U]) AllowUnconditionalUpdate() bool { return s.unconditional }

// WarningsOnCreate returns none.
func (strategy[T, S, U]) WarningsOnCreate(context.Context, runtime.Object) []string { return nil }

// WarningsOnUpdate returns none.
func (strategy[T, S, U]) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

// GetResetFields names what a write to the main resource cannot own.
func (s strategy[T, S, U]) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return s.resetFields("status")
}

func (s strategy[T, S, U]) resetFields(names ...string) map[fieldpath.APIVersion]*fieldpath.Set {
	set := fieldpath.NewSet()
	for _, name := range names {
		set.Insert(fieldpath.MakePathOrDie(name))
	}
	reset := map[fieldpath.APIVersion]*fieldpath.Set{fieldpath.APIVersion(s.groupVersion.String()): set}
	for _, view := range s.views {
		reset[fieldpath.APIVersion(view.String())] = set
	}
	return reset
}

// statusStrategy is how the status subresource of a kind is written.
type statusStrategy[T, S, U any] struct{ strategy[T, S, U] }

// PrepareForUpdate resets everything but the status. Karmada lets a status update change spec and metadata too; no client relies on it,
// and an agent has the right to write the status only (contract section 1.1).
func (s statusStrategy[T, S, U]) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	meta, spec, _ := s.parts(any(obj).(*T))
	oldMeta, oldSpec, _ := s.parts(any(old).(*T))
	*spec = *oldSpec
	metav1.ResetObjectMetaForStatus(meta, oldMeta)
}

// ValidateUpdate judges the status.
func (s statusStrategy[T, S, U]) ValidateUpdate(_ context.Context, obj, _ runtime.Object) field.ErrorList {
	if s.validateStatus == nil {
		return nil
	}
	_, _, status := s.parts(any(obj).(*T))
	return s.validateStatus(status, field.NewPath("status"))
}

// Canonicalize leaves the object alone: spec and metadata are the stored ones.
func (statusStrategy[T, S, U]) Canonicalize(runtime.Object) {}

// GetResetFields names what a write to the status cannot own.
func (s statusStrategy[T, S, U]) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return s.resetFields("spec", "metadata")
}
