package consent

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"muster.dev/muster/backend/access"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	"muster.dev/muster/backend/audit"
)

// Deps are what consent is given with.
type Deps struct {
	// Rules let agents in without a person; nil: nobody. If they have a method
	// OnChange, what waits is judged again when they change.
	Rules Rules
	// Audit records what the hub does by itself; nil: nothing is recorded.
	Audit Auditor
	// Watches are those of the embedded plane; nil on another one.
	Watches *Watches
	// Spaces removes namespaces; nil: all stay.
	Spaces Spaces
	// Now tells the time; nil: time.Now.
	Now func() time.Time
}

// Spaces removes namespaces that nobody uses.
type Spaces interface {
	// RemoveEmpty removes a namespace in which there is nothing, and tells whether it did.
	RemoveEmpty(ctx context.Context, name string, uid types.UID) (bool, error)
}

// SetupWithManager adds the controllers of both consents to a manager of either
// plane.
func SetupWithManager(m ctrl.Manager, d Deps) error {
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Audit == nil {
		d.Audit = noAudit{}
	}
	if err := m.GetFieldIndexer().IndexField(context.Background(), &certificatesv1.CertificateSigningRequest{}, clusterIndex, indexCluster); err != nil {
		return fmt.Errorf("index certificate requests by cluster: %w", err)
	}
	hub, shared := m.GetClient(), roles{hub: m.GetClient(), live: m.GetAPIReader(), spaces: d.Spaces}
	clusters, requests := new(poker), new(poker)
	for name, setUp := range map[string]func(ctrl.Manager) error{
		"acceptance": (&AcceptanceReconciler{
			roles: shared, rules: d.Rules, audit: d.Audit, watches: d.Watches, recorder: m.GetEventRecorder("registration-controller"), waiting: clusters, now: d.Now,
		}).SetupWithManager,
		"shared-roles":         (&SharedRoleReconciler{shared}).SetupWithManager,
		"certificate-approval": (&ApprovalReconciler{hub: hub, live: m.GetAPIReader(), rules: d.Rules, audit: d.Audit, waiting: requests, now: d.Now}).SetupWithManager,
		"certificate-cleanup":  (&CleanupReconciler{hub: hub, now: d.Now}).SetupWithManager,
	} {
		if err := setUp(m); err != nil {
			return fmt.Errorf("set up controller %s: %w", name, err)
		}
	}
	if changing, ok := d.Rules.(interface{ OnChange(fn func()) }); ok {
		changing.OnChange(func() { pokeWaiting(hub, clusters, requests) })
	}
	if d.Watches != nil {
		return m.Add(d.Watches)
	}
	return nil
}

// clusterIndex finds the certificate requests of a cluster, by their label.
const clusterIndex = "open-cluster-management.cluster"

func indexCluster(csr client.Object) []string {
	if cluster := csr.GetLabels()[ocmv1.ClusterNameLabel]; cluster != "" {
		return []string{cluster}
	}
	return nil
}

// consentChanged lets pass what may change what becomes of certificate requests: a
// cluster that comes, and a decision about it. Its reports do not.
var consentChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*ocmv1.ManagedCluster)
	after, too := e.ObjectNew.(*ocmv1.ManagedCluster)
	if !ok || !too || before.Generation != after.Generation || !maps.Equal(before.Annotations, after.Annotations) {
		return true
	}
	for _, kind := range []string{ocmv1.ConditionHubAccepted, ocmv1.ConditionJoined} {
		if meta.IsStatusConditionTrue(before.Status.Conditions, kind) != meta.IsStatusConditionTrue(after.Status.Conditions, kind) {
			return true
		}
	}
	return false
}}

// pokeWaiting has everything judged again that waits for a consent.
func pokeWaiting(hub client.Client, clusters, requests *poker) {
	ctx := context.Background() // reads a cache
	var waitingClusters ocmv1.ManagedClusterList
	var waitingRequests certificatesv1.CertificateSigningRequestList
	if err := hub.List(ctx, &waitingClusters, client.UnsafeDisableDeepCopy); err != nil {
		log.Log.Error(err, "waiting clusters not judged again")
	}
	for i := range waitingClusters.Items {
		if mayAcceptItself(&waitingClusters.Items[i]) {
			clusters.poke(waitingClusters.Items[i].Name)
		}
	}
	if err := hub.List(ctx, &waitingRequests, client.HasLabels{ocmv1.ClusterNameLabel}, client.UnsafeDisableDeepCopy); err != nil {
		log.Log.Error(err, "waiting certificate requests not judged again")
	}
	for i := range waitingRequests.Items {
		if stateOf(&waitingRequests.Items[i]) == statePending {
			requests.poke(waitingRequests.Items[i].Name)
		}
	}
}

// poker makes a controller look at an object for a reason that is not an object.
// Before the controller runs it does nothing, since that begins with a look at all.
type poker struct {
	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

func (p *poker) source() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.queue = queue
		return nil
	})
}

func (p *poker) poke(name string) {
	p.mu.Lock()
	queue := p.queue
	p.mu.Unlock()
	if queue != nil {
		queue.Add(requestFor(name)[0])
	}
}

// noAudit is the Auditor that records nothing.
type noAudit struct{}

// Do implements Auditor.
func (noAudit) Do(ctx context.Context, _ audit.Action, do func(ctx context.Context) error) error {
	return do(ctx)
}

// byHub records and does what nobody asked for but the hub's own rules.
func byHub(ctx context.Context, auditor Auditor, action audit.Action, do func(ctx context.Context) error) error {
	return auditor.Do(access.WithActor(ctx, access.Actor{Name: "hub", Via: access.ViaHubAPI}), action, do)
}
