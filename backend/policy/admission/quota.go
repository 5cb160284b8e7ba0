package admission

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/policy"
)

// admittedFor is how long an admitted demand counts although the reader does not
// show it: long enough for a cache to catch up, short enough that a write which
// failed after admission does not hold a quota for long.
const admittedFor = 10 * time.Second

// quotas refuse schedule results that exceed a FederatedResourceQuota (contract
// sections 1.3 and 8.7), behind the gate FederatedQuotaEnforcement.
type quotas struct {
	reader client.Reader
	now    func() time.Time

	mu       sync.Mutex
	admitted map[client.ObjectKey]admitted
}

// admitted is the demand of a binding that was let pass.
type admitted struct {
	demand corev1.ResourceList
	at     time.Time
}

// EnforceQuotas makes the admission refuse bindings that exceed a
// FederatedResourceQuota of their namespace. The reader may be a cache. Without
// this call, which belongs to the gate FederatedQuotaEnforcement, quotas are told
// and not enforced.
func (a *Admission) EnforceQuotas(reader client.Reader) {
	a.quotas.Store(&quotas{reader: reader, now: time.Now, admitted: map[client.ObjectKey]admitted{}})
}

// validateQuota judges a ResourceBinding that is created or updated.
func (a *Admission) validateQuota(ctx context.Context, attributes admission.Attributes) error {
	enforced := a.quotas.Load()
	binding, ok := attributes.GetObject().(*workv1alpha2.ResourceBinding)
	if enforced == nil || !ok || binding.DeletionTimestamp != nil {
		return nil
	}
	var before corev1.ResourceList
	if old, ok := attributes.GetOldObject().(*workv1alpha2.ResourceBinding); ok {
		before = policy.Demand(&old.Spec)
	}
	return enforced.validate(ctx, demanded{
		key: client.ObjectKeyFromObject(binding), before: before, wanted: policy.Demand(&binding.Spec), dryRun: attributes.IsDryRun(),
	})
}

// AllowsPlacement says whether a ResourceBinding with this key may be placed as wanted,
// after which it would ask for that instead of what it asked for before; planned are
// the demands of others that are no more stored than this one. Nothing is recorded.
// The error is the one with which the API would refuse it.
func (a *Admission) AllowsPlacement(ctx context.Context, key client.ObjectKey, before, wanted *workv1alpha2.ResourceBindingSpec, planned map[client.ObjectKey]corev1.ResourceList) error {
	enforced := a.quotas.Load()
	if enforced == nil {
		return nil
	}
	return enforced.validate(ctx, demanded{key: key, before: policy.Demand(before), wanted: policy.Demand(wanted), planned: planned, dryRun: true})
}

// demanded is what is to be judged about a binding.
type demanded struct {
	key            client.ObjectKey
	before, wanted corev1.ResourceList
	planned        map[client.ObjectKey]corev1.ResourceList
	dryRun         bool
}

func (q *quotas) validate(ctx context.Context, d demanded) error {
	key, wanted := d.key, d.wanted
	more := corev1.ResourceList{}
	for name, quantity := range wanted {
		if quantity.Cmp(d.before[name]) > 0 {
			more[name] = quantity
		}
	}
	if len(more) == 0 {
		return nil // less, or as much as before: never refused
	}
	var list policyv1alpha1.FederatedResourceQuotaList
	if err := q.reader.List(ctx, &list, client.InNamespace(key.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return apierrors.NewInternalError(fmt.Errorf("list quotas of %s: %w", key.Namespace, err))
	}
	if len(list.Items) == 0 {
		return nil
	}
	// One at a time: two results that each fit may not fit together.
	q.mu.Lock()
	defer q.mu.Unlock()
	used, err := q.used(ctx, key, d.planned)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	for i := range list.Items {
		quota := &list.Items[i]
		for _, name := range slices.Sorted(maps.Keys(more)) {
			most, bounded := quota.Spec.Overall[name]
			sum := used[name]
			sum.Add(more[name])
			if bounded && sum.Cmp(most) > 0 {
				others := used[name]
				return exceeded(key, quota.Name, string(name), others.String(), quantityOf(more, name), most.String())
			}
		}
	}
	if !d.dryRun {
		q.admitted[key] = admitted{demand: wanted, at: q.now()}
	}
	return nil
}

func quantityOf(list corev1.ResourceList, name corev1.ResourceName) string {
	quantity := list[name]
	return quantity.String()
}

// used is what the other bindings of a namespace ask for.
func (q *quotas) used(ctx context.Context, but client.ObjectKey, planned map[client.ObjectKey]corev1.ResourceList) (corev1.ResourceList, error) {
	var list workv1alpha2.ResourceBindingList
	if err := q.reader.List(ctx, &list, client.InNamespace(but.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list bindings of %s: %w", but.Namespace, err)
	}
	demands := map[client.ObjectKey]corev1.ResourceList{}
	for i := range list.Items {
		demands[client.ObjectKeyFromObject(&list.Items[i])] = policy.Demand(&list.Items[i].Spec)
	}
	for key, recent := range q.admitted {
		switch {
		case q.now().Sub(recent.at) > admittedFor:
			delete(q.admitted, key)
		case key.Namespace == but.Namespace:
			demands[key] = larger(demands[key], recent.demand)
		}
	}
	for key, demand := range planned {
		if key.Namespace == but.Namespace {
			demands[key] = demand
		}
	}
	delete(demands, but)
	used := corev1.ResourceList{}
	for _, demand := range demands {
		policy.Add(used, demand, 1)
	}
	return used, nil
}

// larger is the larger of each resource.
func larger(a, b corev1.ResourceList) corev1.ResourceList {
	most := maps.Clone(b)
	for name, quantity := range a {
		if other, ok := most[name]; !ok || quantity.Cmp(other) > 0 {
			most[name] = quantity
		}
	}
	return most
}

// exceeded is the refusal that schedulers know by its reason, and other clients by
// the words that an API server puts before those of a webhook of this name.
func exceeded(key client.ObjectKey, quota, resource, used, wanted, most string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: workv1alpha2.ReasonQuotaExceeded,
		Message: fmt.Sprintf("admission webhook \"resourcebinding.karmada.io\" denied the request: binding %s exceeds FederatedResourceQuota %s: it asks for %s of %s, others use %s, the quota is %s: raise the quota or ask for fewer replicas",
			key, quota, wanted, resource, used, most),
	}}
}
