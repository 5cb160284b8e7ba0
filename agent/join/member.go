package join

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"muster.dev/muster/backend/agentapi"
)

// namespacePoll is how often a namespace that is being deleted is looked at.
const namespacePoll = 250 * time.Millisecond

// member is the cluster that registers, as its operator reaches it.
type member struct {
	client    kubernetes.Interface
	dynamic   dynamic.Interface
	host      string
	namespace string
}

func newMember(config *rest.Config, namespace string) (*member, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.RateLimiter, config.Timeout = -1, nil, requestTimeout
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client of this cluster: %w", err)
	}
	d, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client of this cluster: %w", err)
	}
	return &member{client: client, dynamic: d, host: config.Host, namespace: namespace}, nil
}

// resources maps the kinds that an agent consists of.
var resources = map[string]schema.GroupVersionResource{
	"Namespace":          {Version: "v1", Resource: "namespaces"},
	"ServiceAccount":     {Version: "v1", Resource: "serviceaccounts"},
	"Secret":             {Version: "v1", Resource: "secrets"},
	"ClusterRole":        {Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"},
	"ClusterRoleBinding": {Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"},
	"Deployment":         {Group: "apps", Version: "v1", Resource: "deployments"},
}

func (m *member) api(kind, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return m.dynamic.Resource(resources[kind])
	}
	return m.dynamic.Resource(resources[kind]).Namespace(namespace)
}

// put creates an object, or brings the fields that are ours up to date.
func (m *member) put(ctx context.Context, o runtime.Object) error {
	accessor, err := meta.Accessor(o)
	if err != nil {
		return err
	}
	kind := o.GetObjectKind().GroupVersionKind().Kind
	fields, err := plainFields(o)
	if err != nil {
		return err
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	_, err = m.api(kind, accessor.GetNamespace()).Patch(ctx, accessor.GetName(), types.ApplyPatchType, data,
		metav1.PatchOptions{FieldManager: agentapi.AgentName, Force: ptr.To(true)})
	if apierrors.IsForbidden(err) {
		return permissionFailure(err.Error())
	}
	if err != nil {
		return fmt.Errorf("create %s %s in this cluster: %w", kind, accessor.GetName(), err)
	}
	return nil
}

// reach asks for the member's version.
func (m *member) reach(context.Context) (string, error) {
	version, err := m.client.Discovery().ServerVersion()
	if err != nil {
		return "", fmt.Errorf("reach this cluster at %s: %w", m.host, err)
	}
	return version.GitVersion, nil
}

// awaitNamespace waits for the end of a namespace that a former agent has left and
// that is still being deleted: nothing can be made in it.
func (o *Options) awaitNamespace(ctx context.Context, m *member) error {
	told, last := false, ""
	err := wait.PollUntilContextTimeout(ctx, namespacePoll, o.Timeout, true, func(ctx context.Context) (bool, error) {
		why, leaving, err := m.namespaceLeaving(ctx)
		if err != nil || !leaving {
			return true, err
		}
		last = why
		if !told {
			told = true
			o.say("preflight", "waiting for namespace %s, which is being deleted", o.Namespace)
		}
		return false, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("namespace %s of this cluster is still being deleted after %s%s: remove what holds it, or register with -n in another one", o.Namespace, o.Timeout, last)
	}
	return err
}

// namespaceLeaving says whether the agent's namespace is being deleted, and what
// Kubernetes says holds it: empty, or starting with a comma.
func (m *member) namespaceLeaving(ctx context.Context) (string, bool, error) {
	namespace, err := m.client.CoreV1().Namespaces().Get(ctx, m.namespace, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("read namespace %s of this cluster: %w", m.namespace, err)
	}
	why := ""
	for _, c := range namespace.Status.Conditions {
		if c.Status == corev1.ConditionTrue {
			why += ", " + c.Message
		}
	}
	return why, namespace.DeletionTimestamp != nil, nil
}

// id is the UID of namespace kube-system, by which a cluster is told from others.
func (m *member) id(ctx context.Context) (types.UID, error) {
	namespace, err := m.client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("read namespace %s of this cluster: %w", metav1.NamespaceSystem, err)
	}
	return namespace.UID, nil
}

// mayInstall checks that the operator may do everything: the agent's role allows
// everything, and nobody can give what he has not.
func (m *member) mayInstall(ctx context.Context) error {
	everything := &authorizationv1.ResourceAttributes{Verb: "*", Group: "*", Resource: "*"}
	review, err := m.client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: everything}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("ask this cluster what we may do: %w", err)
	}
	if !review.Status.Allowed {
		return permissionFailure("the kubeconfig's user may not do everything in this cluster")
	}
	return nil
}

// alone checks that no agent lives in another namespace: its roles, which are
// the cluster's, would be taken from it.
func (m *member) alone(ctx context.Context, cluster string) error {
	binding, err := m.client.RbacV1().ClusterRoleBindings().Get(ctx, agentapi.AgentName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for an agent in this cluster: %w", err)
	}
	for _, subject := range binding.Subjects {
		if subject.Namespace != m.namespace {
			return &Failure{Code: CodeSameCluster, Message: "an agent lives in namespace " + subject.Namespace + " of this cluster",
				Cause: "a cluster belongs to one hub, under one name",
				Fix:   "register with -n " + subject.Namespace + ", or take that agent out first: muster-agent unregister " + cluster + " -n " + subject.Namespace}
		}
	}
	return nil
}

func permissionFailure(message string) *Failure {
	return &Failure{Code: CodePermissions, Message: message,
		Cause: "the agent applies objects of any kind, so its role allows everything, and Kubernetes lets only those grant a role who have its rights",
		Fix:   "use a kubeconfig with the role cluster-admin for registering; the agent gets an account of its own"}
}
