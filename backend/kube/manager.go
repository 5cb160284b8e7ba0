package kube

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"muster.dev/muster/backend/apis"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
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
// the cache holds the members' heartbeats only, those of both dialects.
func NewManager(hub *rest.Config, logger *slog.Logger) (manager.Manager, error) {
	return newManager(hub, logger, manager.Options{})
}

// NewManagerOf is NewManager for a hub that does not read everything from its API,
// or not at once.
func NewManagerOf(hub *rest.Config, from Sources, logger *slog.Logger) (manager.Manager, error) {
	options := manager.Options{}
	goDirect(&options, from)
	return newManager(hub, logger, options)
}

func newManager(hub *rest.Config, logger *slog.Logger, options manager.Options) (manager.Manager, error) {
	log := logr.FromSlogHandler(logger.Handler())
	ctrl.SetLogger(log)
	unique, stop := true, stopTimeout // several managers may live in one test process
	options.Scheme, options.Logger = Scheme(), log
	options.Metrics, options.HealthProbeBindAddress, options.PprofBindAddress = metricsserver.Options{BindAddress: "0"}, "0", "0"
	options.GracefulShutdownTimeout = &stop
	options.Controller = config.Controller{SkipNameValidation: &unique, CacheSyncTimeout: syncTimeout}
	options.Cache.DefaultTransform = cache.TransformStripManagedFields()
	options.Cache.ByObject = map[client.Object]cache.ByObject{
		&coordinationv1.Lease{}: {Namespaces: map[string]cache.Config{
			apis.ClusterNamespace: {},
			cache.AllNamespaces:   {FieldSelector: fields.OneTermEqualSelector("metadata.name", ocmv1.LeaseName)},
		}},
	}
	options.Client = client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}}}
	stopping, leave := context.WithCancel(context.Background())
	options.NewCache = leavable(options.NewCache, stopping)
	m, err := manager.New(hub, options)
	if err != nil {
		leave()
		return nil, fmt.Errorf("build controller manager: %w", err)
	}
	return &unhurried{Manager: &leaving{Manager: m, leave: leave}, later: &later{}}, nil
}

// Metrics gathers what the controllers, their queues and their clients count.
func Metrics() prometheus.Gatherer { return ctrlmetrics.Registry }
