package clustermanager

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/operator/component"
)

// applyCertificates keeps the authority, what the webhooks serve with, and what verifies them: on the cluster that the components run on.
func (r *Reconciler) applyCertificates(ctx context.Context, s *scope) error {
	now := r.now()
	signer, err := r.readPair(ctx, s.plan.namespace, signerSecret)
	if err != nil {
		return err
	}
	ca, err := readAuthority(signer, now)
	if err != nil { // missing, broken or at its end
		if ca, err = newAuthority(s.plan.name, now); err != nil {
			return err
		}
	}
	applier := component.NewApplier(r.client, s.plan.labels())
	write := func(name string, p pair) error {
		return applier.Apply(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.plan.namespace}, Type: corev1.SecretTypeTLS,
			Data: map[string][]byte{corev1.TLSCertKey: p.cert, corev1.TLSPrivateKeyKey: p.key},
		})
	}
	if err := write(signerSecret, ca.pair); err != nil {
		return s.fail(reasonRuntimeFailed, err)
	}
	// What verifies comes before what is verified.
	if err := r.applyBundle(ctx, s, applier, ca, now); err != nil {
		return s.fail(reasonRuntimeFailed, err)
	}
	pems := [][]byte{ca.cert}
	for _, w := range s.plan.webhooks() {
		stored, err := r.readPair(ctx, s.plan.namespace, w.secret())
		if err != nil {
			return err
		}
		serving, err := ca.serving(stored, s.plan.hosts(w), now)
		if err != nil {
			return err
		}
		if err := write(w.secret(), serving); err != nil {
			return s.fail(reasonRuntimeFailed, err)
		}
		pems = append(pems, serving.cert)
	}
	s.again(max(nextRenewal(pems...).Sub(now), time.Second))
	return nil
}

func (r *Reconciler) applyBundle(ctx context.Context, s *scope, applier *component.Applier, ca *authority, now time.Time) error {
	stored := &corev1.ConfigMap{}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: s.plan.namespace, Name: bundleMap}, stored); err != nil && !component.IsGone(err) {
		return err
	}
	s.bundle = ca.bundle([]byte(stored.Data[bundleKey]), now)
	return applier.Apply(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: bundleMap, Namespace: s.plan.namespace}, Data: map[string]string{bundleKey: string(s.bundle)},
	})
}

// hosts are the names that the hub's API server may use for a webhook.
func (p plan) hosts(w webhook) []string {
	name := w.service() + "." + p.namespace
	hosts := []string{name + ".svc", name, name + ".svc.cluster.local"}
	if w.host != "" {
		hosts = append(hosts, w.host)
	}
	return hosts
}

// readPair reads a certificate and its key; both are empty if there are none.
func (r *Reconciler) readPair(ctx context.Context, namespace, name string) (pair, error) {
	secret, err := component.GetSecret(ctx, r.client, namespace, name)
	if err != nil || secret == nil {
		return pair{}, err
	}
	return pair{cert: secret.Data[corev1.TLSCertKey], key: secret.Data[corev1.TLSPrivateKeyKey]}, nil
}
