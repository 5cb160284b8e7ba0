package placement

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/access"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmv1beta2 "muster.dev/muster/backend/apis/ocm/cluster/v1beta2"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/kube"
)

// What the audit calls our nouns.
const (
	kindSet     = "ManagedClusterSet"
	kindBinding = "ManagedClusterSetBinding"
)

// NewSet is a set that is to be made.
type NewSet struct {
	Name string `json:"name"`
	// Selector is a label selector; a set without one holds the clusters that are
	// put into it, each of which is in no other such set.
	Selector string `json:"selector,omitempty" validate:"optional"`
	// Namespaces to bind the set to.
	Namespaces []string `json:"namespaces,omitempty" validate:"optional"`
}

// Sets returns all sets, by name, with what is in them. Everybody who is signed in may.
func (s *Service) Sets(ctx context.Context) ([]SetRow, error) {
	if err := access.Require(ctx, access.RoleViewer); err != nil {
		return nil, err
	}
	return s.sets(ctx)
}

func (s *Service) sets(ctx context.Context) ([]SetRow, error) {
	var sets ocmv1beta2.ManagedClusterSetList
	var clusters ocmv1.ManagedClusterList
	var bindings ocmv1beta2.ManagedClusterSetBindingList
	for _, list := range []client.ObjectList{&sets, &clusters, &bindings} {
		if err := s.Cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, kube.CacheFault("list cluster sets", err)
		}
	}
	rows := make([]SetRow, 0, len(sets.Items))
	for i := range sets.Items {
		rows = append(rows, setRowOf(&sets.Items[i], clusters.Items, bindings.Items))
	}
	slices.SortFunc(rows, func(a, b SetRow) int { return strings.Compare(a.Name, b.Name) })
	return rows, nil
}

// CreateSet makes a set, and binds it, as the actor, who needs to be an operator.
func (s *Service) CreateSet(ctx context.Context, asked NewSet) (SetRow, error) {
	if problems := validation.IsDNS1123Subdomain(asked.Name); len(problems) > 0 {
		return SetRow{}, fault.Invalid("%q cannot name a set: %s", asked.Name, problems[0]).WithField("name", problems[0])
	}
	if len(validation.IsValidLabelValue(asked.Name)) > 0 {
		return SetRow{}, fault.Invalid("%q cannot name a set: clusters bear it as a label", asked.Name).WithField("name", "has more than 63 characters")
	}
	set := &ocmv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: asked.Name}}
	set.Spec.ClusterSelector.SelectorType = ocmv1beta2.ExclusiveClusterSetLabel
	if asked.Selector != "" {
		selector, err := metav1.ParseToLabelSelector(asked.Selector)
		if err != nil {
			return SetRow{}, fault.Invalid("%q is not a label selector", asked.Selector).WithField("selector", "write it like tier=edge,region in (eu,us)")
		}
		set.Spec.ClusterSelector = ocmv1beta2.ManagedClusterSelector{SelectorType: ocmv1beta2.LabelSelector, LabelSelector: selector}
	}
	detail := map[string]string{"selector": asked.Selector}
	err := s.Audit.Do(ctx, audit.Action{Verb: "create", Kind: kindSet, Name: asked.Name, Needs: access.RoleOperator, Detail: detail}, func(ctx context.Context) error {
		hub, err := s.as(ctx, access.RoleOperator)
		if err != nil {
			return err
		}
		err = hub.Create(ctx, set)
		if apierrors.IsAlreadyExists(err) {
			return fault.Conflict("there is a set %s already", asked.Name).WithCode("taken").WithFix("choose another name").WithField("name", "taken")
		}
		return kube.Fault(err)
	})
	if err != nil {
		return SetRow{}, err
	}
	for _, namespace := range asked.Namespaces {
		if err := s.Bind(ctx, asked.Name, namespace); err != nil {
			return SetRow{}, err
		}
	}
	row := setRowOf(set, nil, nil)
	row.Namespaces = append(row.Namespaces, asked.Namespaces...)
	return row, nil
}

// DeleteSet removes a set as the actor, who needs to be an operator and repeats its
// name. Its clusters stay; placements choose them through it no more.
func (s *Service) DeleteSet(ctx context.Context, name, confirm string) error {
	action := audit.Action{Verb: "delete", Kind: kindSet, Name: name, Needs: access.RoleOperator}
	return s.Audit.Do(ctx, action, func(ctx context.Context) error {
		if confirm != name {
			return fault.Invalid("the name was not repeated").WithField("confirm", "must be "+name)
		}
		if name == ocmv1.DefaultClusterSet || name == ocmv1.GlobalClusterSet {
			return fault.Conflict("the set %s always exists; the hub would make it again", name)
		}
		hub, err := s.as(ctx, access.RoleOperator)
		if err != nil {
			return err
		}
		err = hub.Delete(ctx, &ocmv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: name}})
		if apierrors.IsNotFound(err) {
			return fault.NotFound("there is no set %s", name)
		}
		return kube.Fault(err)
	})
}

// Bind lets the placements of a namespace choose clusters of a set, as the actor,
// who needs to be an operator. It may be repeated.
func (s *Service) Bind(ctx context.Context, set, namespace string) error {
	if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
		return fault.Invalid("%q cannot name a namespace: %s", namespace, problems[0]).WithField("namespace", problems[0])
	}
	action := audit.Action{Verb: "create", Kind: kindBinding, Namespace: namespace, Name: set, Needs: access.RoleOperator}
	return s.Audit.Do(ctx, action, func(ctx context.Context) error {
		hub, err := s.as(ctx, access.RoleOperator)
		if err != nil {
			return err
		}
		if err := exists(ctx, hub, set, namespace); err != nil {
			return err
		}
		binding := &ocmv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: set}}
		binding.Spec.ClusterSet = set
		if err := hub.Create(ctx, binding); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("bind set %s to %s: %w", set, namespace, kube.Fault(err))
		}
		return nil
	})
}

// exists says whether there are a set and a namespace to bind.
func exists(ctx context.Context, hub client.Reader, set, namespace string) error {
	err := hub.Get(ctx, client.ObjectKey{Name: set}, &ocmv1beta2.ManagedClusterSet{})
	if apierrors.IsNotFound(err) {
		return fault.NotFound("there is no set %s", set)
	}
	if err != nil {
		return fmt.Errorf("read set %s: %w", set, kube.Fault(err))
	}
	err = hub.Get(ctx, client.ObjectKey{Name: namespace}, &corev1.Namespace{})
	if apierrors.IsNotFound(err) {
		return fault.NotFound("there is no namespace %s", namespace).WithField("namespace", "does not exist").WithFix("kubectl create namespace " + namespace)
	}
	if err != nil {
		return fmt.Errorf("read namespace %s: %w", namespace, kube.Fault(err))
	}
	return nil
}

// Unbind ends what Bind began, as the actor, who needs to be an operator.
func (s *Service) Unbind(ctx context.Context, set, namespace string) error {
	action := audit.Action{Verb: "delete", Kind: kindBinding, Namespace: namespace, Name: set, Needs: access.RoleOperator}
	return s.Audit.Do(ctx, action, func(ctx context.Context) error {
		hub, err := s.as(ctx, access.RoleOperator)
		if err != nil {
			return err
		}
		err = hub.Delete(ctx, &ocmv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: set}})
		if apierrors.IsNotFound(err) {
			return fault.NotFound("the set %s is not bound to namespace %s", set, namespace)
		}
		return kube.Fault(err)
	})
}
