package identity

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

// Marks of ours on hub objects.
const (
	// AnnotationPreparedFor on an execution namespace says that it was made for a
	// registration whose Cluster did not exist yet. If none comes within an hour,
	// the namespace is removed again.
	AnnotationPreparedFor = "muster.dev/prepared-for"
	// AnnotationWaiting on a certificate request says why it was not approved.
	AnnotationWaiting = "muster.dev/waiting"
	// AnnotationEventOf on an Event names the cluster whose agent wrote it.
	AnnotationEventOf = "muster.dev/event-of"
)

// CredentialSecret names the hub Secret with a cluster's token and CA.
func CredentialSecret(cluster string) string { return cluster }

// ImpersonatorSecret names the hub Secret with the proxy's token.
func ImpersonatorSecret(cluster string) string { return cluster + "-impersonator" }

// SystemMeta names an object that the hub keeps for itself.
func SystemMeta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{apis.SystemLabel: apis.LabelTrue}}
}

// OwnerReference makes an object go with its Cluster.
func OwnerReference(cluster *clusterv1alpha1.Cluster) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: clusterv1alpha1.GroupVersion.String(), Kind: clusterv1alpha1.ResourceKindCluster,
		Name: cluster.Name, UID: cluster.UID, Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
	}
}

// NewLiveWriter is the hub read through live, for whoever must not write what a
// cache a few milliseconds behind makes it believe.
func NewLiveWriter(hub client.Client, live client.Reader) client.Client { return liveWriter{hub, live} }

// liveWriter reads from the API what it is about to write.
type liveWriter struct {
	client.Client
	live client.Reader
}

func (w liveWriter) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return w.live.Get(ctx, key, object, options...)
}
