package estimator_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/estimator"
	"muster.dev/muster/backend/estimator/estimatortest"
)

// services are the Services of the hub, by name.
type services map[string]*corev1.Service

func (s services) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	found, ok := s[key.Namespace+"/"+key.Name]
	if !ok {
		return apierrors.NewNotFound(corev1.Resource("services"), key.Name)
	}
	found.DeepCopyInto(object.(*corev1.Service))
	return nil
}

func (s services) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return fmt.Errorf("nobody lists services")
}

// lead makes a Service lead to an address.
func (s services) lead(t *testing.T, cluster, address string) {
	t.Helper()
	service := estimatortest.Service(t, cluster, address)
	s[service.Namespace+"/"+service.Name] = service
}

// fixture is a client with what it works with.
type fixture struct {
	*estimator.Client
	services services
	recorder *events.FakeRecorder
	clock    *clocktesting.FakePassiveClock
}

func newFixture(t *testing.T, change func(*estimator.Options)) *fixture {
	t.Helper()
	options := estimator.Options{Enabled: true, Timeout: time.Minute, Prefix: estimator.DefaultPrefix, Namespace: estimator.DefaultNamespace, Port: estimator.DefaultPort}
	if change != nil {
		change(&options)
	}
	if err := options.Complete(); err != nil {
		t.Fatal(err)
	}
	f := &fixture{services: services{}, recorder: events.NewFakeRecorder(100), clock: clocktesting.NewFakePassiveClock(time.Now())}
	var err error
	if f.Client, err = estimator.New(options, estimator.Deps{Services: f.services, Recorder: f.recorder, Clock: f.clock}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = f.Start(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })
	return f
}
