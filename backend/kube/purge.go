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
	"k8s.io/apimachinery/pkg/types"
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

// RemoveEmpty removes a namespace in which there is nothing but what every
// namespace is given, and tells whether it did. It must still be the one of uid.
func (p *Purger) RemoveEmpty(ctx context.Context, name string, uid types.UID) (bool, error) {
	held, err := p.inEachKind(ctx, name, p.holdsKind)
	if err != nil || len(held) > 0 {
		return false, err
	}
	err = p.client.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(uid))})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return false, nil // another one by now
	}
	if err != nil {
		return false, fmt.Errorf("delete namespace %s: %w", name, err)
	}
	if held, err = p.Purge(ctx, name); err == nil && len(held) > 0 {
		err = fmt.Errorf("end namespace %s: held by %v", name, held)
	}
	return true, err
}

// given are the objects that every namespace is given.
var given = map[string]string{"configmaps": "kube-root-ca.crt", "serviceaccounts": "default"}

// holdsKind tells whether there is anything of a kind in a namespace that somebody
// put there. Events are about other things.
func (p *Purger) holdsKind(ctx context.Context, resource schema.GroupVersionResource, namespace string) (bool, error) {
	if resource.Resource == "events" {
		return false, nil
	}
	found, err := p.metadata.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: 2})
	if gone(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for i := range found.Items {
		if resource.Group != "" || found.Items[i].Name != given[resource.Resource] {
			return true, nil
		}
	}
	return false, nil
}

// empty deletes the contents, kind by kind.
func (p *Purger) empty(ctx context.Context, namespace string) ([]string, error) {
	return p.inEachKind(ctx, namespace, p.emptyKind)
}

// inEachKind looks at everything in a namespace, kind by kind, and returns the
// kinds that look finds something of. All must be known, else objects could
// outlive their namespace.
func (p *Purger) inEachKind(ctx context.Context, namespace string, look func(context.Context, schema.GroupVersionResource, string) (bool, error)) ([]string, error) {
	lists, err := discovery.ServerPreferredNamespacedResources(p.client.Discovery())
	if err != nil {
		return nil, fmt.Errorf("list kinds: %w", err)
	}
	resources, err := discovery.GroupVersionResources(discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "deletecollection"}}, lists))
	if err != nil {
		return nil, fmt.Errorf("list kinds: %w", err)
	}
	var mu sync.Mutex
	var found []string
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(purgeParallel)
	for resource := range resources {
		group.Go(func() error {
			there, err := look(ctx, resource, namespace)
			if err != nil {
				return fmt.Errorf("look at %s in namespace %s: %w", resource.Resource, namespace, err)
			}
			if there {
				mu.Lock()
				defer mu.Unlock()
				found = append(found, resource.GroupResource().String())
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
