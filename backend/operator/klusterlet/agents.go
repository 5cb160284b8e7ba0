package klusterlet

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	"muster.dev/muster/backend/operator/component"
)

const (
	// Directories in the agents' containers.
	hubDir       = "/spoke/hub-kubeconfig"
	memberDir    = "/spoke/config"
	bootstrapDir = "/spoke/bootstrap"

	agentProgram = "/muster-agent"
	agentPort    = 8443
	// defaultStatusSync is how often one work agent alone looks at what it applied, where nothing is said.
	defaultStatusSync = time.Minute
)

// agents renders the Deployments. hubIdentity replaces the registering pods when the hub, its proxy or its CA becomes another; cluster is
// the name that the hub knows the cluster by, if it is known; the work agent runs once there are credentials for it.
func (p plan) agents(k *ocmoperatorv1.Klusterlet, hubIdentity, cluster string, workReady bool) []component.Workload {
	registration, work := p.deployments()
	annotations := map[string]string{}
	if hubIdentity != "" {
		annotations[hubIdentityAnnotation] = hubIdentity
	}
	base := component.Workload{
		Namespace: p.agentNamespace, Replicas: 1, Labels: p.labels(), Pods: p.pods, Command: []string{agentProgram},
		Probe: component.Probe{Port: agentPort, Scheme: corev1.URISchemeHTTPS, Live: "/healthz", Ready: "/healthz"},
	}
	scratch := component.ScratchMount("tmpdir", "/tmp", "")
	first := base
	first.Name, first.App, first.Container, first.Image = registration, registrationApp, "registration-controller", p.registrationImage
	first.Account, first.Annotations = p.registrationAccount(), annotations
	first.Args = append([]string{"registration"}, p.registrationArgs(k)...)
	first.Mounts = append(p.bootstrapMounts(), scratch)
	if p.mode.IsSingleton() {
		first.App, first.Container = singletonApp, "klusterlet-agent"
		first.Args = append(append([]string{"klusterlet"}, p.registrationArgs(k)...), p.workArgs(k, "")...)
		first.Mounts = append(first.Mounts, p.memberMount("agent")...)
		return []component.Workload{first}
	}
	first.Mounts = append(first.Mounts, p.memberMount("registration")...)
	second := base
	second.Name, second.App, second.Container, second.Image = work, workApp, "klusterlet-manifestwork-agent", p.workImage
	second.Account = p.workAccount()
	second.Args = append([]string{"work"}, append(p.workArgs(k, cluster), p.terminateOn()...)...)
	second.Mounts = append([]component.Mount{component.SecretMount("hub-kubeconfig-secret", hubDir, ocmoperatorv1.HubKubeconfigSecret, false), scratch}, p.memberMount("work")...)
	if !workReady {
		second.Replicas = 0
	}
	return []component.Workload{first, second}
}

func (p plan) bootstrapMounts() []component.Mount {
	if len(p.bootstraps) == 1 {
		return []component.Mount{component.SecretMount("bootstrap-secret", bootstrapDir, p.bootstraps[0], true)}
	}
	mounts := make([]component.Mount, 0, len(p.bootstraps)+1)
	for _, name := range p.bootstraps {
		mounts = append(mounts, component.SecretMount("bootstrap-"+name, "/spoke/"+name, name, true))
	}
	return mounts
}

// memberMount is the kubeconfig of the managed cluster, for agents that run elsewhere.
func (p plan) memberMount(agent string) []component.Mount {
	if !p.mode.IsHosted() {
		return nil
	}
	return []component.Mount{component.SecretMount("spoke-kubeconfig-secret", memberDir, ocmoperatorv1.ExternalManagedKubeconfigSecret+"-"+agent, false)}
}

func (p plan) terminateOn() []string {
	return []string{"--terminate-on-files=" + hubDir + "/kubeconfig"}
}

func (p plan) registrationArgs(k *ocmoperatorv1.Klusterlet) []string {
	settings := registrationOf(k)
	var args arguments
	args.text("spoke-cluster-name", k.Spec.ClusterName)
	if len(p.bootstraps) == 1 {
		args.text("bootstrap-kubeconfig", bootstrapDir+"/kubeconfig")
	} else {
		for _, name := range p.bootstraps {
			args.text("bootstrap-kubeconfigs", "/spoke/"+name+"/kubeconfig")
		}
		timeout := int64(hubTimeoutSeconds)
		if given := settings.BootstrapKubeConfigs.LocalSecrets.HubConnectionTimeoutSeconds; given > 0 {
			timeout = int64(given)
		}
		args.number("hub-connection-timeout-seconds", timeout)
	}
	var urls []string
	for _, server := range k.Spec.ExternalServerURLs {
		if server.URL != "" {
			urls = append(urls, server.URL)
		}
	}
	args.text("spoke-external-server-urls", strings.Join(urls, ","))
	args.number("client-cert-expiration-seconds", int64(settings.ClientCertExpirationSeconds))
	for _, key := range slices.Sorted(maps.Keys(settings.ClusterAnnotations)) {
		args.text("cluster-annotations", key+"="+settings.ClusterAnnotations[key])
	}
	args.number("kube-api-qps", int64(settings.KubeAPIQPS))
	args.number("kube-api-burst", int64(settings.KubeAPIBurst))
	if claims := settings.ClusterClaimConfiguration; claims != nil {
		args.number("max-custom-cluster-claims", int64(claims.MaxCustomClusterClaims))
		args.text("reserved-cluster-claim-suffixes", strings.Join(claims.ReservedClusterClaimSuffixes, ","))
	}
	gates := p.registrationGates
	if p.mode.IsSingleton() {
		gates = append(slices.Clone(gates), p.workGates...)
	}
	args.text("feature-gates", strings.Join(gates, ","))
	if p.mode.IsHosted() {
		args.text("spoke-kubeconfig", memberDir+"/kubeconfig")
		args.text("terminate-on-files", memberDir+"/kubeconfig")
	}
	return args
}

// workArgs are the work agent's, or what a singleton has in addition to the registration agent's.
func (p plan) workArgs(k *ocmoperatorv1.Klusterlet, cluster string) []string {
	settings := workOf(k)
	var args arguments
	if !p.mode.IsSingleton() {
		args.text("spoke-cluster-name", cluster)
	}
	args.text("workload-source-driver", "kube")
	args.text("workload-source-config", hubDir+"/kubeconfig")
	args.text("agent-id", string(k.UID))
	interval := defaultStatusSync
	if settings.StatusSyncInterval != nil {
		interval = settings.StatusSyncInterval.Duration
	}
	args.text("status-sync-interval", interval.String())
	if grace := settings.AppliedManifestWorkEvictionGracePeriod; grace != nil {
		args.text("appliedmanifestwork-eviction-grace-period", grace.Duration.String())
	}
	if !p.mode.IsSingleton() { // there these flags are the registration agent's
		args.number("kube-api-qps", int64(settings.KubeAPIQPS))
		args.number("kube-api-burst", int64(settings.KubeAPIBurst))
	}
	args.number("hub-kube-api-qps", int64(settings.HubKubeAPIQPS))
	args.number("hub-kube-api-burst", int64(settings.HubKubeAPIBurst))
	if p.mode.IsSingleton() {
		return args
	}
	args.text("feature-gates", strings.Join(p.workGates, ","))
	if p.mode.IsHosted() {
		args.text("spoke-kubeconfig", memberDir+"/kubeconfig")
		args.text("terminate-on-files", memberDir+"/kubeconfig")
	}
	return args
}

// arguments grow by flags that have a value; what is unset is left to the agent's own default.
type arguments []string

func (a *arguments) text(name, value string) {
	if value != "" {
		*a = append(*a, "--"+name+"="+value)
	}
}

func (a *arguments) number(name string, value int64) {
	if value != 0 {
		*a = append(*a, fmt.Sprintf("--%s=%d", name, value))
	}
}
