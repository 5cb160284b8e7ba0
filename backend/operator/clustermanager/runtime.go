package clustermanager

import (
	"context"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	"muster.dev/muster/backend/operator/component"
)

const (
	hubProgram = "/muster"
	// Directories in the components' containers.
	credentialDir = "/var/run/secrets/hub"
	servingDir    = "/var/run/secrets/webhook"
	dataDir       = "/data"

	// DatabaseSecret, in the components' namespace, holds the URL of a PostgreSQL under key "url". With it the hub may have replicas;
	// without it the hub keeps users, sessions and audit in SQLite, of which there is one.
	DatabaseSecret = "muster-database"
	databaseKey    = "url"
	// DataClaim, in the components' namespace, is the PersistentVolumeClaim that the hub keeps its SQLite file on, where there is one.
	DataClaim = "muster-data"

	controlPlaneLabel = "node-role.kubernetes.io/control-plane"
	dashboardPort     = 8443
	// severalReplicas run where the cluster itself is made to survive the loss of a node.
	severalReplicas = 3
)

// storage says what there is for the hub to keep its users, sessions and audit in.
type storage struct{ database, claim bool }

func (r *Reconciler) findStorage(ctx context.Context, namespace string) (storage, error) {
	secret, err := component.GetSecret(ctx, r.client, namespace, DatabaseSecret)
	if err != nil {
		return storage{}, err
	}
	claim := &corev1.PersistentVolumeClaim{}
	err = r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: DataClaim}, claim)
	if err != nil && !component.IsGone(err) {
		return storage{}, fmt.Errorf("read persistent volume claim %s/%s: %w", namespace, DataClaim, err)
	}
	return storage{database: secret != nil && len(secret.Data[databaseKey]) > 0, claim: err == nil}, nil
}

// replicas says how many of each component run.
func (r *Reconciler) replicas(ctx context.Context, p plan) (int32, error) {
	if r.settings.Replicas > 0 {
		return r.settings.Replicas, nil
	}
	if p.hosted {
		return 1, nil
	}
	nodes := &corev1.NodeList{}
	if err := r.client.List(ctx, nodes, client.HasLabels{controlPlaneLabel}); err != nil {
		return 0, fmt.Errorf("count control-plane nodes: %w", err)
	}
	if len(nodes.Items) > 1 {
		return severalReplicas, nil
	}
	return 1, nil
}

// applyDeployments writes the Deployments and removes those that another operator or version had made.
func (r *Reconciler) applyDeployments(ctx context.Context, s *scope) error {
	stored, err := r.findStorage(ctx, s.plan.namespace)
	if err != nil {
		return s.fail(reasonRuntimeFailed, err)
	}
	replicas, err := r.replicas(ctx, s.plan)
	if err != nil {
		return s.fail(reasonRuntimeFailed, err)
	}
	wanted, applier := map[string]bool{}, component.NewApplier(r.client, s.plan.labels())
	if err := applier.Apply(ctx, append(s.plan.partNotes(), s.plan.dashboard())...); err != nil {
		return s.fail(reasonRuntimeFailed, err)
	}
	for _, d := range s.plan.deployments(stored, replicas, r.settings.AgentImage) {
		if err := applier.Apply(ctx, d); err != nil {
			return s.fail(reasonRuntimeFailed, err)
		}
		wanted[d.Name] = true
	}
	if err := component.PruneDeployments(ctx, r.client, s.plan.labels(), func(namespace, name string) bool {
		return namespace == s.plan.namespace && wanted[name]
	}); err != nil {
		return s.fail(reasonRuntimeFailed, err)
	}
	s.applied = append(s.applied, applier.Applied()...)
	set(s.object, ocmoperatorv1.ConditionApplied, true, reasonApplied, "Components of cluster manager are applied")
	s.object.Status.ObservedGeneration = s.object.Generation
	return nil
}

func (p plan) deployments(stored storage, replicas int32, agentImage string) []*appsv1.Deployment {
	hub := p.workload(p.hubDeployment(), hubApp, hubAccount, p.image)
	hub.Container = "hub-registration-controller"
	hub.Ports = []corev1.ContainerPort{{Name: "dashboard", ContainerPort: dashboardPort, Protocol: corev1.ProtocolTCP}}
	hub.Replicas, hub.Args = replicas, p.hubArgs(stored, agentImage)
	data := component.ScratchMount("data", dataDir, "")
	if stored.claim {
		data.Source = corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: DataClaim}}
	}
	hub.Mounts = append(hub.Mounts, data)
	if stored.database {
		hub.Env = []corev1.EnvVar{{Name: "MUSTER_DATABASE", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: DatabaseSecret}, Key: databaseKey,
		}}}}
	} else {
		// A second hub on the same SQLite refuses to start, and so would the new pod of a rolling update.
		hub.Replicas, hub.Replace = 1, true
	}
	deployments := []*appsv1.Deployment{hub.Deployment()}
	for _, w := range p.webhooks() {
		d := p.workload(p.deployment(w), p.deployment(w), w.account(), w.image)
		d.Container, d.Replicas, d.Args, d.HostNetwork = w.short+"-webhook", replicas, p.webhookArgs(w), w.bind.HostNetwork
		d.Ports = []corev1.ContainerPort{{ContainerPort: w.bind.Port, Protocol: corev1.ProtocolTCP}}
		d.Probe = probe(w.bind.Port)
		d.Mounts = append(d.Mounts, component.SecretMount("webhook-secret", servingDir, w.secret(), false))
		deployments = append(deployments, d.Deployment())
	}
	return deployments
}

// dashboard leads browsers to the hub's pods. A browser stays with one of them: its WebSocket has to reach the replica that gave it its ticket.
func (p plan) dashboard() client.Object {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: p.name + "-dashboard"},
		Spec: corev1.ServiceSpec{
			Selector:        map[string]string{"app": hubApp},
			Ports:           []corev1.ServicePort{{Name: "https", Port: dashboardPort, TargetPort: intstr.FromString("dashboard"), Protocol: corev1.ProtocolTCP}},
			SessionAffinity: corev1.ServiceAffinityClientIP,
		},
	}
}

// workload is what the components have in common.
func (p plan) workload(name, app, account, image string) component.Workload {
	w := component.Workload{
		Name: name, Namespace: p.namespace, App: app, Image: image, Command: []string{hubProgram},
		Labels: p.labels(), Pods: p.pods, Probe: probe(hubProbePort), Account: account,
		Mounts: []component.Mount{component.ScratchMount("tmpdir", "/tmp", "")},
	}
	if p.hosted { // the account is the hub's, and comes as a kubeconfig
		w.Account = ""
		w.Mounts = append(w.Mounts, component.SecretMount("kubeconfig", credentialDir, account+"-kubeconfig", false))
	}
	return w
}

// hubProbePort is where the hub itself listens for the probes: its listener for webhooks, which nobody else calls.
const hubProbePort = 9443

func probe(port int32) component.Probe {
	return component.Probe{Port: port, Scheme: corev1.URISchemeHTTPS, Live: "/healthz", Ready: "/readyz"}
}

// connectionArgs say where the hub's API is, and that others look after its kinds and webhook configurations.
func (p plan) connectionArgs(port int32) []string {
	args := []string{
		"serve", "--plane=external", "--hub-namespace=" + p.namespace, "--install-crds=false", "--webhook-configurations=false",
		fmt.Sprintf("--webhook-listen=0.0.0.0:%d", port),
	}
	if p.hosted {
		args = append(args, "--kubeconfig="+credentialDir+"/"+component.KubeconfigKey)
	}
	return args
}

func (p plan) hubArgs(stored storage, agentImage string) []string {
	args := append(p.connectionArgs(hubProbePort), "--data-dir="+dataDir, "--dashboard-listen=0.0.0.0:"+strconv.Itoa(dashboardPort))
	if agentImage != "" {
		args = append(args, "--agent-image="+agentImage)
	}
	if stored.database {
		args = append(args, "--database=$(MUSTER_DATABASE)")
	}
	for _, user := range p.autoApprove {
		args = append(args, "--auto-approve-users="+user)
	}
	return args
}

func (p plan) webhookArgs(w webhook) []string {
	return append(p.connectionArgs(w.bind.Port), "--webhooks-only",
		"--webhook-tls-cert="+servingDir+"/"+corev1.TLSCertKey, "--webhook-tls-key="+servingDir+"/"+corev1.TLSPrivateKeyKey)
}

// namespaceObject is what holds the components.
func (p plan) namespaceObject() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespace}}
}
