package controlplane

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/pflag"
	apiextensionsapiserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/union"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/notfoundhandler"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/informers"
	aggregatorapiserver "k8s.io/kube-aggregator/pkg/apiserver"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	openapicommon "k8s.io/kube-openapi/pkg/common"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/controlplane"
	controlplaneapiserver "k8s.io/kubernetes/pkg/controlplane/apiserver"
	kubeopenapi "k8s.io/kubernetes/pkg/generated/openapi"
	flowcontrolrest "k8s.io/kubernetes/pkg/registry/flowcontrol/rest"
	rbacrest "k8s.io/kubernetes/pkg/registry/rbac/rest"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"

	"muster.dev/muster/backend/controlplane/registry"
)

// apiServer is kube-apiserver's chain with our groups inside.
type apiServer struct {
	options Options
	pki     *PKI
	storage *storage
	backend *registry.Backend
	ln      net.Listener
	ready   func() error
	direct  *registry.Direct
	openAPI *openapicommon.OpenAPIV3Config
}

// flags are kube-apiserver's own, chosen by measurement (ARCHITECTURE.md): no
// priority-and-fairness and no endpoint reconciler, which one process without
// pods does not need; service accounts of templates are not looked up (contract
// karmada.md section 0.1).
func (s *apiServer) flags() []string {
	sa := s.pki.ServiceAccountKeyFile()
	address := s.ln.Addr().(*net.TCPAddr)
	return []string{
		"--etcd-servers=" + s.storage.endpoint,
		"--bind-address=" + address.IP.String(), "--secure-port=" + strconv.Itoa(address.Port), "--advertise-address=127.0.0.1",
		"--tls-cert-file=" + s.pki.ServingCertFile(), "--tls-private-key-file=" + s.pki.ServingKeyFile(), "--client-ca-file=" + s.pki.CAFile(),
		"--authorization-mode=AlwaysDeny", // until authorize says by what
		"--enable-bootstrap-token-auth", "--allow-privileged", "--service-cluster-ip-range=10.0.0.0/16",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=" + sa, "--service-account-signing-key-file=" + sa,
		"--disable-admission-plugins=ServiceAccount,StorageObjectInUseProtection",
		"--endpoint-reconciler-type=none", "--enable-priority-and-fairness=false",
	}
}

func (s *apiServer) complete(ctx context.Context) (options.CompletedOptions, error) {
	run := options.NewServerRunOptions()
	registerAdmission(run.Admission.GenericAdmission, s.options.Admission)
	set := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	for _, group := range run.Flags().FlagSets {
		set.AddFlagSet(group)
	}
	if err := set.Parse(s.flags()); err != nil {
		return options.CompletedOptions{}, fmt.Errorf("set api server options: %w", err)
	}
	run.SecureServing.Listener = s.ln
	if err := run.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return options.CompletedOptions{}, fmt.Errorf("set feature gates: %w", err)
	}
	completed, err := run.Complete(ctx)
	if err != nil {
		return completed, fmt.Errorf("complete api server options: %w", err)
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return completed, fmt.Errorf("check api server options: %w", utilerrors.NewAggregate(errs))
	}
	return completed, nil
}

func definitions(ref openapicommon.ReferenceCallback) map[string]openapicommon.OpenAPIDefinition {
	all := kubeopenapi.GetOpenAPIDefinitions(ref)
	maps.Copy(all, registry.OpenAPIDefinitions(ref))
	return all
}

// build assembles the chain: aggregator, Kubernetes with our groups, custom
// resources, not found.
func (s *apiServer) build(ctx context.Context) (*aggregatorapiserver.APIAggregator, error) {
	completed, err := s.complete(ctx)
	if err != nil {
		return nil, err
	}
	schemes := []*runtime.Scheme{legacyscheme.Scheme, apiextensionsapiserver.Scheme, aggregatorscheme.Scheme, registry.Scheme}
	config, informers, storageFactory, err := controlplaneapiserver.BuildGenericConfig(completed.CompletedOptions, schemes, controlplane.DefaultAPIResourceConfigSource(), definitions)
	if err != nil {
		return nil, fmt.Errorf("build generic config: %w", err)
	}
	readStored(informers, s.backend, nil)
	s.authorize(config, informers)
	s.extend(config) // before the config is copied
	s.openAPI = config.OpenAPIV3Config
	kube, resolver, initializers, err := app.CreateKubeAPIServerConfig(completed, config, informers, storageFactory)
	if err != nil {
		return nil, fmt.Errorf("build api server config: %w", err)
	}
	kubePlane := &kube.ControlPlane
	wrapper := webhook.NewDefaultAuthenticationInfoResolverWrapper(kubePlane.ProxyTransport, kubePlane.Generic.EgressSelector, kubePlane.Generic.LoopbackClientConfig, kubePlane.Generic.TracerProvider)
	extensions, err := controlplaneapiserver.CreateAPIExtensionsConfig(*kubePlane.Generic, kubePlane.VersionedInformers, initializers, completed.CompletedOptions, completed.MasterCount, resolver, wrapper)
	if err != nil {
		return nil, fmt.Errorf("build custom resource config: %w", err)
	}
	extensions.GenericConfig.RESTOptionsGetter = s.backend.Cached(extensions.GenericConfig.RESTOptionsGetter)
	extensions.ExtraConfig.CRDRESTOptionsGetter = s.backend.Uncached(extensions.ExtraConfig.CRDRESTOptionsGetter)
	aggregation, err := controlplaneapiserver.CreateAggregatorConfig(*kubePlane.Generic, completed.CompletedOptions, kubePlane.VersionedInformers, resolver, kubePlane.ProxyTransport, kubePlane.PeerProxy, initializers)
	if err != nil {
		return nil, fmt.Errorf("build aggregator config: %w", err)
	}
	aggregation.GenericConfig.RESTOptionsGetter = s.backend.Cached(aggregation.GenericConfig.RESTOptionsGetter)
	kubeConfig, extensionsConfig, aggregatorConfig := kube.Complete(), extensions.Complete(), aggregation.Complete()
	notFound := notfoundhandler.New(kubeConfig.ControlPlane.Generic.Serializer, filters.NoMuxAndDiscoveryIncompleteKey)
	extensionsServer, err := extensionsConfig.New(genericapiserver.NewEmptyDelegateWithCustomHandler(notFound))
	if err != nil {
		return nil, fmt.Errorf("build custom resource server: %w", err)
	}
	kubeServer, err := kubeConfig.New(extensionsServer.GenericAPIServer)
	if err != nil {
		return nil, fmt.Errorf("build api server: %w", err)
	}
	server := kubeServer.ControlPlane.GenericAPIServer
	if err := s.installGroups(server, completed, config); err != nil {
		return nil, err
	}
	server.AddPostStartHookOrDie("muster/rbac", func(hook genericapiserver.PostStartHookContext) error {
		return bootstrapRBAC(hook, informers.Rbac().V1())
	})
	aggregator, err := controlplaneapiserver.CreateAggregatorServer(aggregatorConfig, server, extensionsServer.Informers.Apiextensions().V1().CustomResourceDefinitions(), true, priorities())
	if err != nil {
		return nil, fmt.Errorf("build aggregator: %w", err)
	}
	for path, handler := range s.options.Handlers {
		aggregator.GenericAPIServer.Handler.NonGoRestfulMux.Handle(path, handler)
	}
	return aggregator, nil
}

// authorize has requests judged by the domains, then by RBAC as Kubernetes does it.
func (s *apiServer) authorize(config *genericapiserver.Config, from informers.SharedInformerFactory) {
	stored := from.Rbac().V1()
	rules := rbac.New(
		&rbac.RoleGetter{Lister: stored.Roles().Lister()}, &rbac.RoleBindingLister{Lister: stored.RoleBindings().Lister()},
		&rbac.ClusterRoleGetter{Lister: stored.ClusterRoles().Lister()}, &rbac.ClusterRoleBindingLister{Lister: stored.ClusterRoleBindings().Lister()},
	)
	config.Authorization.Authorizer = union.New(slices.Concat(s.options.Authorizers,
		[]authorizer.Authorizer{authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup), rules})...)
	config.RuleResolver = rules
}

// replacedHooks are what the API server would do at its start and this one does
// not: roles and priority classes come from bootstrapRBAC; old kinds of tokens, the
// settings of priority and fairness, which is off, and the leases of other API
// servers, of which there are none, are nobody's concern here.
var replacedHooks = []string{
	rbacrest.PostStartHookName, "scheduling/bootstrap-system-priority-classes", "start-legacy-token-tracking-controller", flowcontrolrest.PostStartHookName,
	"start-kube-apiserver-identity-lease-controller", "start-kube-apiserver-identity-lease-garbage-collector",
}

// extend hangs what the domains brought into the config that all servers of
// the chain share.
func (s *apiServer) extend(config *genericapiserver.Config) {
	config.RESTOptionsGetter = s.backend.Cached(config.RESTOptionsGetter)
	config.AuditBackend, config.AuditPolicyRuleEvaluator = s.options.Audit, s.options.AuditPolicy
	longRunning := config.LongRunningFunc
	config.LongRunningFunc = func(r *http.Request, info *request.RequestInfo) bool {
		_, ours := s.options.Handlers[info.Path]
		return ours || longRunning(r, info)
	}
	chain := config.BuildHandlerChainFunc
	config.BuildHandlerChainFunc = func(handler http.Handler, final *genericapiserver.Config) http.Handler {
		handler = chain(handler, final)
		if s.options.Middleware != nil {
			handler = s.options.Middleware(handler)
		}
		return whileWarming(handler, s.ready)
	}
	config.DisabledPostStartHooks.Insert(replacedHooks...)
}

func (s *apiServer) installGroups(server *genericapiserver.GenericAPIServer, completed options.CompletedOptions, config *genericapiserver.Config) error {
	getter, err := registry.NewRESTOptionsGetter(*completed.Etcd, s.backend, config.StorageObjectCountTracker)
	if err != nil {
		return fmt.Errorf("build storage of our groups: %w", err)
	}
	groups, err := registry.NewGroups(getter, registry.Options{Proxy: s.options.Proxy, ProxyAll: s.options.ProxyAll})
	if err != nil {
		return fmt.Errorf("build our groups: %w", err)
	}
	if err := server.InstallAPIGroups(groups.Infos...); err != nil {
		return fmt.Errorf("install our groups: %w", err)
	}
	s.direct = groups.Direct(config.AdmissionControl)
	for kind, resource := range storedKinds {
		s.direct.ReadFrom(kind, newStoredSource(s.backend, resource))
	}
	// The group's own web service would swallow the group's versions that custom
	// resources serve; the aggregator answers group discovery.
	container := server.Handler.GoRestfulContainer
	for _, service := range container.RegisteredWebServices() {
		for _, group := range groups.Infos {
			if service.RootPath() == "/apis/"+group.PrioritizedVersions[0].Group {
				if err := container.Remove(service); err != nil {
					return fmt.Errorf("remove web service %s: %w", service.RootPath(), err)
				}
			}
		}
	}
	return nil
}

// priorities orders discovery. Kubernetes' own table is not exported; without
// an entry a group-version gets no APIService.
func priorities() map[schema.GroupVersion]controlplaneapiserver.APIServicePriority {
	all := controlplaneapiserver.DefaultGenericAPIServicePriorities()
	for groupVersion, priority := range map[string]int32{
		"apps/v1": 17800, "autoscaling/v2": 17500, "autoscaling/v1": 17500, "batch/v1": 17400, "networking.k8s.io/v1": 17200,
		"policy/v1": 17100, "storage.k8s.io/v1": 16800, "scheduling.k8s.io/v1": 16600, "node.k8s.io/v1": 16300, "resource.k8s.io/v1": 16200,
	} {
		parsed, err := schema.ParseGroupVersion(groupVersion)
		if err != nil {
			panic(err)
		}
		all[parsed] = controlplaneapiserver.APIServicePriority{Group: priority, Version: 15}
	}
	for groupVersion, priority := range registry.APIServicePriorities() {
		all[groupVersion] = controlplaneapiserver.APIServicePriority{Group: priority.Group, Version: priority.Version}
	}
	return all
}

// watchersLeave is how long a stop waits for those who watch: a minute by
// default, which they would use up.
const watchersLeave = 2 * time.Second

// startedLimit is how long a server that is to stop may go on starting.
const startedLimit = 10 * time.Second

// run serves until ctx ends. A server that is still starting then starts first: what
// is stopped while it starts takes the whole process with it.
func (s *apiServer) run(ctx context.Context, aggregator *aggregatorapiserver.APIAggregator) error {
	aggregator.GenericAPIServer.ShutdownTimeout = watchersLeave
	prepared, err := aggregator.PrepareRun()
	if err != nil {
		return fmt.Errorf("prepare api server: %w", err)
	}
	s.openAPI.Definitions = nil // the documents are built; what they were built from is ten megabytes
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() {
		defer stop()
		if s.ready() == nil {
			return
		}
		limit, cancel := context.WithTimeout(running, startedLimit)
		defer cancel()
		if err := waitFor(limit, aggregator.GenericAPIServer.LoopbackClientConfig, "/readyz"); err != nil {
			slog.Debug("the api server is stopped while it starts", "error", err)
		}
	})()
	if err := prepared.Run(running); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("run api server: %w", err)
	}
	return nil
}
