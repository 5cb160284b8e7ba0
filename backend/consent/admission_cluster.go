package consent

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

// admitCluster completes a ManagedCluster: its set, when its taints came, who
// created it. What only the hub writes stays as it was.
func (d *Admission) admitCluster(ctx context.Context, a admission.Attributes) error {
	p, err := readPair(a)
	if err != nil {
		return err
	}
	if p.after.Labels[ocmv1.ClusterSetLabel] == "" {
		p.raw.SetLabels(with(p.raw.GetLabels(), ocmv1.ClusterSetLabel, ocmv1.DefaultClusterSet))
	}
	if err := d.stampTaints(p); err != nil {
		return err
	}
	if p.before != nil && isAgent(a.GetUserInfo(), p.after.Name) {
		p.raw.SetFinalizers(p.before.Finalizers) // they hold its cluster until its rights are gone
		p.raw.SetOwnerReferences(p.before.OwnerReferences)
	}
	if err := d.keepOurs(ctx, a.GetUserInfo(), p); err != nil {
		return err
	}
	if p.before != nil && !p.before.Spec.HubAcceptsClient && p.after.Spec.HubAcceptsClient {
		forgetDenial(p.raw)
	}
	return nil
}

// forgetDenial ends what was said of an earlier denial, whoever accepts the cluster
// and by whatever means: the next denial has reasons of its own.
func forgetDenial(raw *unstructured.Unstructured) {
	annotations := raw.GetAnnotations()
	for _, key := range []string{AnnotationDeniedAt, AnnotationDeniedBy, AnnotationDeniedReason} {
		annotations = with(annotations, key, "")
	}
	raw.SetAnnotations(annotations)
}

// stampTaints sets when taints came. A client neither invents nor changes that;
// for a taint that it leaves alone it repeats what is stored. A change of an older
// version is left to the API server, which refuses it as a conflict.
func (d *Admission) stampTaints(p pair) error {
	if p.before != nil && p.after.ResourceVersion != "" && p.after.ResourceVersion != p.before.ResourceVersion {
		return nil
	}
	now := metav1.NewTime(d.now().UTC()).Rfc3339Copy()
	changed := false
	for i := range p.after.Spec.Taints {
		taint := &p.after.Spec.Taints[i]
		if p.before != nil {
			old := slices.IndexFunc(p.before.Spec.Taints, func(t ocmv1.Taint) bool { return t.Key == taint.Key })
			same := old >= 0 && p.before.Spec.Taints[old].Value == taint.Value && p.before.Spec.Taints[old].Effect == taint.Effect
			if same && p.before.Spec.Taints[old].TimeAdded.Equal(&taint.TimeAdded) {
				continue
			}
			if same || !taint.TimeAdded.IsZero() {
				return apierrors.NewBadRequest(fmt.Sprintf("It is not allowed to set TimeAdded of Taint %q.", taint.Key))
			}
		}
		taint.TimeAdded, changed = now, true
	}
	if !changed {
		return nil
	}
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&ocmv1.ManagedClusterSpec{Taints: p.after.Spec.Taints})
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if err := unstructured.SetNestedField(p.raw.Object, spec["taints"], "spec", "taints"); err != nil {
		return apierrors.NewInternalError(err)
	}
	return nil
}

// keepOurs notes who created a ManagedCluster, and keeps everybody who may not
// accept it from writing annotations that the hub goes by.
func (d *Admission) keepOurs(ctx context.Context, who user.Info, p pair) error {
	wanted, old := p.raw.GetAnnotations(), map[string]string(nil)
	creator := who.GetName()
	if p.before != nil {
		old = p.before.Annotations
		creator = old[AnnotationCreator]
	}
	if changesOurs(wanted, old) {
		allowed, err := d.mayAccept(ctx, who, p.after.Name)
		if err != nil {
			return err
		}
		if !allowed || isAgent(who, p.after.Name) {
			wanted = withOurs(wanted, old)
		}
	}
	if wanted[AnnotationCreator] != creator {
		wanted = with(wanted, AnnotationCreator, creator)
	}
	p.raw.SetAnnotations(wanted)
	return nil
}

func isOurs(key string) bool {
	return strings.HasPrefix(key, ourAnnotations) && key != AnnotationCreator || key == ocmv1.AutomaticallyAcceptedAnnotation
}

func changesOurs(wanted, old map[string]string) bool {
	for key, value := range wanted {
		if isOurs(key) && old[key] != value {
			return true
		}
	}
	for key := range old {
		if _, kept := wanted[key]; isOurs(key) && !kept {
			return true
		}
	}
	return false
}

// withOurs returns the wanted annotations with ours as they were.
func withOurs(wanted, old map[string]string) map[string]string {
	kept := map[string]string{}
	for key, value := range wanted {
		if !isOurs(key) {
			kept[key] = value
		}
	}
	for key, value := range old {
		if isOurs(key) {
			kept[key] = value
		}
	}
	return kept
}

// validateCluster judges a ManagedCluster, in the order in which clients of the
// field know the refusals.
func (d *Admission) validateCluster(ctx context.Context, a admission.Attributes) error {
	p, err := readPair(a)
	if err != nil {
		return err
	}
	if p.before == nil {
		problem := checkName(p.after.Name)
		if problem == "" && p.after.Name == d.own {
			problem = notFree(d.own)
		}
		if problem != "" {
			return apierrors.NewBadRequest(problem)
		}
	}
	for _, config := range p.after.Spec.ManagedClusterClientConfigs {
		if parsed, err := url.Parse(config.URL); err != nil || parsed.Scheme != "https" || parsed.Host == "" {
			return apierrors.NewBadRequest(fmt.Sprintf("url %q is invalid in client configs", config.URL))
		}
	}
	if err := d.validateAcceptance(ctx, a, p); err != nil {
		return err
	}
	return d.validateSet(ctx, a.GetUserInfo(), p)
}

func (d *Admission) validateAcceptance(ctx context.Context, a admission.Attributes, p pair) error {
	name, who := p.after.Name, a.GetUserInfo()
	accepted := p.before != nil && p.before.Spec.HubAcceptsClient
	accept := clusterResource
	accept.Resource += "/accept"
	if accepted && !p.after.Spec.HubAcceptsClient && isAgent(who, name) {
		return apierrors.NewForbidden(accept, name, fmt.Errorf("user %q is the cluster's own agent, and the consent that it would take back is the hub's", who.GetName()))
	}
	if accepted || !p.after.Spec.HubAcceptsClient {
		return nil
	}
	hub, err := d.client()
	if err != nil {
		return err
	}
	space := new(corev1.Namespace)
	if err := hub.Get(ctx, client.ObjectKey{Name: name}, space); client.IgnoreNotFound(err) != nil {
		return apierrors.NewInternalError(fmt.Errorf("read namespace %s: %w", name, err))
	}
	if space.DeletionTimestamp != nil || space.Status.Phase == corev1.NamespaceTerminating {
		return apierrors.NewForbidden(accept, name, fmt.Errorf("the namespace %s is being deleted; accept the cluster once it is gone", name))
	}
	allowed, err := d.mayAccept(ctx, who, name)
	if err == nil && !allowed {
		err = apierrors.NewForbidden(accept, name, fmt.Errorf("user %q cannot update the HubAcceptsClient field", who.GetName()))
	}
	return err
}

// validateSet asks for the right to join the set that a cluster comes to, and
// that which it leaves.
func (d *Admission) validateSet(ctx context.Context, who user.Info, p pair) error {
	sets := []string{p.after.Labels[ocmv1.ClusterSetLabel]}
	if p.before != nil {
		if old := p.before.Labels[ocmv1.ClusterSetLabel]; old != sets[0] {
			sets = []string{old, sets[0]}
		} else {
			sets = nil
		}
	}
	for _, set := range sets {
		if set == "" {
			continue
		}
		right := authorizationv1.ResourceAttributes{Verb: "create", Group: setResource.Group, Resource: setResource.Resource, Subresource: "join", Name: set}
		allowed, err := d.may(ctx, who, right)
		if err != nil {
			return err
		}
		if !allowed {
			join := setResource
			join.Resource += "/join"
			return apierrors.NewForbidden(join, set, fmt.Errorf("user %q cannot add/remove a ManagedCluster to/from ManagedClusterSet %q", who.GetName(), set))
		}
	}
	return nil
}
