package klusterlet

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/operator/component"
)

const (
	groupCluster      = "cluster.open-cluster-management.io"
	groupWork         = "work.open-cluster-management.io"
	groupRegister     = "register.open-cluster-management.io"
	groupCertificates = "certificates.k8s.io"
	// parallelReviews bounds how many questions one Klusterlet asks a hub at once.
	parallelReviews = 8
)

// right is one thing that an agent has to be allowed on the hub.
type right struct {
	group, resource, subresource, namespace, name string
	verbs                                         []string
}

// bootstrapRights are what introducing a cluster takes.
func bootstrapRights() []right {
	return []right{
		{group: groupCluster, resource: "managedclusters", verbs: []string{"create", "get"}},
		{group: groupCertificates, resource: "certificatesigningrequests", verbs: []string{"create", "get", "list", "watch"}},
	}
}

// hubRights are what an accepted agent of cluster has: contract ocm.md section 2.9.
func hubRights(cluster string) []right {
	return []right{
		{group: groupCertificates, resource: "certificatesigningrequests", verbs: []string{"get", "list", "watch"}},
		{group: groupCluster, resource: "managedclusters", name: cluster, verbs: []string{"get", "list", "update", "watch"}},
		{group: groupCluster, resource: "managedclusters", subresource: "status", name: cluster, verbs: []string{"patch", "update"}},
		{group: groupRegister, resource: "managedclusters", subresource: "clientcertificates", name: cluster, verbs: []string{"renew"}},
		{group: "coordination.k8s.io", resource: "leases", namespace: cluster, name: "managed-cluster-lease", verbs: []string{"get", "update"}},
		{resource: "events", namespace: cluster, verbs: []string{"create", "patch", "update"}},
		{group: "events.k8s.io", resource: "events", namespace: cluster, verbs: []string{"create", "patch", "update"}},
		{group: groupWork, resource: "manifestworks", namespace: cluster, verbs: []string{"get", "list", "watch", "update"}},
		{group: groupWork, resource: "manifestworks", subresource: "status", namespace: cluster, verbs: []string{"patch", "update"}},
	}
}

func (r right) String() string {
	resource := r.resource
	if r.subresource != "" {
		resource += "/" + r.subresource
	}
	if r.group != "" {
		resource += "." + r.group
	}
	if r.namespace != "" {
		return resource + " in " + r.namespace
	}
	return resource
}

// errDenied says that the hub answered no.
var errDenied = errors.New("not allowed")

// review asks the hub, all at once, whether whoever remote signs in as has every right. The error is the first "no" or failure.
func review(ctx context.Context, remote *component.Remote, rights []right) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelReviews)
	for _, wanted := range rights {
		for _, verb := range wanted.verbs {
			group.Go(func() error { return ask(ctx, remote.Client, wanted, verb) })
		}
	}
	return group.Wait()
}

func ask(ctx context.Context, hub client.Client, wanted right, verb string) error {
	question := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Group: wanted.group, Resource: wanted.resource, Subresource: wanted.subresource,
			Namespace: wanted.namespace, Name: wanted.name, Verb: verb,
		},
	}}
	if err := hub.Create(ctx, question); err != nil {
		return fmt.Errorf("ask whether %s %s is allowed: %w", verb, wanted, err)
	}
	if !question.Status.Allowed {
		return fmt.Errorf("%s %s is %w", verb, wanted, errDenied)
	}
	return nil
}

// isUnauthorized says that the hub knows the credentials not, or not for this.
func isUnauthorized(err error) bool {
	return errors.Is(err, errDenied) || apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err)
}
