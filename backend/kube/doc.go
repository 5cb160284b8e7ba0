// Package kube is how the hub's domains reach Kubernetes APIs: one scheme, one
// controller manager, clients that act as the signed-in user, and clients of the
// member clusters the hub dials.
//
// It knows no domain. It owns no object: what it caches (transports, tokens of
// members) is rebuilt when its source changes, and tokens never leave it except
// in the Authorization header of a request to the member they belong to.
package kube
