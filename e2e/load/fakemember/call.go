package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/storage/names"
)

// maxBody is what an API server takes.
const maxBody = 3 << 20

// call is one request for a resource of one member.
type call struct {
	*server
	store *store
	kind  kind
	info  *apirequest.RequestInfo
	w     http.ResponseWriter
	r     *http.Request
}

// serve answers, or returns the error to answer with.
func (c *call) serve() error {
	switch c.info.Verb {
	case "get":
		return c.get()
	case "list":
		return c.list()
	case "watch":
		return c.watch()
	case "create":
		return c.create()
	case "update":
		return c.change(http.StatusOK, func(*object) (*unstructured.Unstructured, error) { return c.body() })
	case "patch":
		return c.patch()
	case "delete":
		return c.delete()
	case "deletecollection":
		return c.deleteAll()
	}
	return apierrors.NewMethodNotSupported(c.resource(), c.info.Verb)
}

func (c *call) resource() schema.GroupResource {
	return c.kind.WithResource(c.kind.resource).GroupResource()
}

// table names the store's table of the resource.
func (c *call) table() string { return c.resource().String() }

// name is the object's, its namespace empty for kinds without one.
func (c *call) name() types.NamespacedName {
	name := types.NamespacedName{Name: c.info.Name}
	if c.kind.namespaced {
		name.Namespace = c.info.Namespace
	}
	return name
}

func (c *call) notFound() error { return apierrors.NewNotFound(c.resource(), c.info.Name) }

func (c *call) selector() (labels.Selector, error) {
	selector, err := labels.Parse(c.info.LabelSelector)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return selector, nil
}

// body reads an object that fits the path.
func (c *call) body() (*unstructured.Unstructured, error) {
	data, err := c.read()
	if err != nil {
		return nil, err
	}
	content := map[string]any{}
	if err := json.Unmarshal(data, &content); err != nil {
		return nil, apierrors.NewBadRequest("the body is not JSON: " + err.Error())
	}
	o := &unstructured.Unstructured{Object: content}
	if c.info.Name != "" && o.GetName() != c.info.Name || o.GetName() == "" && o.GetGenerateName() == "" {
		return nil, apierrors.NewBadRequest("the name of the object is not that of the URL")
	}
	if c.kind.namespaced {
		o.SetNamespace(c.info.Namespace)
	}
	o.SetAPIVersion(c.kind.GroupVersion.String())
	o.SetKind(c.kind.name)
	return o, nil
}

func (c *call) read() ([]byte, error) {
	data, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, maxBody))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("more than %d bytes", maxBody))
	}
	return data, err
}

func (c *call) get() error {
	o := c.store.get(c.table(), c.name())
	if o == nil {
		return c.notFound()
	}
	c.answer(http.StatusOK, o)
	return nil
}

func (c *call) create() error {
	o, err := c.body()
	if err != nil {
		return err
	}
	if o.GetName() == "" {
		o.SetName(names.SimpleNameGenerator.GenerateName(o.GetGenerateName()))
	}
	home := types.NamespacedName{Name: c.info.Namespace}
	if c.kind.namespaced && c.store.get("namespaces", home) == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, c.info.Namespace)
	}
	made, ok := c.store.create(c.table(), o)
	if !ok {
		return apierrors.NewAlreadyExists(c.resource(), o.GetName())
	}
	c.latency.NoteSince(made.json)
	c.answer(http.StatusCreated, made)
	return nil
}

// change replaces an object, or its status, by what next makes of it. It tries
// again for a change that does not say which version it is based on.
func (c *call) change(code int, next func(old *object) (*unstructured.Unstructured, error)) error {
	for {
		old := c.store.get(c.table(), c.name())
		if old == nil {
			return c.notFound()
		}
		o, err := next(old)
		if err != nil {
			return err
		}
		based := o.GetResourceVersion()
		if based != "" && based != strconv.FormatUint(old.revision, 10) || o.GetUID() != "" && o.GetUID() != old.uid {
			return apierrors.NewConflict(c.resource(), old.Name, errors.New("the object has been modified"))
		}
		if !c.inherit(o, old.decode()) {
			c.answer(code, old)
			return nil
		}
		if o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 {
			if c.store.remove(c.table(), old) {
				c.answer(code, old)
				return nil
			}
			continue
		}
		if made, ok := c.store.replace(c.table(), old, o); ok {
			c.latency.NoteSince(made.json)
			c.answer(code, made)
			return nil
		}
		if based != "" {
			return apierrors.NewConflict(c.resource(), old.Name, errors.New("the object has been modified"))
		}
	}
}

// inherit gives the new version of an object what a client may not change. It is
// false if the two are the same.
func (c *call) inherit(o, old *unstructured.Unstructured) bool {
	if c.info.Subresource == "status" {
		status, has := o.Object["status"]
		o.Object = old.DeepCopy().Object
		delete(o.Object, "status")
		if has {
			o.Object["status"] = status
		}
	} else if len(c.kind.subresources) > 0 {
		delete(o.Object, "status")
		if status, has := old.Object["status"]; has {
			o.Object["status"] = status
		}
	}
	o.SetUID(old.GetUID())
	o.SetCreationTimestamp(old.GetCreationTimestamp())
	o.SetDeletionTimestamp(old.GetDeletionTimestamp())
	o.SetGeneration(old.GetGeneration())
	o.SetResourceVersion(old.GetResourceVersion())
	if equality.Semantic.DeepEqual(o.Object, old.Object) {
		return false
	}
	if !equality.Semantic.DeepEqual(o.Object["spec"], old.Object["spec"]) {
		o.SetGeneration(old.GetGeneration() + 1)
	}
	return true
}

// patch takes JSON and merge patches. Strategic ones and server-side apply are
// taken as merge patches, which is enough for objects with one writer.
func (c *call) patch() error {
	data, err := c.read()
	if err != nil {
		return err
	}
	kind := types.PatchType(c.r.Header.Get("Content-Type"))
	if kind == types.ApplyYAMLPatchType && c.store.get(c.table(), c.name()) == nil {
		c.r.Body = io.NopCloser(bytes.NewReader(data))
		return c.create()
	}
	return c.change(http.StatusOK, func(old *object) (*unstructured.Unstructured, error) {
		patched, err := jsonpatch.MergePatch(old.json, data)
		if kind == types.JSONPatchType {
			var list jsonpatch.Patch
			if list, err = jsonpatch.DecodePatch(data); err == nil {
				patched, err = list.Apply(old.json)
			}
		}
		content := map[string]any{}
		if err == nil {
			err = json.Unmarshal(patched, &content)
		}
		if err != nil {
			return nil, apierrors.NewBadRequest("the patch does not fit: " + err.Error())
		}
		return &unstructured.Unstructured{Object: content}, nil
	})
}

func (c *call) delete() error {
	var options metav1.DeleteOptions
	data, err := c.read()
	if err != nil {
		return err
	}
	if len(data) > 0 {
		if err := json.Unmarshal(data, &options); err != nil {
			return apierrors.NewBadRequest("the options are not JSON: " + err.Error())
		}
	}
	for {
		old := c.store.get(c.table(), c.name())
		if old == nil {
			return c.notFound()
		}
		if p := options.Preconditions; p != nil && (p.UID != nil && *p.UID != old.uid || p.ResourceVersion != nil && *p.ResourceVersion != strconv.FormatUint(old.revision, 10)) {
			return apierrors.NewConflict(c.resource(), old.Name, errors.New("the object is another one"))
		}
		if left, ok := c.store.release(c.table(), old); ok {
			c.answer(http.StatusOK, left)
			return nil
		}
	}
}

func (c *call) deleteAll() error {
	selector, err := c.selector()
	if err != nil {
		return err
	}
	found, _ := c.store.list(c.table(), c.name().Namespace, selector)
	for _, o := range found {
		c.store.release(c.table(), o) // one that changes meanwhile stays, as it may
	}
	answer(c.w, http.StatusOK, jsonType, encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess}))
	return nil
}
