package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"muster.dev/muster/backend/apis"
)

// keepsOthers says whether deleting an object would take objects of others with
// it: a namespace with what is in it, a CRD with its custom resources. If the
// member cannot tell, the answer is yes.
func (a *Applier) keepsOthers(ctx context.Context, o *unstructured.Unstructured) (string, error) {
	switch o.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Kind: "Namespace"}:
		if reserved(o.GetName()) {
			return "it belongs to the cluster itself", nil
		}
		return a.foreignInNamespace(ctx, o.GetName())
	case schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		return a.foreignOfCRD(ctx, o)
	}
	return "", nil
}

// reserved namespaces are never deleted, whoever put them there.
func reserved(namespace string) bool {
	return namespace == "default" || strings.HasPrefix(namespace, "kube-") ||
		namespace == apis.SystemNamespace || namespace == apis.ClusterNamespace
}

// notCounted are resources that come and go with others, or are views of them.
var notCounted = []schema.GroupResource{
	{Resource: "events"}, {Group: "events.k8s.io", Resource: "events"},
	{Resource: "endpoints"}, // follow Services of the same name
}

// errFound ends a search early.
var errFound = errors.New("found")

// foreignInNamespace names an object in a namespace that is not ours, "" if
// there is none. All kinds are asked, a few at a time.
func (a *Applier) foreignInNamespace(ctx context.Context, namespace string) (string, error) {
	resources, err := a.mapper.namespaced()
	if err != nil {
		return "what it holds cannot be listed completely", nil //nolint:nilerr // not knowing is an answer here
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	found := make(chan string, len(resources))
	for _, resource := range resources {
		if slices.Contains(notCounted, resource.GroupResource()) || strings.HasSuffix(resource.Group, "metrics.k8s.io") {
			continue
		}
		group.Go(func() error {
			name, err := a.firstForeign(ctx, resource, namespace)
			switch {
			case apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err):
				return nil // no longer served
			case apierrors.IsForbidden(err):
				found <- "its " + resource.GroupResource().String() + " cannot be listed"
				return errFound
			case err != nil:
				return fmt.Errorf("list %s in namespace %s: %w", resource.GroupResource(), namespace, err)
			case name != "":
				found <- "it holds " + name + ", which the hub did not put there"
				return errFound
			}
			return nil
		})
	}
	err = group.Wait()
	select {
	case what := <-found:
		return what, nil
	default:
		return "", err
	}
}

// foreignOfCRD names a custom resource that is not ours.
func (a *Applier) foreignOfCRD(ctx context.Context, crd *unstructured.Unstructured) (string, error) {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		version, ok := v.(map[string]any)
		if !ok || version["served"] != true {
			continue
		}
		name, _ := version["name"].(string)
		what, err := a.firstForeign(ctx, schema.GroupVersionResource{Group: group, Version: name, Resource: plural}, "")
		if apierrors.IsNotFound(err) {
			return "", nil // not established, or already gone
		}
		if err != nil || what == "" {
			return "", err
		}
		return "there is " + what + ", which the hub did not make", nil
	}
	return "", nil
}

// firstForeign names the first object of a resource that is not ours, "" if
// there is none. An empty namespace means all of them.
func (a *Applier) firstForeign(ctx context.Context, resource schema.GroupVersionResource, namespace string) (string, error) {
	options := metav1.ListOptions{Limit: 250}
	for {
		page, err := a.metadata.Resource(resource).Namespace(namespace).List(ctx, options)
		if err != nil {
			return "", err
		}
		for i := range page.Items {
			if a.foreign(resource, &page.Items[i]) {
				return resource.Resource + " " + page.Items[i].Name, nil
			}
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return "", nil
		}
	}
}

// foreign says whether an object counts as somebody else's. Not counted are ours,
// what is being deleted anyway, what every namespace gets from the cluster, and
// what belongs to an object of the namespace, which is judged itself.
func (a *Applier) foreign(resource schema.GroupVersionResource, o *metav1.PartialObjectMetadata) bool {
	switch {
	case o.Labels[apis.ManagedLabel] == apis.LabelTrue, o.DeletionTimestamp != nil:
		return false
	case resource.Resource == "serviceaccounts" && o.Name == "default":
		return false
	case resource.Resource == "configmaps" && slices.Contains(publishedConfigMaps, o.Name):
		return false
	case resource.Resource == "secrets" && o.Annotations["kubernetes.io/service-account.name"] != "":
		return false // goes with its account
	}
	for _, owner := range o.OwnerReferences {
		if a.ownerInNamespace(owner) {
			return false
		}
	}
	return true
}

// publishedConfigMaps are put into every namespace by cluster-wide controllers.
var publishedConfigMaps = []string{"kube-root-ca.crt", "openshift-service-ca.crt", "istio-ca-root-cert"}

// ownerInNamespace says whether an owner is of a kind that lives in namespaces:
// then it is in the same one, or it is gone and the owned object about to go.
func (a *Applier) ownerInNamespace(owner metav1.OwnerReference) bool {
	mapping, err := a.mapper.mapping(schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind))
	return err == nil && mapping.Scope.Name() == meta.RESTScopeNameNamespace
}

// HoldsOthers says what a namespace of the member that cfg reaches holds besides
// objects of the hub and what every namespace has, "" if nothing.
func HoldsOthers(ctx context.Context, cfg *rest.Config, namespace string) (string, error) {
	a, err := New(cfg)
	if err != nil {
		return "", err
	}
	return a.foreignInNamespace(ctx, namespace)
}
