package enrolment

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/identity"
	"muster.dev/muster/backend/joining"
	"muster.dev/muster/backend/reach"
	"muster.dev/muster/backend/registration"
)

// takeBackTimeout bounds the clean-up of a member after an interrupted join.
const takeBackTimeout = 30 * time.Second

// recover goes on with push joins that a stop of the hub interrupted: they are
// finished if their Cluster exists, and else taken back.
func (s *Service) recover(ctx context.Context) {
	for _, record := range s.Registrations.Interrupted() {
		s.tasks.Go(func() { s.recoverJoin(ctx, record) })
	}
}

func (s *Service) recoverJoin(ctx context.Context, record registration.Registration) {
	finished, err := s.finishJoin(ctx, record)
	if err != nil && ctx.Err() != nil {
		return // the next start tries again
	}
	if finished {
		s.arrive(ctx, record.ID, record.ClusterName, "finished after a restart of the hub")
		return
	}
	failure := registration.Failure{
		Cause: "The hub stopped while it joined the cluster. What it had made was removed.",
		Fix:   "Join the cluster again.",
	}
	if err == nil {
		err = s.takeBack(ctx, record)
	}
	if err != nil {
		slog.Warn("interrupted join could not be taken back", "cluster", record.ClusterName, "error", err)
		account := joining.MemberAccount(record.ClusterName)
		failure.Cause = "The hub stopped while it joined the cluster, and could not remove what it had made there."
		failure.Fix = fmt.Sprintf("Join the cluster again, or remove it in the member: kubectl delete clusterrolebinding,clusterrole %s; kubectl -n %s delete serviceaccount,secret %s",
			joining.MemberRole(record.ClusterName), apis.ClusterNamespace, account)
	}
	s.Registrations.FailCurrent(ctx, record.ID, failure)
}

// finishJoin hands the credentials to a Cluster that the join had created.
func (s *Service) finishJoin(ctx context.Context, record registration.Registration) (bool, error) {
	var cluster clusterv1alpha1.Cluster
	err := s.Hub.Get(ctx, client.ObjectKey{Name: record.ClusterName}, &cluster)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read cluster %s: %w", record.ClusterName, err)
	}
	if cluster.Annotations[registration.Annotation] != record.ID {
		return false, nil
	}
	for _, name := range []string{identity.ImpersonatorSecret(cluster.Name), identity.CredentialSecret(cluster.Name)} {
		var secret corev1.Secret
		if err := s.Hub.Get(ctx, client.ObjectKey{Namespace: apis.ClusterNamespace, Name: name}, &secret); err != nil {
			return false, fmt.Errorf("read secret %s: %w", name, err)
		}
		if err := joining.OwnSecret(ctx, s.Hub, &secret, &cluster); err != nil {
			return false, fmt.Errorf("own secret %s: %w", name, err)
		}
	}
	return true, nil
}

// takeBack removes what the join left: in the member with the account that it
// made there, whose token is on the hub, and then on the hub. A join that had not
// come that far left its account only; that is reported, since the credential
// that could remove it is gone with the hub's memory.
func (s *Service) takeBack(ctx context.Context, record registration.Registration) error {
	ours := map[string]*corev1.Secret{}
	for _, name := range []string{identity.CredentialSecret(record.ClusterName), identity.ImpersonatorSecret(record.ClusterName)} {
		var secret corev1.Secret
		err := s.Hub.Get(ctx, client.ObjectKey{Namespace: apis.ClusterNamespace, Name: name}, &secret)
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("read secret %s: %w", name, err)
		}
		if err == nil && secret.Annotations[registration.Annotation] == record.ID && len(secret.OwnerReferences) == 0 {
			ours[name] = &secret
		}
	}
	err := s.cleanInterrupted(ctx, record, ours[identity.CredentialSecret(record.ClusterName)])
	for name, secret := range ours {
		if err := s.Hub.Delete(ctx, secret, client.Preconditions{UID: &secret.UID}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete secret %s: %w", name, err)
		}
	}
	return err
}

// cleanInterrupted removes what an interrupted join left in the member.
func (s *Service) cleanInterrupted(ctx context.Context, record registration.Registration, access *corev1.Secret) error {
	if access == nil {
		if !record.Passed(registration.StagePreflight) {
			return nil // it had made nothing yet
		}
		return fmt.Errorf("clean member of %s: its credential was not stored yet", record.ClusterName)
	}
	config, err := reach.SecretConfig(access, record.Target)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, takeBackTimeout)
	defer cancel()
	return joining.Cleanup{Member: config, Cluster: record.ClusterName, Own: true, Progress: joining.LogProgress(record.ClusterName)}.Run(ctx)
}
