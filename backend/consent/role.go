package consent

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
)

// Names of the roles of a cluster's agents (contract section 2.4).
const (
	rolePrefix             = "open-cluster-management:managedcluster:"
	sharedRegistrationName = "registration"
	sharedWorkName         = "work"
	sharedRegistrationRole = rolePrefix + sharedRegistrationName
	sharedWorkRole         = rolePrefix + sharedWorkName
)

func clusterRoleName(cluster string) string         { return rolePrefix + cluster }
func registrationBindingName(cluster string) string { return rolePrefix + cluster + ":registration" }
func workBindingName(cluster string) string         { return rolePrefix + cluster + ":work" }

func roleMeta(namespace, name, cluster string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{ocmv1.ClusterNameLabel: cluster}}
}

func roleRef(name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
}

func right(group string, verbs []string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
}

func rightOver(name, group string, verbs []string, resources ...string) rbacv1.PolicyRule {
	rule := right(group, verbs, resources...)
	rule.ResourceNames = []string{name}
	return rule
}

// acceptedRules are what an agent may outside of its namespace, deniedRules what
// it keeps when its cluster is denied: to see that.
func acceptedRules(cluster string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		right(requestResource.Group, []string{"create", "get", "list", "watch"}, "certificatesigningrequests"),
		right(registerGroup, []string{"renew"}, "managedclusters/clientcertificates"),
		rightOver(cluster, ocmv1.GroupName, []string{"get", "list", "update", "watch"}, "managedclusters"),
		rightOver(cluster, ocmv1.GroupName, []string{"patch", "update"}, "managedclusters/status"),
	}
}

func deniedRules(cluster string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{rightOver(cluster, ocmv1.GroupName, []string{"get", "list", "watch"}, "managedclusters")}
}

func clusterRole(cluster string, rules []rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: roleMeta("", clusterRoleName(cluster), cluster), Rules: rules}
}

func subjects(cluster string) []rbacv1.Subject {
	return []rbacv1.Subject{
		{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: Group(cluster)},
		{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: secondPrefix + cluster},
	}
}

func clusterRoleBinding(cluster string) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: roleMeta("", clusterRoleName(cluster), cluster), RoleRef: roleRef(clusterRoleName(cluster)), Subjects: subjects(cluster),
	}
}

func registrationBinding(cluster string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: roleMeta(cluster, registrationBindingName(cluster), cluster), RoleRef: roleRef(sharedRegistrationRole), Subjects: subjects(cluster),
	}
}

// workBinding carries a finalizer: agents need it until no ManifestWork is left.
func workBinding(cluster string) *rbacv1.RoleBinding {
	binding := &rbacv1.RoleBinding{
		ObjectMeta: roleMeta(cluster, workBindingName(cluster), cluster), RoleRef: roleRef(sharedWorkRole), Subjects: subjects(cluster),
	}
	binding.Finalizers = []string{ocmworkv1.ManifestWorkFinalizer}
	return binding
}

// sharedRoles are what the agents of all clusters may in their own namespaces.
func sharedRoles() []*rbacv1.ClusterRole {
	registration := &rbacv1.ClusterRole{ObjectMeta: roleMeta("", sharedRegistrationRole, ""), Rules: []rbacv1.PolicyRule{
		right("coordination.k8s.io", []string{"get", "list", "watch", "update"}, "leases"),
		right(addonGroup, []string{"get", "list", "watch"}, "managedclusteraddons"),
		right(addonGroup, []string{"patch", "update"}, "managedclusteraddons/status"),
		right("events.k8s.io", []string{"create"}, "events"),
	}}
	events := right("", []string{"create", "patch", "update"}, "events")
	events.APIGroups = append(events.APIGroups, "events.k8s.io")
	work := &rbacv1.ClusterRole{ObjectMeta: roleMeta("", sharedWorkRole, ""), Rules: []rbacv1.PolicyRule{
		events,
		right(ocmworkv1.GroupName, []string{"get", "list", "watch", "update", "patch"}, "manifestworks"),
		right(ocmworkv1.GroupName, []string{"patch", "update"}, "manifestworks/status"),
	}}
	return []*rbacv1.ClusterRole{registration, work}
}

const addonGroup = "addon.open-cluster-management.io"

// roles makes, mends and removes the roles of clusters. hub reads from a cache,
// live from the API.
type roles struct {
	hub    client.Client
	live   client.Reader
	spaces Spaces // nil: no namespace is removed
}

// bind gives the agents of a cluster their rights. The role comes before its
// binding: an API looks up what a hub without all rights binds.
func (r roles) bind(ctx context.Context, cluster string) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, wanted := range []client.Object{clusterRoleBinding(cluster), registrationBinding(cluster), workBinding(cluster)} {
		group.Go(func() error { return r.ensure(ctx, wanted) })
	}
	return group.Wait()
}

// ensure makes an object as wanted, or mends it. It writes only what differs.
func (r roles) ensure(ctx context.Context, wanted client.Object) error {
	current, ok := wanted.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("copy %T", wanted)
	}
	err := r.hub.Get(ctx, client.ObjectKeyFromObject(wanted), current)
	if apierrors.IsNotFound(err) {
		if err = r.hub.Create(ctx, wanted.DeepCopyObject().(client.Object)); !apierrors.IsAlreadyExists(err) {
			return said(err, "create", wanted)
		}
		err = r.live.Get(ctx, client.ObjectKeyFromObject(wanted), current)
	}
	if err != nil {
		return said(err, "read", wanted)
	}
	if current.GetDeletionTimestamp() != nil {
		return r.replace(ctx, current)
	}
	if !mend(current, wanted) {
		return nil
	}
	return said(r.hub.Update(ctx, current), "update", wanted)
}

// replace ends an object that is being deleted, so that the next look makes it
// anew: a cluster that is accepted again while its work RoleBinding is held.
func (r roles) replace(ctx context.Context, current client.Object) error {
	if err := r.release(ctx, current); err != nil {
		return err
	}
	return errReplaced
}

// errReplaced asks for another look at once.
var errReplaced = errors.New("a role binding was on its way out")

// mend gives current the rules, subjects, label and finalizers of wanted, and says
// whether any of it differed.
func mend(current, wanted client.Object) bool {
	before := current.DeepCopyObject()
	labels := map[string]string{}
	maps.Copy(labels, current.GetLabels())
	maps.Copy(labels, wanted.GetLabels())
	current.SetLabels(labels)
	for _, finalizer := range wanted.GetFinalizers() {
		controllerutil.AddFinalizer(current, finalizer)
	}
	switch wanted := wanted.(type) {
	case *rbacv1.ClusterRole:
		current.(*rbacv1.ClusterRole).Rules = wanted.Rules
	case *rbacv1.Role:
		current.(*rbacv1.Role).Rules = wanted.Rules
	case *rbacv1.ClusterRoleBinding:
		current.(*rbacv1.ClusterRoleBinding).Subjects = wanted.Subjects
	case *rbacv1.RoleBinding:
		current.(*rbacv1.RoleBinding).Subjects = wanted.Subjects
	}
	return !equality.Semantic.DeepEqual(before, current)
}

// shrink leaves a denied cluster's agents with a look at their ManagedCluster.
func (r roles) shrink(ctx context.Context, cluster string) error {
	if err := r.ensure(ctx, clusterRole(cluster, deniedRules(cluster))); err != nil {
		return err
	}
	return r.unbind(ctx, cluster)
}

// unbind takes a cluster's namespace from its agents; the work RoleBinding stays
// by its finalizer.
func (r roles) unbind(ctx context.Context, cluster string) error {
	for _, binding := range []client.Object{registrationBinding(cluster), workBinding(cluster)} {
		if err := r.remove(ctx, binding); err != nil {
			return err
		}
	}
	return nil
}

// revoke takes everything. Roles that all clusters share are none of one of that name.
func (r roles) revoke(ctx context.Context, cluster string) error {
	objects := []client.Object{clusterRole(cluster, nil), clusterRoleBinding(cluster)}
	if cluster == sharedRegistrationName || cluster == sharedWorkName {
		objects = objects[1:]
	}
	for _, object := range objects {
		if err := r.remove(ctx, object); err != nil {
			return err
		}
	}
	return r.unbind(ctx, cluster)
}

func (r roles) remove(ctx context.Context, object client.Object) error {
	current := object.DeepCopyObject().(client.Object)
	err := r.hub.Get(ctx, client.ObjectKeyFromObject(object), current)
	if apierrors.IsNotFound(err) || err == nil && current.GetDeletionTimestamp() != nil {
		return nil
	}
	if err == nil {
		err = r.hub.Delete(ctx, object)
	}
	return said(client.IgnoreNotFound(err), "delete", object)
}

// release lets a work RoleBinding go that is being deleted.
func (r roles) release(ctx context.Context, current client.Object) error {
	if !controllerutil.ContainsFinalizer(current, ocmworkv1.ManifestWorkFinalizer) {
		return nil
	}
	before := current.DeepCopyObject().(client.Object)
	controllerutil.RemoveFinalizer(current, ocmworkv1.ManifestWorkFinalizer)
	err := r.hub.Patch(ctx, current, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	return said(client.IgnoreNotFound(err), "release", current)
}

// mostNamed bounds how many works are named that hold something up.
const mostNamed = 5

// leftWorks are the ManifestWorks that a cluster still has.
type leftWorks struct {
	names []string // the first of them
	more  int64
	going bool // all that are named are being deleted
}

// releaseWork lets a cluster's work RoleBinding go once it has no ManifestWork
// left; it tells which are.
func (r roles) releaseWork(ctx context.Context, cluster string) (leftWorks, error) {
	works := &metav1.PartialObjectMetadataList{}
	works.SetGroupVersionKind(ocmworkv1.GroupVersion.WithKind("ManifestWorkList"))
	err := r.live.List(ctx, works, client.InNamespace(cluster), client.Limit(mostNamed))
	if err != nil && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) { // a hub that has lost the kind has no works
		return leftWorks{}, fmt.Errorf("look for works of cluster %s: %w", cluster, err)
	}
	if len(works.Items) > 0 {
		return leftOf(works), nil
	}
	binding := new(rbacv1.RoleBinding)
	err = r.live.Get(ctx, client.ObjectKey{Namespace: cluster, Name: workBindingName(cluster)}, binding)
	if apierrors.IsNotFound(err) {
		return leftWorks{}, nil
	}
	if err != nil {
		return leftWorks{}, fmt.Errorf("read work role binding of cluster %s: %w", cluster, err)
	}
	return leftWorks{}, r.release(ctx, binding)
}

func leftOf(works *metav1.PartialObjectMetadataList) leftWorks {
	left := leftWorks{going: true}
	for i := range works.Items {
		left.names = append(left.names, works.Items[i].Name)
		left.going = left.going && works.Items[i].DeletionTimestamp != nil
	}
	if works.RemainingItemCount != nil {
		left.more = *works.RemainingItemCount
	}
	return left
}

// annotationBorrowed marks a namespace that was made for the mirror of a Karmada
// member, in whose dialect there is none of that name: it goes with the member. That
// of a member of Open Cluster Management stays (contract section 2.8).
const annotationBorrowed = "muster.dev/goes-with-cluster"

// ensureSpace makes a cluster's namespace; mirrored, one that goes with the cluster.
func (r roles) ensureSpace(ctx context.Context, cluster string, mirrored bool) error {
	current := new(corev1.Namespace)
	err := r.hub.Get(ctx, client.ObjectKey{Name: cluster}, current)
	_, borrowed := current.Annotations[annotationBorrowed]
	switch {
	case apierrors.IsNotFound(err):
		made := &corev1.Namespace{ObjectMeta: roleMeta("", cluster, cluster)}
		if mirrored {
			made.Annotations = map[string]string{annotationBorrowed: cluster}
		}
		err = r.hub.Create(ctx, made)
		if apierrors.IsAlreadyExists(err) {
			return nil // the look that its appearance causes puts the label on
		}
	case err != nil:
	case current.DeletionTimestamp != nil:
		err = errors.New("it is being deleted")
	case current.Labels[ocmv1.ClusterNameLabel] != cluster || borrowed && !mirrored:
		before := current.DeepCopy()
		current.Labels = with(current.Labels, ocmv1.ClusterNameLabel, cluster)
		if !mirrored {
			delete(current.Annotations, annotationBorrowed)
		}
		err = r.hub.Patch(ctx, current, client.MergeFrom(before))
	}
	if err != nil {
		return fmt.Errorf("ensure namespace %s: %w", cluster, err)
	}
	return nil
}

// dropSpace removes the namespace that was made for a mirror, unless somebody uses it.
func (r roles) dropSpace(ctx context.Context, cluster string) error {
	current := new(corev1.Namespace)
	if err := r.hub.Get(ctx, client.ObjectKey{Name: cluster}, current); err != nil {
		return client.IgnoreNotFound(err)
	}
	if r.spaces == nil || current.Annotations[annotationBorrowed] != cluster || current.DeletionTimestamp != nil {
		return nil
	}
	removed, err := r.spaces.RemoveEmpty(ctx, cluster, current.UID)
	if err == nil && removed {
		log.FromContext(ctx).V(1).Info("namespace removed with its cluster", "cluster", cluster)
	}
	return err
}

func said(err error, verb string, object client.Object) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %T %s: %w", verb, object, object.GetName(), err)
}
