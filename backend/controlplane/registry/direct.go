package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Direct reads and writes the typed kinds where they are stored. It is for the
// hub's own controllers, whose requests would otherwise be encoded, encrypted,
// decoded, authenticated, authorized and tracked field by field in the process that
// made them, which is most of what a delivery costs. Defaults, validation, admission
// with its webhooks, preconditions and finalizers hold as they do for requests;
// managed fields, which tell writers apart, are not kept for writes of the hub.
type Direct struct {
	kinds      map[reflect.Type]*directKind
	read       map[reflect.Type]cache.ListerWatcher // of others' kinds
	admission  admission.Interface
	interfaces admission.ObjectInterfaces
}

// directKind is a typed kind without its Go type.
type directKind struct {
	kind     schema.GroupVersionKind
	resource schema.GroupVersionResource
	main     *genericregistry.Store
	status   *genericregistry.Store
	// merge returns a copy of old with a JSON merge patch applied.
	merge func(old runtime.Object, patch []byte) (runtime.Object, error)
	// report returns a copy of old as a version, with the status of another object.
	report func(old, reported runtime.Object, version string) runtime.Object
	// assign makes the one object equal to the other.
	assign func(to, from runtime.Object)
}

// StatusSubresource is the one subresource that Direct writes.
const StatusSubresource = "status"

// hubUser is who the hub is in its own requests.
var hubUser = &user.DefaultInfo{Name: user.APIServerUser, Groups: []string{user.SystemPrivilegedGroup}}

// newDirect serves kinds, whose writes admit judges.
func newDirect(admit admission.Interface, kinds map[reflect.Type]*directKind) *Direct {
	return &Direct{kinds: kinds, read: map[reflect.Type]cache.ListerWatcher{}, admission: admit, interfaces: admission.NewObjectInterfacesFromScheme(Scheme)}
}

// Serves says whether objects of the Go type of o are stored here.
func (d *Direct) Serves(o runtime.Object) bool { return d.kinds[reflect.TypeOf(o)] != nil }

// Reads says whether ListWatch knows the Go type of o: those that are stored here,
// and those of ReadFrom.
func (d *Direct) Reads(o runtime.Object) bool {
	return d.Serves(o) || d.read[reflect.TypeOf(o)] != nil
}

// ReadFrom has objects of the Go type of o read from a source. It belongs before
// the first use.
func (d *Direct) ReadFrom(o runtime.Object, source cache.ListerWatcher) {
	d.read[reflect.TypeOf(o)] = source
}

// Create stores a new object, of a kind that Serves allows; o is the stored object
// afterwards. Its errors are those of the API.
func (d *Direct) Create(ctx context.Context, o client.Object) error {
	k := d.kinds[reflect.TypeOf(o)]
	ctx, ended := writing(ctx, o.GetNamespace())
	defer ended()
	made, options := o.DeepCopyObject(), &metav1.CreateOptions{}
	attributes := d.attributes(k, o, "", made, nil, admission.Create, options)
	if err := d.admit(ctx, attributes); err != nil {
		return err
	}
	stored, err := k.main.Create(ctx, made, rest.AdmissionToValidateObjectFunc(d.admission, attributes, d.interfaces), options)
	if err != nil {
		return err
	}
	k.assign(o, stored)
	return nil
}

// Patch changes a stored object, of a kind that Serves allows, or its status, by a
// JSON merge patch; o is the stored object afterwards. Its errors are those of the
// API: a conflict when the patch tells a version that is not the stored one.
func (d *Direct) Patch(ctx context.Context, o client.Object, patch client.Patch, subresource string) error {
	k := d.kinds[reflect.TypeOf(o)]
	data, err := patch.Data(o)
	if err != nil {
		return fmt.Errorf("encode patch of %s %s: %w", k.kind.Kind, o.GetName(), err)
	}
	store := k.main
	if subresource == StatusSubresource {
		store = k.status
	}
	return d.update(ctx, k, store, o, subresource, func(old runtime.Object) (runtime.Object, error) { return k.merge(old, data) })
}

// Report stores the status of o, of a kind that Serves allows, as a patch would that
// tells all of it; o is the stored object afterwards. Its errors are those of the
// API: a conflict when the stored version is another one.
func (d *Direct) Report(ctx context.Context, o client.Object, version string) error {
	k := d.kinds[reflect.TypeOf(o)]
	return d.update(ctx, k, k.status, o, StatusSubresource, func(old runtime.Object) (runtime.Object, error) { return k.report(old, o, version), nil })
}

// update stores in the place of an object what changed makes of it.
func (d *Direct) update(ctx context.Context, k *directKind, store *genericregistry.Store, o client.Object, subresource string, changed func(old runtime.Object) (runtime.Object, error)) error {
	ctx, ended := writing(ctx, o.GetNamespace())
	defer ended()
	options := &metav1.UpdateOptions{}
	change := rest.DefaultUpdatedObjectInfo(nil,
		func(_ context.Context, _, old runtime.Object) (runtime.Object, error) { return changed(old) },
		func(ctx context.Context, changed, old runtime.Object) (runtime.Object, error) {
			return changed, d.admit(ctx, d.attributes(k, o, subresource, changed, old, admission.Update, options))
		})
	validate := rest.AdmissionToValidateObjectUpdateFunc(d.admission, d.attributes(k, o, subresource, nil, nil, admission.Update, options), d.interfaces)
	stored, _, err := store.Update(ctx, o.GetName(), change, rest.ValidateAllObjectFunc, validate, false, options)
	if err != nil {
		return err
	}
	k.assign(o, stored)
	return nil
}

// ListWatch feeds a cache of all objects of the kind of o, which Reads allows.
func (d *Direct) ListWatch(o runtime.Object) cache.ListerWatcher {
	if source := d.read[reflect.TypeOf(o)]; source != nil {
		return source
	}
	store := d.kinds[reflect.TypeOf(o)].main
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			internal, err := internalOptions(&options)
			if err != nil {
				return nil, err
			}
			return store.List(asHub(ctx, metav1.NamespaceAll), internal)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			internal, err := internalOptions(&options)
			if err != nil {
				return nil, err
			}
			return store.Watch(asHub(ctx, metav1.NamespaceAll), internal)
		},
	}
}

func internalOptions(options *metav1.ListOptions) (*internalversion.ListOptions, error) {
	internal := &internalversion.ListOptions{}
	if err := internalversion.Convert_v1_ListOptions_To_internalversion_ListOptions(options, internal, nil); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return internal, nil
}

// writing is the context of one write. It ends with it, as that of a request does:
// admission holds for a write what others may have once it has ended.
func writing(ctx context.Context, namespace string) (within context.Context, ended context.CancelFunc) {
	return context.WithCancel(asHub(ctx, namespace))
}

func asHub(ctx context.Context, namespace string) context.Context {
	return request.WithNamespace(request.WithUser(ctx, hubUser), namespace)
}

func (d *Direct) attributes(k *directKind, o client.Object, subresource string, changed, old runtime.Object, operation admission.Operation, options runtime.Object) admission.Attributes {
	return admission.NewAttributesRecord(changed, old, k.kind, o.GetNamespace(), o.GetName(), k.resource, subresource, operation, options, false, hubUser)
}

// admit lets admission change what is about to be stored.
func (d *Direct) admit(ctx context.Context, attributes admission.Attributes) error {
	if mutating, ok := d.admission.(admission.MutationInterface); ok && mutating.Handles(attributes.GetOperation()) {
		return mutating.Admit(ctx, attributes, d.interfaces)
	}
	return nil
}

// newDirectKind returns the kind T with its stores.
func newDirectKind[T, S, U any, PT object[T]](k kind[T, S, U], name, plural string, s stores) *directKind {
	return &directKind{
		kind: k.groupVersion.WithKind(name), resource: k.groupVersion.WithResource(plural), main: s.main, status: s.status.store,
		merge: func(old runtime.Object, patch []byte) (runtime.Object, error) {
			changed := old.DeepCopyObject().(PT)
			if err := k.merge(changed, patch); err != nil {
				return nil, apierrors.NewBadRequest(fmt.Sprintf("patch %s: %v", name, err))
			}
			return changed, nil
		},
		report: func(old, reported runtime.Object, version string) runtime.Object {
			changed := old.DeepCopyObject().(PT)
			meta, _, status := k.parts(changed)
			_, _, wanted := k.parts(reported.(PT))
			meta.ResourceVersion, *status = version, *wanted
			return changed
		},
		assign: func(to, from runtime.Object) { *to.(PT) = *from.(PT) },
	}
}

// merge applies a JSON merge patch to those parts of an object that it tells of.
func (k kind[T, S, U]) merge(o *T, patch []byte) error {
	var changes struct{ Metadata, Spec, Status json.RawMessage }
	if err := json.Unmarshal(patch, &changes); err != nil {
		return err
	}
	meta, spec, status := k.parts(o)
	if err := mergePart(meta, changes.Metadata); err != nil {
		return err
	}
	if err := mergePart(spec, changes.Spec); err != nil {
		return err
	}
	return mergePart(status, changes.Status)
}

func mergePart[P any](part *P, patch json.RawMessage) error {
	if len(patch) == 0 {
		return nil
	}
	if string(patch) == "null" {
		*part = *new(P)
		return nil
	}
	current, err := json.Marshal(part)
	if err != nil {
		return err
	}
	merged, err := jsonpatch.MergePatch(current, patch)
	if err != nil {
		return err
	}
	changed := new(P)
	if err := json.Unmarshal(merged, changed); err != nil {
		return err
	}
	*part = *changed
	return nil
}
