package clustermanager

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/operator/component"
)

const (
	// OwnName is what clients call the ClusterManager of a hub (contract section 1.7).
	OwnName = "cluster-manager"
	// ownRetry is how soon the object is made again at start if it could not be.
	ownRetry = 5 * time.Second
)

// Own keeps the ClusterManager of a hub that serves its own API, which no operator has put there: clients tell a hub by the kind and read its
// state from the object. It is made at each start and may be deleted: clusteradm's clean does that, and waits until it is gone. Nothing
// that it asks for is acted on, which it says.
type Own struct {
	client  client.Client
	version string
}

// SetupOwn adds the controller to the manager of a hub of that version.
func SetupOwn(m ctrl.Manager, version string) error {
	o := &Own{client: m.GetClient(), version: version}
	if err := m.Add(manager.RunnableFunc(o.create)); err != nil {
		return fmt.Errorf("add the hub's own cluster manager: %w", err)
	}
	err := ctrl.NewControllerManagedBy(m).Named("own-clustermanager").
		For(&ocmoperatorv1.ClusterManager{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(o)
	if err != nil {
		return fmt.Errorf("build own-clustermanager controller: %w", err)
	}
	return nil
}

// create makes the object, unless it exists.
func (o *Own) create(ctx context.Context) error {
	err := wait.PollUntilContextCancel(ctx, ownRetry, true, func(ctx context.Context) (bool, error) {
		err := o.client.Create(ctx, &ocmoperatorv1.ClusterManager{ObjectMeta: metav1.ObjectMeta{Name: OwnName}})
		if err == nil || apierrors.IsAlreadyExists(err) {
			return true, nil
		}
		slog.Warn("cluster manager not made, will retry", "name", OwnName, "error", err)
		return false, nil
	})
	if ctx.Err() != nil {
		return nil // stopped before it was made
	}
	return err
}

// Reconcile says how the hub is, in the words that an operator would use.
func (o *Own) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	object := &ocmoperatorv1.ClusterManager{}
	if err := o.client.Get(ctx, request.NamespacedName, object); err != nil || object.DeletionTimestamp != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	before := object.DeepCopy()
	unknown, unsupported := ownLimits(object)
	setGates(object, unknown)
	setUnsupported(object, unsupported)
	if object.Name == OwnName {
		if err := o.note(ctx, object); err != nil {
			return kube.RetryStale(err)
		}
		set(object, ocmoperatorv1.ConditionApplied, true, reasonApplied, "This hub serves its own API; "+o.where()+" and nothing is deployed for it")
		setProgress(object, component.Rollout{Observed: true})
	} else {
		set(object, ocmoperatorv1.ConditionApplied, false, reasonInvalid, fmt.Sprintf("This hub serves its own API and is described by %s; it puts no other hubs anywhere: run muster operator on a cluster", OwnName))
	}
	object.Status.ObservedGeneration = object.Generation
	return kube.RetryStale(kube.PatchStatus(ctx, o.client, before, object))
}

func (o *Own) where() string {
	return "kinds, rights, registration, placement and works are part of its process, muster " + o.version + ","
}

// note writes what people find under the names of the original's parts, and lists what the hub has made of its own accord.
func (o *Own) note(ctx context.Context, object *ocmoperatorv1.ClusterManager) error {
	related := []ocmoperatorv1.RelatedResourceMeta{}
	for _, kind := range hubKinds {
		related = append(related, ocmoperatorv1.RelatedResourceMeta{
			Group: apiextensionsv1.GroupName, Version: "v1", Resource: "customresourcedefinitions", Name: kind,
		})
	}
	related = append(related,
		ocmoperatorv1.RelatedResourceMeta{Version: "v1", Resource: "serviceaccounts", Namespace: ocmoperatorv1.OperatorNamespace, Name: bootstrapAccount},
		ocmoperatorv1.RelatedResourceMeta{Group: rbacv1.GroupName, Version: "v1", Resource: "clusterroles", Name: bootstrapRole})
	owner := *metav1.NewControllerRef(object, ocmoperatorv1.GroupVersion.WithKind("ClusterManager"))
	for _, part := range []string{registrationPart, registrationWebhookPart, workWebhookPart, placementPart, addOnPart} {
		note := partNote(object.Name, ocmoperatorv1.OperatorNamespace, part, "the process that serves this API, muster "+o.version)
		note.SetOwnerReferences([]metav1.OwnerReference{owner})
		if err := o.write(ctx, note); err != nil {
			return fmt.Errorf("write config map %s: %w", note.GetName(), err)
		}
		related = append(related, ocmoperatorv1.RelatedResourceMeta{Version: "v1", Resource: "configmaps", Namespace: note.GetNamespace(), Name: note.GetName()})
	}
	object.Status.RelatedResources = related
	return nil
}

// write makes a note, or brings it up to date. The namespace is the hub's own, and there before any controller runs.
func (o *Own) write(ctx context.Context, note *corev1.ConfigMap) error {
	err := o.client.Create(ctx, note.DeepCopy())
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	return o.client.Update(ctx, note)
}

// ownLimits are the feature gates that nobody knows, and what a ClusterManager asks for that a hub which serves its own API does not do.
func ownLimits(cm *ocmoperatorv1.ClusterManager) (unknownGates, unsupported []string) {
	const ours = "this hub's own program"
	p, err := newPlan(cm, Settings{HubImage: ours})
	if err != nil {
		p.note("%s", err)
	}
	if err == nil && (p.image != ours || p.work.image != ours) {
		p.note("spec.registrationImagePullSpec, spec.workImagePullSpec: %s runs, no image", ours)
	}
	spec := &cm.Spec
	if p.hosted || spec.DeployOption.Default != nil || spec.DeployOption.Hosted != nil || spec.ResourceRequirement != nil ||
		len(spec.NodePlacement.NodeSelector) > 0 || len(spec.NodePlacement.Tolerations) > 0 {
		p.note("spec.deployOption, nodePlacement, resourceRequirement: this hub runs where it was started, and asks no webhooks")
	}
	if slices.Contains(p.gates, gateAutoApproval+"=true") {
		p.note("feature gate %s, autoApproveUsers, autoApprovedIdentities: start the hub with --auto-approve-users, or make a rule in its waiting room", gateAutoApproval)
	}
	return p.unknownGates, p.unsupported
}
