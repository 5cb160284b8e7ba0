package kube

import (
	"context"
	"fmt"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Allowed asks the API whether somebody has a right. Its error is one that an API
// server may answer with.
func Allowed(ctx context.Context, hub client.Client, who user.Info, right authorizationv1.ResourceAttributes) (bool, error) {
	if slices.Contains(who.GetGroups(), user.SystemPrivilegedGroup) {
		return true, nil
	}
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range who.GetExtra() {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: who.GetName(), UID: who.GetUID(), Groups: who.GetGroups(), Extra: extra, ResourceAttributes: &right,
	}}
	if err := hub.Create(ctx, review); err != nil {
		return false, apierrors.NewInternalError(fmt.Errorf("review access: %w", err))
	}
	return review.Status.Allowed, nil
}
