package registry

import (
	"context"
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"

	"muster.dev/muster/backend/apis"
)

var errAgentCollection = errors.New("an agent may not delete clusters by the collection")

// clusterStore serves clusters and confines agents. RBAC cannot express "list, but only yourself", and an unmodified agent lists and
// watches all clusters; so it gets the list, with itself as the only element. The filter makes the request a read of one key.
type clusterStore struct{ *genericregistry.Store }

// List returns the clusters that the requesting user may know of.
func (s clusterStore) List(ctx context.Context, options *internalversion.ListOptions) (runtime.Object, error) {
	confined, err := confine(ctx, options)
	if err != nil {
		return nil, err
	}
	return s.Store.List(ctx, confined)
}

// Watch follows the clusters that the requesting user may know of.
func (s clusterStore) Watch(ctx context.Context, options *internalversion.ListOptions) (watch.Interface, error) {
	confined, err := confine(ctx, options)
	if err != nil {
		return nil, err
	}
	return s.Store.Watch(ctx, confined)
}

// DeleteCollection refuses agents: the list that would be deleted is not the one that they see.
func (s clusterStore) DeleteCollection(ctx context.Context, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions, list *internalversion.ListOptions) (runtime.Object, error) {
	if _, ok := agentOf(ctx); ok {
		return nil, apierrors.NewForbidden(s.DefaultQualifiedResource, "", errAgentCollection)
	}
	return s.Store.DeleteCollection(ctx, validate, options, list)
}

// confine adds to options, for the user of an agent certificate, that the name must be the agent's own. The registration helper has the
// shape of an agent too; no cluster may have its name, so it sees none.
func confine(ctx context.Context, options *internalversion.ListOptions) (*internalversion.ListOptions, error) {
	cluster, ok := agentOf(ctx)
	if !ok {
		return options, nil
	}
	confined := &internalversion.ListOptions{}
	if options != nil {
		confined = options.DeepCopy()
	}
	own := fields.OneTermEqualSelector(metav1.ObjectNameField, cluster)
	if confined.FieldSelector == nil || confined.FieldSelector.Empty() {
		confined.FieldSelector = own
		return confined, nil
	}
	confined.FieldSelector = fields.AndSelectors(own, confined.FieldSelector)
	return confined, nil
}

// agentOf returns the cluster name in the requesting user's name, when that is the name of an agent or of the registration helper.
func agentOf(ctx context.Context) (string, bool) {
	user, ok := request.UserFrom(ctx)
	if !ok {
		return "", false
	}
	return strings.CutPrefix(user.GetName(), apis.AgentUserPrefix)
}
