package kube

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"muster.dev/muster/backend/apis"
)

const (
	// stopTimeout is how long stopping waits for reconciles in flight.
	stopTimeout = 5 * time.Second
	// syncTimeout bounds the first fill of a controller's cache.
	syncTimeout = time.Minute
)

// NewManager returns the controller manager of the hub. It opens no port: the
// hub's own server shows Metrics. Its client reads Secrets and ConfigMaps from
// the API, everything else from a cache that holds what is asked for; of Leases,
// the cache holds the members' heartbeats only.
func NewManager(hub *rest.Config, logger *slog.Logger) (manager.Manager, error) {
	log := logr.FromSlogHandler(logger.Handler())
	ctrl.SetLogger(log)
	unique, stop := true, stopTimeout // several managers may live in one test process
	m, err := manager.New(hub, manager.Options{
		Scheme:                  Scheme(),
		Logger:                  log,
		Metrics:                 metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress:  "0",
		PprofBindAddress:        "0",
		GracefulShutdownTimeout: &stop,
		Controller:              config.Controller{SkipNameValidation: &unique, CacheSyncTimeout: syncTimeout},
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject: map[client.Object]cache.ByObject{
				&coordinationv1.Lease{}: {Namespaces: map[string]cache.Config{apis.ClusterNamespace: {}}},
			},
		},
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}}},
	})
	if err != nil {
		return nil, fmt.Errorf("build controller manager: %w", err)
	}
	return m, nil
}

// Metrics gathers what the controllers, their queues and their clients count.
func Metrics() prometheus.Gatherer { return ctrlmetrics.Registry }
