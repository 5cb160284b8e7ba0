package controlplanetest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// cameAndWent are kinds whose objects a cluster makes, changes and removes by itself,
// each with the reason why one that differs tells nothing of who used the cluster.
var cameAndWent = map[schema.GroupResource]string{
	{Resource: "events"}:                                              "a log of what happened, which expires",
	{Group: "events.k8s.io", Resource: "events"}:                      "the same",
	{Group: "coordination.k8s.io", Resource: "leases"}:                "renewed every few seconds by nodes, API servers and controllers; that of an API server has a random name",
	{Resource: "endpoints"}:                                           "made of the pods that happen to be ready",
	{Group: "discovery.k8s.io", Resource: "endpointslices"}:           "the same, and named at random",
	{Group: "apiregistration.k8s.io", Resource: "apiservices"}:        "made of the kinds and removed after them, a while later; the kinds themselves are compared",
	{Resource: "componentstatuses"}:                                   "asked of the components at each read",
	{Group: "metrics.k8s.io", Resource: "nodes"}:                      "measurements",
	{Group: "metrics.k8s.io", Resource: "pods"}:                       "the same",
	{Group: "internal.apiserver.k8s.io", Resource: "storageversions"}: "written by API servers as they start",
}

// bookkept are the fields of every object that its API server keeps of how often, by
// whom and with what result it was written. Objects that were changed and changed
// back differ in them, and in nothing else.
var bookkept = [][]string{
	{"status"},
	{"metadata", "managedFields"},
	{"metadata", "resourceVersion"},
	{"metadata", "generation"},
}

// Objects lists all that a cluster holds, for a comparison of before and after:
// resource.group/namespace/name → the whole object, UID included, as indented JSON.
// Only what a cluster does to its objects by itself is left out: some kinds, and the
// fields status, managedFields, resourceVersion and generation. Values of Secrets are
// replaced by digests. An error is one of the cluster's; a kind that goes meanwhile is
// none.
func Objects(ctx context.Context, config *rest.Config) (map[string]string, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // one list a kind, at once
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	finder, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	lists, err := finder.ServerPreferredResources()
	if err != nil {
		return nil, fmt.Errorf("list the kinds: %w", err)
	}
	found := map[string]string{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range list.APIResources {
			kind := version.WithResource(resource.Name)
			if cameAndWent[kind.GroupResource()] != "" || !slices.Contains(resource.Verbs, "list") {
				continue
			}
			if err := addObjects(ctx, found, client, kind); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

func addObjects(ctx context.Context, found map[string]string, client dynamic.Interface, kind schema.GroupVersionResource) error {
	objects, err := client.Resource(kind).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return nil // the kind has gone since it was listed
	}
	if err != nil {
		return fmt.Errorf("list %s: %w", kind.GroupResource(), err)
	}
	for i := range objects.Items {
		object := &objects.Items[i]
		text, err := plainText(object)
		if err != nil {
			return err
		}
		found[kind.GroupResource().String()+"/"+object.GetNamespace()+"/"+object.GetName()] = text
	}
	return nil
}

// plainText is an object as text, without what its API server keeps of it.
func plainText(object *unstructured.Unstructured) (string, error) {
	for _, field := range bookkept {
		unstructured.RemoveNestedField(object.Object, field...)
	}
	if object.GroupVersionKind().GroupKind() == (schema.GroupKind{Kind: "Secret"}) {
		data, _, err := unstructured.NestedStringMap(object.Object, "data")
		if err != nil {
			return "", errors.New("the data of a secret is no data")
		}
		for key, value := range data {
			data[key] = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(value)))
		}
		if err := unstructured.SetNestedStringMap(object.Object, data, "data"); err != nil {
			return "", err
		}
	}
	text, err := json.MarshalIndent(object.Object, "", " ")
	if err != nil {
		return "", fmt.Errorf("write an object: %w", err)
	}
	return string(text), nil
}
