package liveness

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"muster.dev/muster/agent/inventory"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/kube"
)

const (
	// pushDamping is how long a push member's readiness must have changed before
	// that is shown (contract section 7.3).
	pushDamping = 30 * time.Second
	// credentialRecheck is how often a credential is looked for that is missing.
	credentialRecheck = 10 * time.Second
	// secretIndex finds Clusters by the Secret their spec.secretRef names.
	secretIndex = "spec.secretRef"
)

// StatusReconciler keeps the status of push Clusters: for each it runs a
// collector on the member, the same that an agent runs, and writes what that
// reports (contract sections 7.4 and 7.5). It reports at once after a join and
// whenever something changes in the member.
type StatusReconciler struct {
	hub     client.Client
	live    client.Reader
	members *kube.Members
	clock   clock.Clock
	poker   Poker

	mu         sync.Mutex
	collectors map[string]*collecting
	stopped    bool
}

// collecting is the collector of one Cluster.
type collecting struct {
	uid       types.UID
	transport http.RoundTripper // changes when the member has to be reached anew
	collector *inventory.Collector
	stop      context.CancelFunc
	ended     chan struct{}

	mu     sync.Mutex
	latest *clusterv1alpha1.ClusterStatus
}

// NewStatusReconciler returns the reconciler. live reads from the API itself.
func NewStatusReconciler(hub client.Client, live client.Reader, members *kube.Members, clock clock.Clock) *StatusReconciler {
	return &StatusReconciler{hub: hub, live: live, members: members, clock: clock, collectors: map[string]*collecting{}}
}

// SetupWithManager starts the reconciler with the manager.
func (r *StatusReconciler) SetupWithManager(m ctrl.Manager) error {
	if err := m.GetFieldIndexer().IndexField(context.Background(), &clusterv1alpha1.Cluster{}, secretIndex, indexSecret); err != nil {
		return fmt.Errorf("index clusters by secret: %w", err)
	}
	if err := m.Add(r); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(m).Named("status").
		For(&clusterv1alpha1.Cluster{}).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.clustersOfSecret)).
		WatchesRawSource(r.poker.Source()).
		WithOptions(controller.Options{MaxConcurrentReconciles: 16}).
		Complete(r)
}

func indexSecret(object client.Object) []string {
	cluster, ok := object.(*clusterv1alpha1.Cluster)
	if !ok || cluster.Spec.SecretRef == nil {
		return nil
	}
	return []string{cluster.Spec.SecretRef.Namespace + "/" + cluster.Spec.SecretRef.Name}
}

// clustersOfSecret makes the hub use a changed credential at once.
func (r *StatusReconciler) clustersOfSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	key := client.ObjectKeyFromObject(secret)
	r.members.SecretChanged(key)
	var clusters clusterv1alpha1.ClusterList
	if err := r.hub.List(ctx, &clusters, client.MatchingFields{secretIndex: key.String()}); err != nil {
		return nil
	}
	requests := make([]reconcile.Request, 0, len(clusters.Items))
	for i := range clusters.Items {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: clusters.Items[i].Name}})
	}
	return requests
}

// Start waits for the manager's end and then for that of all collectors.
func (r *StatusReconciler) Start(ctx context.Context) error {
	<-ctx.Done()
	r.mu.Lock()
	r.stopped = true
	running := r.collectors
	r.collectors = map[string]*collecting{}
	r.mu.Unlock()
	for _, c := range running {
		c.stop()
	}
	for _, c := range running {
		<-c.ended
	}
	return nil
}

// Reconcile implements reconcile.Reconciler.
func (r *StatusReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var cluster clusterv1alpha1.Cluster
	err := r.hub.Get(ctx, request.NamespacedName, &cluster)
	if apierrors.IsNotFound(err) {
		r.end(request.Name)
		r.members.Forget(request.Name)
		syncing.Drop(request.Name)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read cluster %s: %w", request.Name, err)
	}
	if cluster.Spec.SyncMode != clusterv1alpha1.Push {
		r.end(request.Name)
		return ctrl.Result{}, nil
	}
	running, err := r.run(ctx, &cluster)
	if err != nil {
		r.end(request.Name)
		failure := &clusterv1alpha1.ClusterStatus{Conditions: []metav1.Condition{{
			Type: clusterv1alpha1.ClusterConditionReady, Status: metav1.ConditionFalse,
			Reason: clusterv1alpha1.ReasonStatusCollectionFailed, Message: "The hub cannot " + err.Error() + ".",
		}}}
		return ctrl.Result{RequeueAfter: credentialRecheck}, r.write(ctx, &cluster, failure, false)
	}
	if latest := running.report(); latest != nil {
		return ctrl.Result{}, r.write(ctx, &cluster, latest, true)
	}
	return ctrl.Result{}, nil
}

// run makes sure that a collector looks at the member in the present way.
func (r *StatusReconciler) run(ctx context.Context, cluster *clusterv1alpha1.Cluster) (*collecting, error) {
	config, err := r.members.Config(ctx, cluster)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	running := r.collectors[cluster.Name]
	r.mu.Unlock()
	if running != nil && running.uid == cluster.UID && running.transport == config.Transport {
		running.collector.SetModels(cluster.Spec.ResourceModels)
		return running, nil
	}
	r.end(cluster.Name)
	made := &collecting{uid: cluster.UID, transport: config.Transport, ended: make(chan struct{})}
	name := cluster.Name
	// What a new collector sees first is taken as it is (contract section 7.4).
	last := cluster.Status.DeepCopy()
	meta.RemoveStatusCondition(&last.Conditions, clusterv1alpha1.ClusterConditionReady)
	made.collector, err = inventory.New(config, inventory.Options{
		Models: cluster.Spec.ResourceModels, Last: *last, Damping: pushDamping, Clock: r.clock,
		OnChange: func(status clusterv1alpha1.ClusterStatus) {
			made.mu.Lock()
			made.latest = &status
			made.mu.Unlock()
			r.poker.Poke(name)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("watch cluster %s: %w", name, err)
	}
	running, collect := made, log.IntoContext(context.WithoutCancel(ctx), log.FromContext(ctx))
	collect, running.stop = context.WithCancel(collect)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		running.stop()
		close(running.ended)
		return running, nil
	}
	r.collectors[name] = running
	go func() {
		defer close(running.ended)
		if err := running.collector.Start(collect); err != nil {
			log.FromContext(collect).Error(err, "member not watched", "cluster", name)
		}
	}()
	return running, nil
}

func (c *collecting) report() *clusterv1alpha1.ClusterStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.latest
}

// end stops the collector of a cluster, if there is one, and waits for its end.
func (r *StatusReconciler) end(cluster string) {
	r.mu.Lock()
	running := r.collectors[cluster]
	delete(r.collectors, cluster)
	r.mu.Unlock()
	if running != nil {
		running.stop()
		<-running.ended
	}
}

// write brings the status to what was collected. whole says that it is an
// inventory, not just a condition.
func (r *StatusReconciler) write(ctx context.Context, cluster *clusterv1alpha1.Cluster, collected *clusterv1alpha1.ClusterStatus, whole bool) error {
	began := r.clock.Now()
	defer func() { syncing.Observe(r.clock.Since(began), cluster.Name) }()
	err := retryConflict(ctx, func(ctx context.Context) error {
		var stored clusterv1alpha1.Cluster
		if err := r.live.Get(ctx, client.ObjectKeyFromObject(cluster), &stored); err != nil || stored.UID != cluster.UID {
			return client.IgnoreNotFound(err)
		}
		wanted := stored.DeepCopy()
		if whole {
			mergeReport(&wanted.Status, collected, false, r.clock.Now())
		} else {
			for _, condition := range collected.Conditions {
				setCondition(&wanted.Status.Conditions, condition, r.clock.Now())
			}
		}
		return client.IgnoreNotFound(kube.PatchStatus(ctx, r.hub, &stored, wanted))
	})
	if err != nil {
		return fmt.Errorf("write status of cluster %s: %w", cluster.Name, err)
	}
	return nil
}
