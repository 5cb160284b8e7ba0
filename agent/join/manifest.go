package join

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/backend/agentapi"
	"muster.dev/muster/backend/apis"
)

// Description is what an agent says of its cluster beyond what it can find out.
type Description struct {
	Provider, Region string
	Zones            []string
	// APIEndpoint is the member's API server as its operators know it.
	APIEndpoint string
	// ProxyURL is a forward proxy through which the member can be reached.
	ProxyURL string
	// ClusterNamespace is the hub namespace for the cluster's credentials.
	ClusterNamespace string
}

// BootstrapSecret names the Secret that holds a token until the agent has an
// identity, in the manifest flavour.
const BootstrapSecret = "muster-agent-bootstrap"

// identityAnnotation on the pod says which certificate it was started for.
const identityAnnotation = "muster.dev/identity"

// Keys of the bootstrap Secret.
const (
	bootstrapHub     = "hub"
	bootstrapToken   = "token"
	bootstrapCA      = "ca.crt"
	bootstrapCluster = "cluster-name"
)

// Deployment of the agent: what varies.
type deployment struct {
	namespace string
	image     string
	identity  string // changes with the identity, so that a new one restarts the pod
	bootstrap bool   // the pod registers by itself
	Description
}

func ourLabels() map[string]string {
	return map[string]string{"app.kubernetes.io/name": agentapi.AgentName, apis.SystemLabel: apis.LabelTrue}
}

func podLabels() map[string]string {
	return map[string]string{"app.kubernetes.io/name": agentapi.AgentName}
}

// objects returns what the agent needs in the member besides its Secret, in the
// order to create it in.
func (d deployment) objects() []runtime.Object {
	role := agentapi.AgentName
	account := metav1.ObjectMeta{Name: agentapi.AgentName, Namespace: d.namespace, Labels: ourLabels()}
	return []runtime.Object{
		&corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: d.namespace, Labels: ourLabels()}},
		&corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: account},
		&rbacv1.ClusterRole{TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
			ObjectMeta: metav1.ObjectMeta{Name: role, Labels: ourLabels()},
			Rules: []rbacv1.PolicyRule{ // Works may hold any kind
				{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}},
				{NonResourceURLs: []string{"*"}, Verbs: []string{"get"}},
			}},
		&rbacv1.ClusterRoleBinding{TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRoleBinding"},
			ObjectMeta: metav1.ObjectMeta{Name: role, Labels: ourLabels()},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: agentapi.AgentName, Namespace: d.namespace}}},
		d.deployment(account),
	}
}

// deployment is one pod without any privilege on its node: no root, no writable
// disk, no capability. A new pod starts only once the old one is gone, so that
// two never write to the member.
func (d deployment) deployment(m metav1.ObjectMeta) *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment"},
		ObjectMeta: m,
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](1),
			Selector: &metav1.LabelSelector{MatchLabels: podLabels()},
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: podLabels(), Annotations: d.podAnnotations()},
				Spec: corev1.PodSpec{
					ServiceAccountName: agentapi.AgentName,
					SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](65532), RunAsGroup: ptr.To[int64](65532),
						SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
					Tolerations: []corev1.Toleration{
						{Key: "node-role.kubernetes.io/control-plane", Operator: corev1.TolerationOpExists},
						{Key: "node-role.kubernetes.io/master", Operator: corev1.TolerationOpExists},
					},
					TerminationGracePeriodSeconds: ptr.To[int64](10),
					Containers: []corev1.Container{{
						Name: "agent", Image: d.image, ImagePullPolicy: corev1.PullIfNotPresent, Args: d.args(),
						Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
							corev1.ResourceCPU: resource.MustParse("20m"), corev1.ResourceMemory: resource.MustParse("64Mi")}},
						SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true),
							Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
						TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
					}},
				},
			},
		},
	}
}

func (d deployment) podAnnotations() map[string]string {
	if d.identity == "" {
		return nil
	}
	return map[string]string{identityAnnotation: d.identity}
}

func (d deployment) args() []string {
	args := []string{"run", "--namespace=" + d.namespace}
	for _, flag := range []struct{ name, value string }{
		{"cluster-provider", d.Provider}, {"cluster-region", d.Region}, {"cluster-zones", strings.Join(d.Zones, ",")},
		{"cluster-api-endpoint", d.APIEndpoint}, {"proxy-server-address", d.ProxyURL}, {"cluster-namespace", d.ClusterNamespace},
	} {
		if flag.value != "" {
			args = append(args, "--"+flag.name+"="+flag.value)
		}
	}
	if d.bootstrap {
		args = append(args, "--bootstrap")
	}
	return args
}

// printable returns objects as one YAML stream, without the fields that only a
// server fills in.
func printable(objects []runtime.Object) ([]byte, error) {
	var out bytes.Buffer
	for i, o := range objects {
		fields, err := plainFields(o)
		if err != nil {
			return nil, err
		}
		text, err := yaml.Marshal(fields)
		if err != nil {
			return nil, fmt.Errorf("print a manifest: %w", err)
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		out.Write(text)
	}
	return out.Bytes(), nil
}

func plainFields(o runtime.Object) (map[string]any, error) {
	data, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("print a manifest: %w", err)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, fmt.Errorf("print a manifest: %w", err)
	}
	delete(fields, "status")
	dropEmpty(fields)
	return fields, nil
}

// dropEmpty removes nulls and empty maps, which Go types print for what is unset.
func dropEmpty(fields map[string]any) {
	for key, value := range fields {
		switch value := value.(type) {
		case nil:
			delete(fields, key)
		case map[string]any:
			dropEmpty(value)
			if len(value) == 0 {
				delete(fields, key)
			}
		case []any:
			for _, item := range value {
				if inner, ok := item.(map[string]any); ok {
					dropEmpty(inner)
				}
			}
		}
	}
}

// identityPreview stands for the identity Secret where it is not made yet.
func identityPreview(namespace string) runtime.Object {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: agentapi.AgentName, Namespace: namespace, Labels: ourLabels()},
		Type:       corev1.SecretTypeOpaque,
		StringData: map[string]string{kubeconfigKey: "made while registering: the hub's address and CA, the agent's certificate and key"},
	}
}
