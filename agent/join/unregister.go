package join

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"muster.dev/muster/agent/apply"
	"muster.dev/muster/backend/agentapi"
	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

// Leaving are the options of one unregistration.
type Leaving struct {
	ClusterName string
	// Member reaches the cluster that leaves.
	Member    *rest.Config
	Namespace string
	// Hub reaches the hub as somebody who may delete the Cluster. nil: as the
	// agent, by the identity found in the member.
	Hub *rest.Config
	// Wait bounds the wait for the hub's clean-up.
	Wait time.Duration
	// Force goes on with the member although the hub could not be asked, or did
	// not finish.
	Force bool
	// DryRun only says what would be done.
	DryRun bool
	Out    io.Writer
}

func (l *Leaving) say(stage, format string, a ...any) {
	fmt.Fprintf(l.Out, "[%s] %s\n", stage, fmt.Sprintf(format, a...))
}

// Unregister takes a cluster out of its hub: the Cluster and everything the hub
// has put into the member go first, then the agent with its identity. It can be
// repeated; what is gone already is no error. Namespaces of the member that hold
// objects of others are kept.
func Unregister(ctx context.Context, l Leaving) error {
	m, err := newMember(l.Member, l.Namespace)
	if err != nil {
		return err
	}
	if _, err := m.reach(ctx); err != nil {
		return err
	}
	if err := l.leaveHub(ctx, m); err != nil {
		if !l.Force || ctx.Err() != nil {
			return err
		}
		l.say("hub", "going on by force: %v", err)
	}
	return l.clean(ctx, m)
}

var (
	clusterResource = schema.GroupVersionResource{Group: clusterv1alpha1.GroupName, Version: "v1alpha1", Resource: "clusters"}
	workResource    = schema.GroupVersionResource{Group: "work.karmada.io", Version: "v1alpha1", Resource: "works"}
)

func (l *Leaving) leaveHub(ctx context.Context, m *member) error {
	config := l.Hub
	if config == nil {
		i, err := NewStore(m.client, l.Namespace).Load(ctx)
		if errors.Is(err, ErrNoIdentity) {
			l.say("hub", "there is no identity here, so the hub is not asked; give --karmada-config to remove the cluster there, too")
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w; give --karmada-config to do without it", err)
		}
		if i.Cluster != l.ClusterName {
			return fmt.Errorf("this cluster is registered as %s, not as %s", i.Cluster, l.ClusterName)
		}
		config = i.Config()
	}
	config = rest.CopyConfig(config)
	config.QPS, config.Timeout = -1, requestTimeout
	hub, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("client of the hub: %w", err)
	}
	return l.remove(ctx, hub, m)
}

// remove deletes the Cluster and waits until it is gone.
func (l *Leaving) remove(ctx context.Context, hub dynamic.Interface, m *member) error {
	clusters := hub.Resource(clusterResource)
	cluster, err := clusters.Get(ctx, l.ClusterName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		l.say("hub", "the hub has no cluster %s any more", l.ClusterName)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read cluster %s on the hub (--karmada-config asks as somebody else, --force leaves the hub out): %w", l.ClusterName, err)
	}
	spec, _ := cluster.Object["spec"].(map[string]any)
	if spec["syncMode"] != string(clusterv1alpha1.Pull) {
		return fmt.Errorf("cluster %s is reached by the hub (push): use muster unjoin %s", l.ClusterName, l.ClusterName)
	}
	if err := l.sameCluster(ctx, m, spec); err != nil {
		return err
	}
	if l.DryRun {
		l.say("hub", "would delete cluster %s and wait until everything it put here is gone", l.ClusterName)
		return nil
	}
	if err := clusters.Delete(ctx, l.ClusterName, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(cluster.GetUID())}}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete cluster %s on the hub: %w", l.ClusterName, err)
	}
	l.say("hub", "cluster %s is being removed", l.ClusterName)
	return l.await(ctx, hub)
}

// sameCluster makes sure that the member at hand is the one the hub means.
func (l *Leaving) sameCluster(ctx context.Context, m *member, spec map[string]any) error {
	id, err := m.id(ctx)
	if err != nil {
		return err
	}
	if known, _ := spec["id"].(string); known != "" && known != string(id) {
		return fmt.Errorf("the kubeconfig reaches another cluster than the one registered as %s", l.ClusterName)
	}
	return nil
}

// await waits for the Cluster's end and says what holds it up.
func (l *Leaving) await(ctx context.Context, hub dynamic.Interface) error {
	within, cancel := context.WithTimeout(ctx, l.Wait)
	defer cancel()
	said := time.Now()
	for pause := 50 * time.Millisecond; ; pause = min(pause*3/2, 500*time.Millisecond) {
		cluster, err := hub.Resource(clusterResource).Get(within, l.ClusterName, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			l.say("hub", "cluster %s is removed", l.ClusterName)
			return nil
		}
		if !sleep(within, pause) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			left, cancel := context.WithTimeout(ctx, requestTimeout)
			defer cancel()
			return fmt.Errorf("cluster %s is not removed after %s: %s", l.ClusterName, l.Wait, l.blockers(left, hub))
		}
		if err == nil && cluster != nil && time.Since(said) > 3*time.Second {
			said = time.Now()
			l.say("hub", "waiting: %s", l.blockers(within, hub))
		}
	}
}

// blockers says what of the cluster is left on the hub.
func (l *Leaving) blockers(ctx context.Context, hub dynamic.Interface) string {
	works, err := hub.Resource(workResource).Namespace(apis.ExecutionSpace(l.ClusterName)).List(ctx, metav1.ListOptions{Limit: 100})
	if err != nil || len(works.Items) == 0 {
		return "the hub finishes its own clean-up"
	}
	var names []string
	for _, work := range works.Items {
		names = append(names, work.GetName())
	}
	slices.Sort(names)
	text := fmt.Sprintf("%d works are still held, among them %s", len(names), strings.Join(names[:min(len(names), 3)], ", "))
	return text + "; the agent removes their objects here, or the hub releases them once the agent has been silent for a while"
}

// clean deletes the agent from the member: first what could still act.
func (l *Leaving) clean(ctx context.Context, m *member) error {
	steps := []struct{ kind, namespace, name string }{
		{"Deployment", l.Namespace, agentapi.AgentName},
		{"Secret", l.Namespace, BootstrapSecret},
		{"Secret", l.Namespace, agentapi.AgentName},
		{"ClusterRoleBinding", "", agentapi.AgentName},
		{"ClusterRole", "", agentapi.AgentName},
		{"ServiceAccount", l.Namespace, agentapi.AgentName},
	}
	for _, s := range steps {
		if l.DryRun {
			l.say("member", "would delete %s %s", s.kind, s.name)
			continue
		}
		err := m.api(s.kind, s.namespace).Delete(ctx, s.name, metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("delete %s %s in this cluster: %w", s.kind, s.name, err)
		}
		l.say("member", "%s %s is deleted", s.kind, s.name)
	}
	return l.cleanNamespace(ctx, m)
}

// cleanNamespace deletes the agent's namespace if registering made it and nobody
// else uses it.
func (l *Leaving) cleanNamespace(ctx context.Context, m *member) error {
	namespace, err := m.client.CoreV1().Namespaces().Get(ctx, l.Namespace, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read namespace %s: %w", l.Namespace, err)
	}
	if namespace.Labels["app.kubernetes.io/name"] != agentapi.AgentName {
		return nil
	}
	if l.DryRun {
		l.say("member", "would delete namespace %s unless it holds objects of others", l.Namespace)
		return nil
	}
	others, err := apply.HoldsOthers(ctx, l.Member, l.Namespace)
	if err != nil {
		return err
	}
	if others != "" {
		l.say("member", "namespace %s is kept: %s", l.Namespace, others)
		return nil
	}
	err = m.client.CoreV1().Namespaces().Delete(ctx, l.Namespace, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(namespace.UID)}})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete namespace %s: %w", l.Namespace, err)
	}
	l.say("member", "namespace %s is being deleted", l.Namespace)
	return nil
}
