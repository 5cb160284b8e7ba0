package kube

import (
	"context"
	"log/slog"
	"net/http"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// A manager whose caches cannot be filled stops when it is asked to.
func TestManagerStopsBeforeItsCachesAreFilled(t *testing.T) {
	t.Parallel()
	m, err := newManager(&rest.Config{Host: "http://127.0.0.1:1"}, slog.New(slog.DiscardHandler), manager.Options{
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) {
			mapper := meta.NewDefaultRESTMapper(nil)
			mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
			mapper.Add(coordinationv1.SchemeGroupVersion.WithKind("Lease"), meta.RESTScopeNamespace)
			return mapper, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.GetCache().GetInformer(t.Context(), &corev1.Pod{}, cache.BlockUntilSynced(false)); err != nil {
		t.Fatal(err)
	}
	started := make(chan struct{})
	if err := m.Add(startingWithCaches{m, started}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	<-started
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the manager ended with %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the manager waits for caches that nobody fills")
	}
}

// startingWithCaches tells when the manager has come as far as its caches.
type startingWithCaches struct {
	manager.Manager
	started chan struct{}
}

func (s startingWithCaches) Start(ctx context.Context) error {
	close(s.started)
	<-ctx.Done()
	return nil
}
