package component

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

// SecretWatch tells when one of a few named Secrets comes, changes or goes. Each is watched by its name, so that an operator needs no right
// to list all Secrets of a cluster.
type SecretWatch struct {
	config *rest.Config
	events chan event.GenericEvent

	mu      sync.Mutex
	watched map[string]map[client.ObjectKey]context.CancelFunc // by owner
}

// NewSecretWatch returns a watch of nothing yet.
func NewSecretWatch(config *rest.Config) *SecretWatch {
	return &SecretWatch{config: config, events: make(chan event.GenericEvent, 64), watched: map[string]map[client.ObjectKey]context.CancelFunc{}}
}

// Events is where a controller listens. What it gets is an object with the owner's name.
func (w *SecretWatch) Events() <-chan event.GenericEvent { return w.events }

// Watch makes keys the Secrets that owner hears of, from now until ctx ends. ctx outlives the call.
func (w *SecretWatch) Watch(ctx context.Context, owner client.Object, keys []client.ObjectKey) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	before, after := w.watched[owner.GetName()], map[client.ObjectKey]context.CancelFunc{}
	for _, key := range keys {
		if stop, ok := before[key]; ok {
			after[key] = stop
			continue
		}
		started, stop := context.WithCancel(ctx)
		if err := w.start(started, owner, key); err != nil {
			stop()
			return err
		}
		after[key] = stop
	}
	for key, stop := range before {
		if _, kept := after[key]; !kept {
			stop()
		}
	}
	w.watched[owner.GetName()] = after
	return nil
}

// Forget ends what owner watches.
func (w *SecretWatch) Forget(owner string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, stop := range w.watched[owner] {
		stop()
	}
	delete(w.watched, owner)
}

func (w *SecretWatch) start(ctx context.Context, owner client.Object, key client.ObjectKey) error {
	config := rest.CopyConfig(w.config)
	config.GroupVersion, config.APIPath = &corev1.SchemeGroupVersion, "/api"
	config.NegotiatedSerializer = codecs.WithoutConversion()
	api, err := rest.RESTClientFor(config)
	if err != nil {
		return err
	}
	name, _ := owner.DeepCopyObject().(client.Object)
	tell := func() {
		select {
		case w.events <- event.GenericEvent{Object: name}:
		case <-ctx.Done():
		}
	}
	source := cache.NewListWatchFromClient(api, "secrets", key.Namespace, fields.OneTermEqualSelector("metadata.name", key.Name))
	_, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: source, ObjectType: &corev1.Secret{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { tell() }, UpdateFunc: func(any, any) { tell() }, DeleteFunc: func(any) { tell() },
		},
	})
	go controller.RunWithContext(ctx)
	return nil
}

// codecs decode what a watch of Secrets brings.
var codecs = serializer.NewCodecFactory(clientgoscheme.Scheme)
