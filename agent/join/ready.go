package join

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"muster.dev/muster/backend/agentapi"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

// imagePatience is how long an image may fail to be pulled before that counts as
// final. The first failures may pass.
const imagePatience = 20 * time.Second

// hubClient reads Clusters from the hub as the agent.
func hubClient(i *Identity) (rest.Interface, error) {
	scheme := runtime.NewScheme()
	if err := clusterv1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	metav1.AddToGroupVersion(scheme, metav1.Unversioned)
	config := i.Config()
	config.GroupVersion = &clusterv1alpha1.GroupVersion
	config.APIPath = "/apis"
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("client of the hub: %w", err)
	}
	return client, nil
}

func getCluster(ctx context.Context, hub rest.Interface, name string) (*clusterv1alpha1.Cluster, error) {
	cluster := &clusterv1alpha1.Cluster{}
	err := hub.Get().Resource(clusterv1alpha1.ResourcePluralCluster).Name(name).Do(ctx).Into(cluster)
	return cluster, err
}

// follow watches an agent come up: its pod in the member, if it has one, and its
// Cluster on the hub, until that is Ready.
type follow struct {
	member  *member
	store   *Store
	hub     rest.Interface
	cluster string
	pod     bool
	// identity and image are those of the pod to look at: one from before this
	// registration does not count.
	identity, image string
	say             func(stage, format string, a ...any)

	phase string    // of the pod, as last said
	bad   time.Time // since when the image cannot be pulled
}

// wait returns the ready Cluster. Errors are *Failure.
func (f *follow) wait(ctx context.Context) (*clusterv1alpha1.Cluster, error) {
	var last error
	for pause := 50 * time.Millisecond; ; pause = min(pause*3/2, 500*time.Millisecond) {
		cluster, err := getCluster(ctx, f.hub, f.cluster)
		if err == nil && (!f.pod || f.phase == string(corev1.PodRunning)) && meta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1alpha1.ClusterConditionReady) {
			return cluster, nil
		}
		if ctx.Err() == nil {
			last = err
		}
		if f.pod {
			if err := f.look(ctx); err != nil {
				return nil, err
			}
		}
		if err := f.refused(ctx); err != nil {
			return nil, err
		}
		if !sleep(ctx, pause) {
			return nil, f.timeout(cluster, last)
		}
	}
}

func (f *follow) timeout(cluster *clusterv1alpha1.Cluster, err error) *Failure {
	failure := &Failure{Code: CodeLinkRefused, Message: "the cluster did not become ready in time", Err: err,
		Fix: "look at the agent: kubectl -n " + f.member.namespace + " logs deploy/" + agentapi.AgentName + "; registering can be repeated at any point"}
	if f.pod && f.phase != string(corev1.PodRunning) {
		failure.Code, failure.Message = CodeAgentPod, "the agent's pod does not run: "+f.phase
		failure.Fix = "kubectl -n " + f.member.namespace + " describe pods -l " + labels.SelectorFromSet(podLabels()).String()
	}
	if ready := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1alpha1.ClusterConditionReady); ready != nil {
		failure.Cause = ready.Reason + ": " + ready.Message
	}
	return failure
}

// refused fails if the hub has refused the agent's link for a reason that does
// not pass by itself.
func (f *follow) refused(ctx context.Context) error {
	i, err := f.store.Load(ctx)
	if err != nil || i.Refusal == nil || i.Refusal.Code == agentapi.CodeSuperseded {
		return nil //nolint:nilerr // looked at again in a moment
	}
	if i.Refusal.Code == agentapi.CodeRefused { // the hub's own trouble: the agent tries again
		return nil
	}
	code := i.Refusal.Code
	if codePattern.FindString(code) == "" {
		code = CodeLinkRefused
	}
	return &Failure{Code: code, Message: "the hub refuses the agent's link: " + i.Refusal.Message, Fix: i.Refusal.Fix}
}

// look tells how far the pod is, and fails if it cannot come up.
func (f *follow) look(ctx context.Context) error {
	pods, err := f.member.client.CoreV1().Pods(f.member.namespace).List(ctx, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(podLabels()).String()})
	if err != nil {
		return nil //nolint:nilerr // looked at again in a moment
	}
	var newest *corev1.Pod
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.DeletionTimestamp == nil && p.Annotations[identityAnnotation] == f.identity && len(p.Spec.Containers) > 0 && p.Spec.Containers[0].Image == f.image {
			newest = p
		}
	}
	if newest == nil {
		return nil
	}
	state := podState(newest)
	if state != f.phase {
		f.phase = state
		f.say("start", "pod %s: %s", newest.Name, state)
	}
	if !hopeless(newest) {
		f.bad = time.Time{}
		return nil
	}
	if f.bad.IsZero() {
		f.bad = time.Now()
	}
	if time.Since(f.bad) < imagePatience {
		return nil
	}
	return &Failure{Code: CodeAgentPod, Message: "the agent's pod does not start: " + state,
		Cause: "the node cannot pull the image, or the container does not start",
		Fix:   "give an image the nodes can pull with --agent-image, or load it there; details: kubectl -n " + f.member.namespace + " describe pod " + newest.Name}
}

// podState says in a few words where a pod is.
func podState(p *corev1.Pod) string {
	for _, c := range p.Status.ContainerStatuses {
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "" && c.State.Waiting.Reason != "ContainerCreating":
			return c.State.Waiting.Reason
		case c.State.Terminated != nil:
			return "ended: " + c.State.Terminated.Reason
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return "not scheduled: " + c.Message
		}
	}
	return string(p.Status.Phase)
}

// hopeless says whether a pod waits for something that seldom mends itself.
func hopeless(p *corev1.Pod) bool {
	for _, c := range p.Status.ContainerStatuses {
		if w := c.State.Waiting; w != nil {
			switch w.Reason {
			case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "CrashLoopBackOff":
				return true
			}
		}
	}
	return false
}
