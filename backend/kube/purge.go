package kube

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// purgeParallel bounds the kinds a purge looks at in parallel.
const purgeParallel = 8

// Purger finishes the deletion of a namespace at once. Kubernetes' namespace
// controller does the same, but waits five seconds before it begins, for the
// sake of planes with several API servers, and at least another eight if
// anything holds a finalizer.
type Purger struct {
	client   kubernetes.Interface
	metadata metadata.Interface
}

// NewPurger returns a Purger of the API that config reaches.
func NewPurger(config *rest.Config) (*Purger, error) {
	config = rest.CopyConfig(config)
	config.WarningHandler = rest.NoWarnings{} // of deprecated kinds, which are purged like any other
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("build purge client: %w", err)
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("build purge client: %w", err)
	}
	return &Purger{client: client, metadata: objects}, nil
}

// Purge deletes everything in a namespace that is being deleted and releases the
// namespace once it is empty. It returns what finalizers still hold, as
// resource.group, sorted; the namespace is gone when that is empty and the error
// nil. A namespace that does not exist is gone.
func (p *Purger) Purge(ctx context.Context, name string) ([]string, error) {
	namespace, err := p.client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read namespace %s: %w", name, err)
	}
	if namespace.DeletionTimestamp == nil {
		return nil, fmt.Errorf("purge namespace %s: it is not being deleted", name)
	}
	held, err := p.empty(ctx, name)
	if err != nil || len(held) > 0 {
		return held, err
	}
	return nil, p.release(ctx, namespace)
}

// empty deletes the contents, kind by kind. All kinds must be known, else
// objects could outlive their namespace.
func (p *Purger) empty(ctx context.Context, namespace string) ([]string, error) {
	lists, err := discovery.ServerPreferredNamespacedResources(p.client.Discovery())
	if err != nil {
		return nil, fmt.Errorf("list kinds: %w", err)
	}
	resources, err := discovery.GroupVersionResources(discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "deletecollection"}}, lists))
	if err != nil {
		return nil, fmt.Errorf("list kinds: %w", err)
	}
	var mu sync.Mutex
	var held []string
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(purgeParallel)
	for resource := range resources {
		group.Go(func() error {
			left, err := p.emptyKind(ctx, resource, namespace)
			if err != nil {
				return fmt.Errorf("delete %s in namespace %s: %w", resource.Resource, namespace, err)
			}
			if left {
				mu.Lock()
				defer mu.Unlock()
				held = append(held, resource.GroupResource().String())
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	slices.Sort(held)
	return held, nil
}

func (p *Purger) emptyKind(ctx context.Context, resource schema.GroupVersionResource, namespace string) (left bool, err error) {
	objects := p.metadata.Resource(resource).Namespace(namespace)
	found, err := objects.List(ctx, metav1.ListOptions{Limit: 1})
	if gone(err) || err == nil && len(found.Items) == 0 {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	background := metav1.DeletePropagationBackground
	if err := objects.DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: &background}, metav1.ListOptions{}); err != nil && !gone(err) {
		return false, err
	}
	found, err = objects.List(ctx, metav1.ListOptions{Limit: 1})
	if gone(err) {
		return false, nil
	}
	return err == nil && len(found.Items) > 0, err
}

// gone tells that a kind is no longer served: there is nothing of it.
func gone(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
}

func (p *Purger) release(ctx context.Context, namespace *corev1.Namespace) error {
	namespace = namespace.DeepCopy()
	namespace.Spec.Finalizers = slices.DeleteFunc(namespace.Spec.Finalizers, func(f corev1.FinalizerName) bool { return f == corev1.FinalizerKubernetes })
	_, err := p.client.CoreV1().Namespaces().Finalize(ctx, namespace, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("release namespace %s: %w", namespace.Name, err)
	}
	return nil
}
