package identity

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

// validateCluster keeps names and ids of Clusters apart. The strategy of the
// registry checks everything else (contract section 1.2).
func (d *Admission) validateCluster(ctx context.Context, a admission.Attributes) error {
	cluster, ok := a.GetObject().(*clusterv1alpha1.Cluster)
	if !ok || a.GetSubresource() != "" {
		return nil
	}
	name := nameOf(a)
	if a.GetOperation() == admission.Create {
		if err := CheckName(name); err != nil {
			return refuse(a, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, err.Error())
		}
	}
	old, _ := a.GetOldObject().(*clusterv1alpha1.Cluster)
	if cluster.Spec.ID == "" || old != nil && old.Spec.ID == cluster.Spec.ID {
		return nil
	}
	deps := d.deps.Load()
	if deps == nil {
		return refuse(a, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, errStarting.Error())
	}
	holder, err := d.ids.reserve(ctx, deps.clusters, cluster.Spec.ID, name)
	if err != nil {
		return fmt.Errorf("look for id of cluster %s: %w", name, err)
	}
	if holder != "" && holder != name {
		return refuseID(a, cluster.Spec.ID, holder)
	}
	return nil
}

// refuseID names the registration that a cluster has already. The cause carries
// the name alone, for clients that word it themselves.
func refuseID(a admission.Attributes, id, holder string) error {
	err := refuse(a, http.StatusConflict, metav1.StatusReasonConflict,
		fmt.Sprintf("the cluster with id %s is registered already, as %s: use that name, or remove that registration first", id, holder))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeFieldValueDuplicate, Field: "spec.id", Message: holder}}
	return err
}

// idRegister keeps two creates at the same time from registering one id twice.
// Admission runs before the write, so what it let pass is remembered until the
// request has ended; from then on the store tells.
//
//	reserve(id, a) ──► request of a runs ──► ended: the store holds a, or a failed
//	reserve(id, b) ──► "a has it" ─────────► ask the store about a
type idRegister struct {
	mu    sync.Mutex
	taken map[string]*reservation // by id
}

type reservation struct {
	name  string
	since time.Time
	ended bool // guarded by the register's mu
}

// reservationLife is how long an ended reservation is kept for. The index of
// Clusters is behind the store by milliseconds.
const reservationLife = time.Minute

func newIDRegister() *idRegister { return &idRegister{taken: map[string]*reservation{}} }

// reserve takes an id for the request of ctx. It returns the name that has the
// id, or nothing if the request got it.
func (r *idRegister) reserve(ctx context.Context, clusters ClusterIDs, id, name string) (holder string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	names, err := clusters.NamesByID(ctx, id)
	if err != nil {
		return "", err
	}
	if known := r.taken[id]; known != nil {
		if known.name != name && !known.ended {
			return known.name, nil
		}
		names = append(names, known.name)
	}
	for _, other := range names {
		if other == name {
			continue
		}
		stored, err := clusters.Look(ctx, other)
		if err != nil {
			return "", err
		}
		if stored.Exists && stored.ID == id {
			return other, nil
		}
	}
	r.hold(ctx, id, name)
	return "", nil
}

func (r *idRegister) hold(ctx context.Context, id, name string) {
	now := time.Now()
	for other, known := range r.taken {
		if known.ended && now.Sub(known.since) > reservationLife {
			delete(r.taken, other)
		}
	}
	made := &reservation{name: name, since: now}
	r.taken[id] = made
	context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		made.ended, made.since = true, time.Now()
	})
}
