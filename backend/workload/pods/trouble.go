package pods

import (
	"fmt"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
)

// messageLimit bounds a message, in bytes.
const messageLimit = 1024

// What kubelets and schedulers call these states.
const (
	reasonCrashLoop   = "CrashLoopBackOff"
	reasonOOM         = "OOMKilled"
	reasonTerminating = "Terminating"
	reasonNotReady    = "ContainersNotReady"
	reasonStarting    = "PodInitializing"
)

// rank is how urgent a trouble is, the most urgent first.
type rank int

const (
	// rankFailing: a container cannot start, or ends again and again.
	rankFailing rank = iota
	// rankUnschedulable: no node takes the pod.
	rankUnschedulable
	// rankUnready: it runs, and says that it is not ready.
	rankUnready
	// rankGone: it was evicted or lost; another takes its place.
	rankGone
	// rankStarting: it has not had the time yet.
	rankStarting
	// rankLeaving: it is being deleted.
	rankLeaving
	// rankWell: nothing is wrong.
	rankWell
)

// trouble is why a pod is not ready.
type trouble struct {
	rank                       rank
	container, reason, message string
}

// worst finds why a pod is not ready: the most urgent of what its containers and
// conditions say, init containers first.
func worst(pod *corev1.Pod) trouble {
	found := trouble{rank: rankWell}
	switch {
	case pod.Status.Phase == corev1.PodSucceeded:
		return found
	case pod.DeletionTimestamp != nil:
		return trouble{rank: rankLeaving, reason: reasonTerminating}
	case isTrue(pod, corev1.PodReady):
		return found
	case pod.Status.Phase == corev1.PodFailed && pod.Status.Reason != "":
		return trouble{rank: rankGone, reason: pod.Status.Reason, message: bounded(pod.Status.Message)}
	}
	consider := func(one trouble) {
		if one.rank < found.rank {
			found = one
		}
	}
	sidecars := sidecarsOf(pod)
	for i := range pod.Status.InitContainerStatuses {
		status := &pod.Status.InitContainerStatuses[i]
		consider(ofContainer(status, !sidecars[status.Name]))
	}
	for i := range pod.Status.ContainerStatuses {
		consider(ofContainer(&pod.Status.ContainerStatuses[i], false))
	}
	consider(ofConditions(pod))
	if found.rank == rankWell {
		found = trouble{rank: rankStarting, reason: string(pod.Status.Phase)}
		if found.reason == "" {
			found.reason = string(corev1.PodUnknown)
		}
		if pod.Status.Phase == corev1.PodFailed {
			found.rank = rankGone
		}
	}
	found.message = bounded(found.message)
	return found
}

// ofContainer is what is wrong with one container. One that runs before others
// may end well, and while it runs the pod starts.
func ofContainer(status *corev1.ContainerStatus, before bool) trouble {
	found := trouble{rank: rankWell, container: status.Name}
	last := status.LastTerminationState.Terminated
	switch state := status.State; {
	case state.Waiting != nil:
		found.rank, found.reason, found.message = rankFailing, state.Waiting.Reason, state.Waiting.Message
		switch state.Waiting.Reason {
		case "", "ContainerCreating", reasonStarting:
			found.rank = rankStarting
			if found.reason == "" {
				found.reason = reasonStarting
			}
		case reasonCrashLoop:
			return crashing(found, last)
		}
	case state.Terminated != nil && state.Terminated.ExitCode != 0:
		found.rank, found.reason, found.message = rankFailing, state.Terminated.Reason, ended(state.Terminated)
		if found.reason == "" {
			found.reason = "Error"
		}
	case state.Terminated != nil && !before:
		found.rank, found.reason = rankUnready, "Completed"
	case state.Running != nil && before:
		found.rank, found.reason = rankStarting, reasonStarting
	case state.Running != nil && !status.Ready && last != nil && last.Reason == reasonOOM:
		found.rank, found.reason, found.message = rankFailing, reasonOOM, ended(last)
	}
	return found
}

// crashing adds to a back-off what the container ended with: that it lacked
// memory says more than that it is tried again.
func crashing(found trouble, last *corev1.ContainerStateTerminated) trouble {
	if last == nil {
		return found
	}
	if last.Reason == reasonOOM {
		found.reason = reasonOOM
	}
	found.message = strings.TrimSuffix(ended(last)+"; "+found.message, "; ")
	return found
}

// ended says how a container ended. What it left as its message may be its log,
// unless it never started: then the runtime says why.
func ended(state *corev1.ContainerStateTerminated) string {
	switch {
	case (state.Reason == "StartError" || state.Reason == "ContainerCannotRun") && state.Message != "":
		return state.Message
	case state.Signal != 0:
		return fmt.Sprintf("signal %d", state.Signal)
	}
	return fmt.Sprintf("exit code %d", state.ExitCode)
}

// ofConditions is what is wrong with the pod as a whole.
func ofConditions(pod *corev1.Pod) trouble {
	if found := condition(pod, corev1.PodScheduled); found != nil && found.Status == corev1.ConditionFalse {
		reason := found.Reason
		if reason == "" {
			reason = corev1.PodReasonUnschedulable
		}
		return trouble{rank: rankUnschedulable, reason: reason, message: found.Message}
	}
	found := condition(pod, corev1.PodReady)
	if pod.Status.Phase != corev1.PodRunning || found == nil {
		return trouble{rank: rankWell}
	}
	reason := found.Reason
	if reason == "" {
		reason = reasonNotReady
	}
	return trouble{rank: rankUnready, reason: reason, message: found.Message}
}

func isTrue(pod *corev1.Pod, kind corev1.PodConditionType) bool {
	found := condition(pod, kind)
	return found != nil && found.Status == corev1.ConditionTrue
}

func condition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// bounded is a message on one line, cut where it is too long.
func bounded(message string) string {
	message = strings.Join(strings.Fields(strings.ToValidUTF8(message, "")), " ")
	if len(message) <= messageLimit {
		return message
	}
	cut := messageLimit
	for !utf8.RuneStart(message[cut]) {
		cut--
	}
	return message[:cut] + "…"
}
