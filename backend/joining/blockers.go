package joining

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/registration"
)

// The codes of blockers: a page words them in its reader's language.
const (
	// BlockerWorks: Works are being deleted and still held. Detail is what the first
	// of them says, if anything.
	BlockerWorks = "works"
	// BlockerNamespace: their namespace is being emptied. Detail is what it says.
	BlockerNamespace = "namespace"
	// BlockerBindings: bindings still place workload on the cluster.
	BlockerBindings = "bindings"
	// BlockerFinalizer: somebody else's finalizer, which the names hold.
	BlockerFinalizer = "finalizer"
	// BlockerMember: the member does not answer. Detail is why its state says so.
	BlockerMember = "member"
)

// Blocker is something that keeps a cluster from going away: a code with the names
// and the detail that belong to it, and the same in English.
type Blocker struct {
	Code   string   `json:"code" enums:"works,namespace,bindings,finalizer,member"`
	Names  []string `json:"names"`
	Detail string   `json:"detail"`
	What   string   `json:"what"`
	Why    string   `json:"why"`
	Fix    string   `json:"fix"`
} // @name cluster.Blocker

// maxNamed bounds the names listed in one text.
const maxNamed = 5

// FindBlockers says what a removal of the cluster waits for, in the order of
// contract section 4.5: Works, their namespace, bindings, foreign finalizers. An
// empty list means that nothing but time is needed. What may not be read is left out.
func FindBlockers(ctx context.Context, hub client.Reader, cluster *clusterv1alpha1.Cluster) []Blocker {
	blockers := spaceBlockers(ctx, hub, cluster)
	if names := BoundTo(ctx, hub, cluster.Name); len(names) > 0 {
		blockers = append(blockers, Blocker{
			Code: BlockerBindings, Names: names,
			What: Counted(len(names), "binding") + ": " + Listed(names),
			Why:  "they still place their workload on this cluster",
			Fix:  "wait for the scheduler to place it elsewhere, or take the cluster out of their policies",
		})
	}
	return append(blockers, finalizerBlockers(cluster)...)
}

// ForeseeBlockers is the same for a removal that has not begun. What is placed on
// the cluster does not hold it: taking the cluster out of all bindings is where a
// removal begins.
func ForeseeBlockers(ctx context.Context, hub client.Reader, cluster *clusterv1alpha1.Cluster) []Blocker {
	return append(spaceBlockers(ctx, hub, cluster), finalizerBlockers(cluster)...)
}

// spaceBlockers looks at the Works of a cluster and at their namespace.
func spaceBlockers(ctx context.Context, hub client.Reader, cluster *clusterv1alpha1.Cluster) []Blocker {
	var blockers []Blocker
	namespace := apis.ExecutionSpace(cluster.Name)
	var works workv1alpha1.WorkList
	if err := hub.List(ctx, &works, client.InNamespace(namespace)); err == nil {
		if blocker, ok := workBlocker(works.Items, cluster); ok {
			blockers = append(blockers, blocker)
		}
	}
	if len(blockers) == 0 {
		if blocker, ok := namespaceBlocker(ctx, hub, namespace); ok {
			blockers = append(blockers, blocker)
		}
	}
	return blockers
}

// finalizerBlockers are the finalizers that the hub does not know.
func finalizerBlockers(cluster *clusterv1alpha1.Cluster) []Blocker {
	var blockers []Blocker
	for _, finalizer := range cluster.Finalizers {
		if finalizer != clusterv1alpha1.ClusterControllerFinalizer && finalizer != registration.FinalizerFleet {
			blockers = append(blockers, Blocker{
				Code: BlockerFinalizer, Names: []string{finalizer},
				What: "finalizer " + finalizer,
				Why:  "something other than the hub asked to be waited for",
				Fix:  "find what set it, or remove it: kubectl edit cluster " + cluster.Name,
			})
		}
	}
	return blockers
}

// workBlocker looks at Works that are being deleted but still held.
func workBlocker(works []workv1alpha1.Work, cluster *clusterv1alpha1.Cluster) (Blocker, bool) {
	var held []string
	var message string
	for i := range works {
		work := &works[i]
		if work.DeletionTimestamp == nil || len(work.Finalizers) == 0 {
			continue
		}
		held = append(held, work.Name)
		for _, condition := range work.Status.Conditions {
			if condition.Type == workv1alpha1.WorkApplied && condition.Status != "True" && message == "" {
				message = registration.PlainText(condition.Message)
			}
		}
	}
	if len(held) == 0 {
		return Blocker{}, false
	}
	who := "the hub removes their objects from the member"
	if cluster.Spec.SyncMode == clusterv1alpha1.Pull {
		who = "the agent removes their objects from the member"
	}
	why := who + ", which has not finished"
	if message != "" {
		why += ": " + message
	}
	return Blocker{
		Code: BlockerWorks, Names: held, Detail: message,
		What: Counted(len(held), "work") + ": " + Listed(held),
		Why:  why,
		Fix:  "see whether the member answers; --force leaves its objects in place and goes on",
	}, true
}

func namespaceBlocker(ctx context.Context, hub client.Reader, name string) (Blocker, bool) {
	var namespace corev1.Namespace
	if err := hub.Get(ctx, client.ObjectKey{Name: name}, &namespace); err != nil || namespace.DeletionTimestamp == nil {
		return Blocker{}, false
	}
	blocker := Blocker{
		Code: BlockerNamespace, Names: []string{name},
		What: "namespace " + name, Why: "it is being emptied", Fix: "see `kubectl get namespace " + name + " -o yaml` on the hub",
	}
	for _, condition := range namespace.Status.Conditions {
		if condition.Status == corev1.ConditionTrue {
			blocker.Detail = registration.PlainText(condition.Message)
			blocker.Why = blocker.Detail
		}
	}
	return blocker, true
}

// BoundTo names the bindings that list the cluster as a target. A hub that
// serves no bindings has none.
func BoundTo(ctx context.Context, hub client.Reader, cluster string) []string {
	var names []string
	var bindings workv1alpha2.ResourceBindingList
	if err := hub.List(ctx, &bindings); err == nil {
		for i := range bindings.Items {
			if Targets(bindings.Items[i].Spec.Clusters, cluster) {
				names = append(names, bindings.Items[i].Namespace+"/"+bindings.Items[i].Name)
			}
		}
	}
	var clusterBindings workv1alpha2.ClusterResourceBindingList
	if err := hub.List(ctx, &clusterBindings); err == nil {
		for i := range clusterBindings.Items {
			if Targets(clusterBindings.Items[i].Spec.Clusters, cluster) {
				names = append(names, clusterBindings.Items[i].Name)
			}
		}
	}
	return names
}

// Targets says whether a cluster is among those that a binding places its workload on.
func Targets(placed []workv1alpha2.TargetCluster, cluster string) bool {
	return slices.ContainsFunc(placed, func(target workv1alpha2.TargetCluster) bool { return target.Name == cluster })
}

// Counted is a number with its noun, which takes an s unless there is one.
func Counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Listed is a list of names for a text, cut after a few.
func Listed(names []string) string {
	if extra := len(names) - maxNamed; extra > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), extra)
	}
	return strings.Join(names, ", ")
}

// explainBlockers is one sentence for a message.
func explainBlockers(blockers []Blocker) string {
	if len(blockers) == 0 {
		return "the hub has not finished yet"
	}
	texts := make([]string, 0, len(blockers))
	for _, blocker := range blockers {
		texts = append(texts, blocker.What+" ("+blocker.Why+")")
	}
	return strings.Join(texts, "; ")
}

// ignoreNotFound drops the error that says a thing is gone already.
func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
