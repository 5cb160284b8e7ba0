package joining

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/identity"
	"muster.dev/muster/backend/registration"
)

// hubSecrets are the two Secrets of contract section 3.2. They have no type, so
// that they are Opaque, as compatible clients make them.
func (j *join) hubSecrets() []*corev1.Secret {
	proxy := &corev1.Secret{
		ObjectMeta: identity.SystemMeta(j.Namespace, identity.ImpersonatorSecret(j.Name)),
		Data:       map[string][]byte{clusterv1alpha1.SecretTokenKey: []byte(j.proxy.token)},
	}
	access := &corev1.Secret{
		ObjectMeta: identity.SystemMeta(j.Namespace, identity.CredentialSecret(j.Name)),
		Data:       map[string][]byte{clusterv1alpha1.SecretTokenKey: []byte(j.hub.token)},
	}
	if len(j.hub.ca) > 0 {
		access.Data[clusterv1alpha1.SecretCABundleKey] = j.hub.ca
	}
	for _, secret := range []*corev1.Secret{proxy, access} {
		if id := j.Annotations[registration.Annotation]; id != "" {
			secret.Annotations = map[string]string{registration.Annotation: id}
		}
	}
	return []*corev1.Secret{proxy, access}
}

func (j *join) storeSecrets(ctx context.Context) error {
	if err := j.ensureHubNamespace(ctx); err != nil {
		return err
	}
	for _, secret := range j.hubSecrets() {
		if err := j.storeSecret(ctx, secret); err != nil {
			return err
		}
	}
	return nil
}

// ensureHubNamespace reads first: the hub makes karmada-cluster at its start,
// and operators may not make namespaces.
func (j *join) ensureHubNamespace(ctx context.Context) error {
	var namespace corev1.Namespace
	err := j.Hub.Get(ctx, client.ObjectKey{Name: j.Namespace}, &namespace)
	if err == nil {
		return nil
	}
	if !apierrors.IsNotFound(err) {
		return hubFault("read namespace "+j.Namespace, err)
	}
	namespace = corev1.Namespace{ObjectMeta: identity.SystemMeta("", j.Namespace)}
	if err := j.Hub.Create(ctx, &namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		return hubFault("create namespace "+j.Namespace, err)
	}
	return nil
}

// storeSecret creates a Secret. What an earlier registration left behind under
// the same name is a dead credential and is replaced; what belongs to a living
// cluster is not touched (cluster a's impersonator Secret has the name of the
// credential Secret of a cluster named a-impersonator).
func (j *join) storeSecret(ctx context.Context, secret *corev1.Secret) error {
	for range 3 {
		fresh, err := settle(ctx, func(ctx context.Context) (*corev1.Secret, error) {
			fresh := secret.DeepCopy()
			return fresh, j.Hub.Create(ctx, fresh)
		})
		if err == nil {
			j.undo.push("hub secret "+secret.Name, func(ctx context.Context) error {
				return j.Hub.Delete(ctx, fresh, client.Preconditions{UID: &fresh.UID})
			})
			return nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return hubFault("create secret "+secret.Name, err)
		}
		var stale corev1.Secret
		if err := j.Hub.Get(ctx, client.ObjectKeyFromObject(secret), &stale); apierrors.IsNotFound(err) {
			continue
		} else if err != nil {
			return hubFault("read secret "+secret.Name, err)
		}
		if err := j.refuseOwned(ctx, &stale); err != nil {
			return err
		}
		if err := j.Hub.Delete(ctx, &stale, client.Preconditions{UID: &stale.UID}); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return hubFault("delete outdated secret "+secret.Name, err)
		}
	}
	return fault.Conflict("secret %s/%s on the hub keeps coming back", secret.Namespace, secret.Name).
		WithFix("see whether another join of " + j.Name + " is running, then join again")
}

// refuseOwned fails if the Secret belongs to a cluster that exists.
func (j *join) refuseOwned(ctx context.Context, secret *corev1.Secret) error {
	owner := metav1.GetControllerOf(secret)
	if owner == nil || owner.Kind != clusterv1alpha1.ResourceKindCluster || !strings.HasPrefix(owner.APIVersion, clusterv1alpha1.GroupName+"/") {
		return nil
	}
	var cluster clusterv1alpha1.Cluster
	err := j.Hub.Get(ctx, client.ObjectKey{Name: owner.Name}, &cluster)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return hubFault("read cluster "+owner.Name, err)
	case cluster.UID != owner.UID:
		return nil
	}
	return fault.Conflict("secret %s/%s belongs to cluster %s", secret.Namespace, secret.Name, cluster.Name).WithCode(registration.CodeMemberName).
		WithFix("choose another name for this cluster")
}

// cluster is the Cluster to create.
func (j *join) cluster() *clusterv1alpha1.Cluster {
	endpoint := j.Member.Host
	if !strings.Contains(endpoint, "://") {
		endpoint = "https://" + endpoint
	}
	cluster := &clusterv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: j.Name, Labels: maps.Clone(j.Labels), Annotations: maps.Clone(j.Annotations)},
		Spec: clusterv1alpha1.ClusterSpec{
			ID:                          j.id,
			SyncMode:                    clusterv1alpha1.Push,
			APIEndpoint:                 strings.TrimRight(endpoint, "/"),
			SecretRef:                   &clusterv1alpha1.LocalSecretReference{Namespace: j.Namespace, Name: identity.CredentialSecret(j.Name)},
			ImpersonatorSecretRef:       &clusterv1alpha1.LocalSecretReference{Namespace: j.Namespace, Name: identity.ImpersonatorSecret(j.Name)},
			InsecureSkipTLSVerification: j.Member.Insecure,
			Provider:                    j.Provider,
			Region:                      j.Region,
			Zones:                       j.Zones,
		},
	}
	if j.ProxyURL != nil {
		cluster.Spec.ProxyURL = j.ProxyURL.String()
	}
	return cluster
}

func (j *join) createCluster(ctx context.Context) (*clusterv1alpha1.Cluster, error) {
	cluster, err := settle(ctx, func(ctx context.Context) (*clusterv1alpha1.Cluster, error) {
		cluster := j.cluster()
		return cluster, j.Hub.Create(ctx, cluster)
	})
	if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) {
		// Someone was faster. Say who has the name or the cluster now.
		if taken := checkUnique(ctx, j.Hub, j.Name, j.id); taken != nil {
			return nil, taken
		}
	}
	if err != nil {
		if unanswered(err) {
			j.undo.pushNeeding("cluster "+j.Name, j.seeThatNoneIs)
		}
		return nil, hubFault("create cluster "+j.Name, err)
	}
	j.undo.pushNeeding("cluster "+j.Name, func(ctx context.Context) error {
		return j.Hub.Delete(ctx, cluster.DeepCopy(), client.Preconditions{UID: &cluster.UID})
	})
	return cluster, nil
}

// unanswered says that a write may have been carried out all the same: it was sent,
// and the hub went away before it said anything.
func unanswered(err error) bool {
	var answer apierrors.APIStatus
	return !errors.As(err, &answer) && !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, context.Canceled)
}

// seeThatNoneIs fails as long as there may be a Cluster of the name. One that is there
// may be another join's, and is not this run's to delete.
func (j *join) seeThatNoneIs(ctx context.Context) error {
	err := j.Hub.Get(ctx, client.ObjectKey{Name: j.Name}, &clusterv1alpha1.Cluster{})
	if err == nil {
		return errors.New("there is a cluster " + j.Name)
	}
	return err
}

// ownSecrets makes the Cluster the owner of its Secrets, so that they go when it
// goes. Having created the Cluster, this run alone may say what is in them: a
// Secret that another join put in their place is replaced.
func (j *join) ownSecrets(ctx context.Context, cluster *clusterv1alpha1.Cluster) error {
	for _, secret := range j.hubSecrets() {
		if err := j.ownSecret(ctx, secret, cluster); err != nil {
			return err
		}
	}
	return nil
}

func (j *join) ownSecret(ctx context.Context, secret *corev1.Secret, cluster *clusterv1alpha1.Cluster) error {
	secret.OwnerReferences = []metav1.OwnerReference{identity.OwnerReference(cluster)}
	for range 3 {
		var current corev1.Secret
		err := j.Hub.Get(ctx, client.ObjectKeyFromObject(secret), &current)
		if err != nil && !apierrors.IsNotFound(err) {
			return hubFault("read secret "+secret.Name, err)
		}
		if err == nil && string(current.Data[clusterv1alpha1.SecretTokenKey]) == string(secret.Data[clusterv1alpha1.SecretTokenKey]) {
			err = OwnSecret(ctx, j.Hub, &current, cluster)
			if err == nil {
				return nil
			}
			if !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				return hubFault("own secret "+secret.Name, err)
			}
			continue
		}
		if err == nil {
			if err := j.Hub.Delete(ctx, &current, client.Preconditions{UID: &current.UID}); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				return hubFault("delete foreign secret "+secret.Name, err)
			}
		}
		_, err = settle(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, j.Hub.Create(ctx, secret.DeepCopy()) })
		if err == nil {
			return nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return hubFault("create secret "+secret.Name, err)
		}
	}
	return fault.Conflict("secret %s/%s on the hub changes all the time", secret.Namespace, secret.Name).
		WithFix("see whether another join of " + j.Name + " is running, then join again")
}

// OwnSecret patches the owner reference of contract section 4.2 step 10 onto exactly
// this Secret.
func OwnSecret(ctx context.Context, hub client.Client, secret *corev1.Secret, cluster *clusterv1alpha1.Cluster) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": secret.UID, "ownerReferences": []metav1.OwnerReference{identity.OwnerReference(cluster)},
	}})
	if err != nil {
		return fmt.Errorf("encode owner of secret %s: %w", secret.Name, err)
	}
	return hub.Patch(ctx, secret, client.RawPatch(types.MergePatchType, patch))
}
