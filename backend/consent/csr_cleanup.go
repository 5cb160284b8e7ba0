package consent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

// An agent that sees ten certificate requests of its cluster makes no more, and
// one whose request was denied waits until that is gone (contract section 2.3).
// So the hub keeps few of them: of each state the newest, fewer than ten in all.
const (
	keptPending  = 3
	keptApproved = 2
	keptDenied   = 1
	keptIssued   = 2
	// deniedLife is how long a denied request keeps its agent from asking again.
	deniedLife = 10 * time.Minute
)

// requestState is where a certificate request stands.
type requestState int

const (
	statePending requestState = iota
	stateApproved
	stateIssued
	stateDenied
	stateFailed
)

func stateOf(csr *certificatesv1.CertificateSigningRequest) requestState {
	state := statePending
	for _, condition := range csr.Status.Conditions {
		switch condition.Type {
		case certificatesv1.CertificateDenied:
			return stateDenied
		case certificatesv1.CertificateFailed:
			return stateFailed
		case certificatesv1.CertificateApproved:
			state = stateApproved
		}
	}
	if len(csr.Status.Certificate) > 0 {
		return stateIssued
	}
	return state
}

// standing is what a cluster's requests are judged by: since when there is the
// ManagedCluster, and since when the hub accepts it. Zero times: it is not so.
type standing struct{ since, accepted time.Time }

// surplus finds the requests of one cluster that are to go: those that newer ones
// have superseded, issued ones of an earlier cluster of the name, and denied ones
// whose time is over or whose cluster was accepted since. next is when to look
// again, zero if nothing is to be waited for.
func surplus(requests []certificatesv1.CertificateSigningRequest, cluster standing, now time.Time) (gone []string, next time.Duration) {
	newestFirst := slices.Clone(requests)
	slices.SortFunc(newestFirst, func(a, b certificatesv1.CertificateSigningRequest) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(version(&b), version(&a)), cmp.Compare(b.Name, a.Name))
	})
	type bin struct {
		state requestState
		addon string
	}
	limits := map[requestState]int{statePending: keptPending, stateApproved: keptApproved, stateFailed: keptApproved, stateDenied: keptDenied, stateIssued: keptIssued}
	kept, askers := map[bin]int{}, map[string]bool{}
	for i := range newestFirst {
		csr := &newestFirst[i]
		state := stateOf(csr)
		in := bin{state, csr.Labels[ocmv1.AddonNameLabel]}
		if state == stateFailed {
			in.state = stateApproved // failed and unsigned ones share their places
		}
		superseded := kept[in] >= limits[state]
		if state == statePending && len(requests) > 1 { // reading one checks a signature
			if asker := askerOf(csr); asker != "" {
				superseded = superseded || askers[asker]
				askers[asker] = true
			}
		}
		if state == stateIssued && csr.CreationTimestamp.Time.Before(cluster.since) {
			superseded = true // clusteradm accepts no cluster with requests of two agents
		}
		if state == stateDenied {
			at := deniedAt(csr, now)
			left := at.Add(deniedLife).Sub(now)
			// Both times are whole seconds: within one, the acceptance is taken for the later.
			superseded = superseded || left <= 0 || !cluster.accepted.Before(at)
			if !superseded && (next == 0 || left < next) {
				next = left
			}
		}
		if superseded {
			gone = append(gone, csr.Name)
		} else {
			kept[in]++
		}
	}
	return gone, next
}

// version orders requests of the same second, which is as exact as their times.
func version(csr *certificatesv1.CertificateSigningRequest) uint64 {
	number, err := strconv.ParseUint(csr.ResourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return number
}

// askerOf tells one process of an agent: it has one key in memory, so that of
// several pending requests of the same subject only the newest can be of use.
func askerOf(csr *certificatesv1.CertificateSigningRequest) string {
	request, err := Read(csr)
	if err != nil || request.Problem != "" {
		return ""
	}
	return request.Requester.Username + " " + request.Agent
}

// deniedAt is when a request was denied. Whoever denies it may write any time, by a
// clock that is not the hub's; what is left out the API server fills in, and kubectl
// leaves lastTransitionTime out. So it is the latest that is told and has come.
func deniedAt(csr *certificatesv1.CertificateSigningRequest, now time.Time) time.Time {
	at := csr.CreationTimestamp.Time
	for _, condition := range csr.Status.Conditions {
		if condition.Type != certificatesv1.CertificateDenied {
			continue
		}
		for _, told := range []time.Time{condition.LastTransitionTime.Time, condition.LastUpdateTime.Time} {
			if told.After(at) && !told.After(now) {
				at = told
			}
		}
	}
	return at
}

// CleanupReconciler removes certificate requests of clusters that are of no use
// any more.
type CleanupReconciler struct {
	hub client.Client
	now func() time.Time
}

// SetupWithManager starts the reconciler with the manager.
func (r *CleanupReconciler) SetupWithManager(m ctrl.Manager) error {
	byLabel := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, csr client.Object) []reconcile.Request {
		if cluster := csr.GetLabels()[ocmv1.ClusterNameLabel]; cluster != "" {
			return requestFor(cluster)
		}
		return nil
	})
	return ctrl.NewControllerManagedBy(m).Named("certificate-cleanup").
		Watches(&certificatesv1.CertificateSigningRequest{}, byLabel).
		Watches(&ocmv1.ManagedCluster{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(consentChanged)).
		Complete(r)
}

// Reconcile implements reconcile.Reconciler.
func (r *CleanupReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var requests certificatesv1.CertificateSigningRequestList
	err := r.hub.List(ctx, &requests, client.MatchingFields{clusterIndex: request.Name}, client.UnsafeDisableDeepCopy)
	if err != nil || len(requests.Items) == 0 {
		return ctrl.Result{}, err
	}
	cluster, err := r.standing(ctx, request.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	gone, next := surplus(requests.Items, cluster, r.now())
	for _, name := range gone {
		csr := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := r.hub.Delete(ctx, csr); client.IgnoreNotFound(err) != nil {
			return ctrl.Result{}, fmt.Errorf("delete certificate request %s: %w", name, err)
		}
		log.FromContext(ctx).V(1).Info("certificate request removed", "cluster", request.Name, "name", name)
	}
	return ctrl.Result{RequeueAfter: next}, nil
}

func (r *CleanupReconciler) standing(ctx context.Context, name string) (standing, error) {
	cluster := new(ocmv1.ManagedCluster)
	if err := r.hub.Get(ctx, client.ObjectKey{Name: name}, cluster); err != nil {
		return standing{}, client.IgnoreNotFound(err)
	}
	s := standing{since: cluster.CreationTimestamp.Time}
	if c := meta.FindStatusCondition(cluster.Status.Conditions, ocmv1.ConditionHubAccepted); c != nil && c.Status == metav1.ConditionTrue {
		s.accepted = c.LastTransitionTime.Time
	}
	return s, nil
}
