package controlplane

import (
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/bootstrap"
	"k8s.io/kubernetes/pkg/controller/certificates/cleaner"
	"k8s.io/kubernetes/pkg/controller/certificates/signer"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
	serviceaccountcontroller "k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/kubernetes/pkg/controller/ttlafterfinished"
	"k8s.io/kubernetes/pkg/serviceaccount"

	"muster.dev/muster/backend/controlplane/registry"
)

const (
	namespaceResync = 5 * time.Minute
	// discoveryPeriod is how often the garbage collector looks for new kinds.
	discoveryPeriod = 30 * time.Second
)

// controllers are the Kubernetes loops that clients of the hub rely on, and no
// others (contract karmada.md section 0.2).
type controllers struct {
	config  *rest.Config
	pki     *PKI
	backend *registry.Backend
	direct  *registry.Direct
	client  *kubernetes.Clientset
	meta    metadata.Interface
	shared  informers.SharedInformerFactory
	started chan struct{}
}

// start builds and runs every loop until ctx ends; it returns once their
// caches are filled.
func (c *controllers) start(ctx context.Context) error {
	var err error
	if c.client, err = kubernetes.NewForConfig(c.config); err != nil {
		return fmt.Errorf("build controller client: %w", err)
	}
	if c.meta, err = metadata.NewForConfig(c.config); err != nil {
		return fmt.Errorf("build metadata client: %w", err)
	}
	c.shared = informers.NewSharedInformerFactory(c.client, 0)
	owned := newOwnedKinds(c.shared, c.meta, c.direct)
	readStored(c.shared, c.backend, owned.owners)
	c.started = make(chan struct{})
	steps := []func(context.Context) error{
		c.namespaces,
		func(ctx context.Context) error { return c.garbage(ctx, owned) },
		c.serviceAccountTokens, c.bootstrapTokens, c.certificates, c.housekeeping,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	c.shared.Start(ctx.Done())
	close(c.started)
	for kind, synced := range c.shared.WaitForCacheSync(ctx.Done()) {
		if !synced && ctx.Err() == nil {
			return fmt.Errorf("fill the cache of %s", kind)
		}
	}
	return ctx.Err()
}

func (c *controllers) namespaces(ctx context.Context) error {
	loop := namespace.NewNamespaceController(ctx, c.client, c.meta, c.client.Discovery().ServerPreferredNamespacedResources,
		c.shared.Core().V1().Namespaces(), namespaceResync, corev1.FinalizerKubernetes)
	go loop.Run(ctx, 4)
	return nil
}

func (c *controllers) garbage(ctx context.Context, kinds *ownedKinds) error {
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.client.Discovery()))
	loop, err := garbagecollector.NewGarbageCollector(ctx, c.client, c.meta, mapper, garbagecollector.DefaultIgnoredResources(),
		kinds, c.started)
	if err != nil {
		return fmt.Errorf("build garbage collector: %w", err)
	}
	go loop.Run(ctx, 4, discoveryPeriod)
	go loop.Sync(ctx, presentKinds{c.client.Discovery(), kinds}, discoveryPeriod)
	return nil
}

func (c *controllers) serviceAccountTokens(ctx context.Context) error {
	key, err := keyutil.PrivateKeyFromFile(c.pki.ServiceAccountKeyFile())
	if err != nil {
		return fmt.Errorf("read service-account key: %w", err)
	}
	generator, err := serviceaccount.JWTTokenGenerator(serviceaccount.LegacyIssuer, key)
	if err != nil {
		return fmt.Errorf("build service-account token generator: %w", err)
	}
	ca, err := os.ReadFile(c.pki.CAFile())
	if err != nil {
		return fmt.Errorf("read certificate authority: %w", err)
	}
	loop, err := serviceaccountcontroller.NewTokensController(klog.FromContext(ctx), c.shared.Core().V1().ServiceAccounts(), c.shared.Core().V1().Secrets(),
		c.client, serviceaccountcontroller.TokensControllerOptions{TokenGenerator: generator, RootCA: ca})
	if err != nil {
		return fmt.Errorf("build service-account token controller: %w", err)
	}
	go loop.Run(ctx, 2)
	return nil
}

func (c *controllers) bootstrapTokens(ctx context.Context) error {
	signerLoop, err := bootstrap.NewSigner(c.client, c.shared.Core().V1().Secrets(), c.shared.Core().V1().ConfigMaps(), bootstrap.DefaultSignerOptions())
	if err != nil {
		return fmt.Errorf("build cluster-info signer: %w", err)
	}
	go signerLoop.Run(ctx)
	cleanerLoop, err := bootstrap.NewTokenCleaner(c.client, c.shared.Core().V1().Secrets(), bootstrap.DefaultTokenCleanerOptions())
	if err != nil {
		return fmt.Errorf("build token cleaner: %w", err)
	}
	go cleanerLoop.Run(ctx)
	return nil
}

func (c *controllers) certificates(ctx context.Context) error {
	requests := c.shared.Certificates().V1().CertificateSigningRequests()
	loop, err := signer.NewKubeAPIServerClientCSRSigningController(ctx, c.client, requests, c.pki.CAFile(), c.pki.caKeyFile(), leafLifetime)
	if err != nil {
		return fmt.Errorf("build certificate signer: %w", err)
	}
	go loop.Run(ctx, 2)
	go cleaner.NewCSRCleanerController(c.client.CertificatesV1().CertificateSigningRequests(), requests).Run(ctx, 1)
	return nil
}

func (c *controllers) housekeeping(ctx context.Context) error {
	go ttlafterfinished.New(ctx, c.shared.Batch().V1().Jobs(), c.client).Run(ctx, 1)
	go clusterroleaggregation.NewClusterRoleAggregation(c.shared.Rbac().V1().ClusterRoles(), c.client.RbacV1()).Run(ctx, 2)
	return nil
}
