package joining

import (
	"context"
	"net/http"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"muster.dev/muster/backend/reach"
	"muster.dev/muster/backend/registration"
)

// strangersInFlight bounds the lists asked of a member at a time.
const strangersInFlight = 8

// Strangers names up to limit objects of a namespace in a member, as
// resource/name, that neither Kubernetes keeps there by itself nor ours claims.
// It looks at every kind that can be listed and deleted; kinds whose API does not
// answer are left out.
func Strangers(ctx context.Context, member *rest.Config, namespace string, ours func(schema.GroupVersionResource, *metav1.PartialObjectMetadata) bool, limit int) ([]string, error) {
	resources, client, err := namespacedResources(member)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var found []string
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(strangersInFlight)
	for _, resource := range resources {
		group.Go(func() error {
			list, err := client.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: 500})
			if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) || apierrors.IsServiceUnavailable(err) {
				return nil
			}
			if err != nil {
				return reach.Fault("list "+resource.Resource+" in "+namespace, err)
			}
			mu.Lock()
			defer mu.Unlock()
			for i := range list.Items {
				if object := &list.Items[i]; len(found) < limit && !keptByKubernetes(resource, object) && !ours(resource, object) {
					found = append(found, resource.Resource+"/"+registration.PlainText(object.Name))
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	slices.Sort(found)
	return found, nil
}

func namespacedResources(member *rest.Config) ([]schema.GroupVersionResource, metadata.Interface, error) {
	config := rest.CopyConfig(member)
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{} // of deprecated kinds, which are looked at like any other
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, nil, reach.Fault("reach the member", err)
	}
	httpClient := &http.Client{Transport: transport, Timeout: config.Timeout, CheckRedirect: reach.Stay}
	disco, err := discovery.NewDiscoveryClientForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, nil, reach.Fault("reach the member", err)
	}
	lists, err := disco.ServerPreferredNamespacedResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, nil, reach.Fault("read what the member serves", err)
	}
	lists = discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "delete"}}, lists)
	byResource, err := discovery.GroupVersionResources(lists)
	if err != nil {
		return nil, nil, reach.Fault("read what the member serves", err)
	}
	client, err := metadata.NewForConfigAndClient(metadata.ConfigFor(config), httpClient)
	if err != nil {
		return nil, nil, reach.Fault("reach the member", err)
	}
	var resources []schema.GroupVersionResource
	for resource := range byResource {
		if resource.Resource != "events" {
			resources = append(resources, resource)
		}
	}
	return resources, client, nil
}

// keptByKubernetes says whether Kubernetes, or a well-known distribution of it,
// puts such an object into every namespace.
func keptByKubernetes(resource schema.GroupVersionResource, object *metav1.PartialObjectMetadata) bool {
	accounts := []string{"default", "builder", "deployer"}
	switch resource.Resource {
	case "serviceaccounts":
		return slices.Contains(accounts, object.Name)
	case "secrets":
		return slices.Contains(accounts, object.Annotations[corev1.ServiceAccountNameKey])
	case "configmaps":
		return object.Name == "kube-root-ca.crt" || object.Name == "openshift-service-ca.crt"
	}
	return false
}
