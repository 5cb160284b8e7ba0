package pods

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/backend/workload/fact"
)

// shown is how many pods an answer shows, those first that ask for attention.
const shown = 50

// Pod is one pod of an object in a member.
type Pod struct {
	Name string `json:"name"`
	// Node is where it runs; empty: nowhere yet.
	Node  string `json:"node,omitempty" validate:"optional"`
	Phase string `json:"phase" enums:"Pending,Running,Succeeded,Failed,Unknown"`
	// OK says that it is ready, or has done what it was for.
	OK bool `json:"ok"`
	// Ready counts containers that are ready, of Containers.
	Ready      int `json:"ready"`
	Containers int `json:"containers"`
	Restarts   int `json:"restarts"`
	// Container is the one that Reason is about; empty: it is about the pod.
	Container string    `json:"container,omitempty" validate:"optional"`
	Reason    string    `json:"reason,omitempty" validate:"optional"`
	Message   string    `json:"message,omitempty" validate:"optional"`
	CreatedAt time.Time `json:"createdAt"`
}

// Answer is what a look into a member showed.
type Answer struct {
	// Reachable says whether the member could be asked.
	Reachable bool `json:"reachable"`
	// Fact says the most urgent in one sentence: why the worst pod is not ready,
	// or why the member could not be asked and what to do.
	Fact fact.Fact `json:"fact"`
	// Pods are the first ones, those that are not ready before others.
	Pods []Pod `json:"pods"`
	// Total and NotReady count all pods; with Partial there are more.
	Total    int       `json:"total"`
	NotReady int       `json:"notReady"`
	Partial  bool      `json:"partial"`
	At       time.Time `json:"at"`
	// Shared: somebody asked a few seconds before, and this is what they got.
	Shared bool `json:"shared"`
}

// judged is a pod with how urgent it is.
type judged struct {
	Pod
	rank rank
}

// compare orders pods by urgency, then the newest first, which are those of the
// latest template, then by name.
func compare(a, b judged) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.Name, b.Name))
}

func judge(pod *corev1.Pod) judged {
	found := worst(pod)
	one := judged{rank: found.rank, Pod: Pod{
		Name: pod.Name, Node: pod.Spec.NodeName, Phase: string(pod.Status.Phase), OK: found.rank == rankWell,
		Container: found.container, Reason: found.reason, Message: found.message, CreatedAt: pod.CreationTimestamp.Time,
	}}
	if one.Phase == "" {
		one.Phase = string(corev1.PodUnknown)
	}
	sidecars := sidecarsOf(pod)
	one.Containers = len(pod.Spec.Containers) + len(sidecars)
	for i := range pod.Status.InitContainerStatuses {
		status := &pod.Status.InitContainerStatuses[i]
		one.Restarts += int(status.RestartCount)
		if status.Ready && sidecars[status.Name] {
			one.Ready++
		}
	}
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		one.Restarts += int(status.RestartCount)
		if status.Ready {
			one.Ready++
		}
	}
	return one
}

// sidecarsOf are the init containers that run as long as the pod does.
func sidecarsOf(pod *corev1.Pod) map[string]bool {
	sidecars := map[string]bool{}
	for i := range pod.Spec.InitContainers {
		if policy := pod.Spec.InitContainers[i].RestartPolicy; policy != nil && *policy == corev1.ContainerRestartPolicyAlways {
			sidecars[pod.Spec.InitContainers[i].Name] = true
		}
	}
	return sidecars
}

// tally gathers pods and keeps the first ones.
type tally struct {
	first           []judged
	total, notReady int
}

func (t *tally) add(pods []corev1.Pod, ours func(*corev1.Pod) bool) {
	for i := range pods {
		if !ours(&pods[i]) {
			continue
		}
		one := judge(&pods[i])
		t.total++
		if !one.OK {
			t.notReady++
		}
		t.first = append(t.first, one)
	}
	slices.SortFunc(t.first, compare)
	t.first = slices.Clip(t.first[:min(shown, len(t.first))])
}

// answer says how the pods of a cluster are.
func (t *tally) answer(cluster string) Answer {
	answer := Answer{Reachable: true, Pods: make([]Pod, 0, len(t.first)), Total: t.total, NotReady: t.notReady}
	for i := range t.first {
		answer.Pods = append(answer.Pods, t.first[i].Pod)
	}
	switch {
	case t.total == 0:
		answer.Fact = fact.Say(fact.LevelWarn, fact.CodePodsNone, "cluster", cluster)
	case t.notReady == 0:
		answer.Fact = fact.Say(fact.LevelOK, fact.CodePodsReady, "cluster", cluster, "count", fact.Number(t.total))
	default:
		answer.Fact = t.first[0].say(cluster)
	}
	return answer
}

func (j *judged) say(cluster string) fact.Fact {
	level := fact.LevelInfo
	switch j.rank {
	case rankFailing, rankUnschedulable:
		level = fact.LevelError
	case rankUnready, rankGone:
		level = fact.LevelWarn
	}
	if j.Message == "" {
		return fact.Say(level, fact.CodePodsWorstPlain, "cluster", cluster, "pod", j.Name, "reason", j.Reason)
	}
	return fact.Say(level, fact.CodePodsWorst, "cluster", cluster, "pod", j.Name, "reason", j.Reason, "message", j.Message)
}
