package handshake

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

var managedClusters = ocmv1.GroupVersion.WithResource("managedclusters")

// introduce makes the ManagedCluster and asks for a certificate, side by side,
// until the certificate is kept.
func (a *Agent) introduce(ctx context.Context, b *Bootstrap) (*Identity, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	config := a.limit(b.Config)
	hub, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client of the hub: %w", err)
	}
	announced := make(chan struct{})
	go func() { defer close(announced); a.announce(ctx, hub.Resource(managedClusters)) }()
	ask := &request{cluster: a.cluster, agent: a.agent, seconds: a.o.CertificateSeconds, config: config, log: a.log,
		explain: a.explain, trouble: func(err error) { a.health.note(err.Error()) }}
	asking := ctx
	if len(a.o.Bootstraps) > 1 {
		var cancel context.CancelFunc
		asking, cancel = context.WithTimeout(ctx, a.o.HubTimeout)
		defer cancel()
	}
	grant, err := ask.get(asking)
	if errors.Is(asking.Err(), context.DeadlineExceeded) && ctx.Err() == nil {
		a.log.Warn("the hub gives no certificate", "cluster", a.cluster, "hub", b.Hub.Server)
		return nil, a.nextHub(ctx)
	}
	if err != nil {
		return nil, err
	}
	identity, err := newIdentity(a.cluster, a.agent, b.Hub, grant.certPEM, grant.keyPEM)
	if err != nil {
		return nil, err
	}
	data, err := identity.data()
	if err != nil {
		return nil, err
	}
	for pause := pauseFirst; ; pause = min(2*pause, pauseMost) {
		if err = a.o.Store.Write(ctx, data); err == nil {
			break
		}
		a.log.Warn("the identity is not kept", "error", err, "retry", pause) // the key must not be lost
		if wait(ctx, pause); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	a.log.Info("the hub has issued a certificate", "cluster", a.cluster, "hub", b.Hub.Server, "expires", identity.Expires())
	select { // a hub that approves by itself may be quicker than the announcement
	case <-announced:
	case <-time.After(5 * time.Second):
	case <-ctx.Done():
	}
	return identity, nil
}

// explain says what to do when the hub does not know who introduces the cluster,
// which no further try changes.
func (a *Agent) explain(err error) error {
	if !apierrors.IsUnauthorized(err) {
		return err
	}
	return fmt.Errorf("%w: the hub does not take the credential any more, or never did: tokens expire; put a new one, as of clusteradm get token, into %s", err, a.o.Bootstraps[a.turn])
}

// limit bounds what is asked of the hub as the options say.
func (a *Agent) limit(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.UserAgent = "muster-agent/registration"
	if config.QPS, config.Burst = a.o.HubQPS, a.o.HubBurst; config.QPS == 0 {
		config.QPS = -1
	}
	return config
}

// announce sees to it that the ManagedCluster exists and tells how to reach the
// member. A hub that says no (401, 403) is asked again later: its administrator
// may make the cluster, and the certificate does not depend on it.
func (a *Agent) announce(ctx context.Context, clusters dynamic.ResourceInterface) {
	for pause := pauseFirst; ctx.Err() == nil; pause = min(2*pause, 30*time.Second) {
		within, cancel := context.WithTimeout(ctx, requestTimeout)
		err := a.announceOnce(within, clusters)
		cancel()
		if err == nil {
			return
		}
		if ctx.Err() == nil {
			err = a.explain(err)
			a.log.Warn("the cluster is not announced", "cluster", a.cluster, "error", err, "retry", pause)
			a.health.note(err.Error())
		}
		wait(ctx, pause)
	}
}

// announceOnce makes the ManagedCluster: most are new. One that is there, or that
// whoever introduces the cluster may not make, is looked at.
func (a *Agent) announceOnce(ctx context.Context, clusters dynamic.ResourceInterface) error {
	fresh, err := untyped(a.announcement())
	if err != nil {
		return err
	}
	_, refusal := clusters.Create(ctx, fresh, metav1.CreateOptions{})
	if refusal == nil {
		return nil
	}
	refusal = fmt.Errorf("create managed cluster %s: %w", a.cluster, refusal)
	if !apierrors.IsAlreadyExists(refusal) && !apierrors.IsForbidden(refusal) {
		return refusal
	}
	found, err := clusters.Get(ctx, a.cluster, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return refusal
	}
	if err != nil {
		return fmt.Errorf("get managed cluster %s: %w", a.cluster, err)
	}
	there := &ocmv1.ManagedCluster{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, there); err != nil {
		return fmt.Errorf("read managed cluster %s: %w", a.cluster, err)
	}
	if len(there.Spec.ManagedClusterClientConfigs) == len(a.o.ExternalURLs) {
		return nil
	}
	there.Spec.ManagedClusterClientConfigs = a.announcement().Spec.ManagedClusterClientConfigs
	changed, err := untyped(there)
	if err != nil {
		return err
	}
	_, err = clusters.Update(ctx, changed, metav1.UpdateOptions{})
	if apierrors.IsForbidden(err) {
		return nil // it is as its administrator made it
	}
	if err != nil {
		return fmt.Errorf("update managed cluster %s: %w", a.cluster, err)
	}
	return nil
}

// announcement is the ManagedCluster as the agent makes it (contract 2.3 a).
func (a *Agent) announcement() *ocmv1.ManagedCluster {
	cluster := &ocmv1.ManagedCluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: ocmv1.GroupVersion.String(), Kind: "ManagedCluster"},
		ObjectMeta: metav1.ObjectMeta{Name: a.cluster},
	}
	for key, value := range a.o.Annotations {
		if strings.HasPrefix(key, ocmv1.AgentAnnotationPrefix) {
			metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, key, value)
		}
	}
	for _, url := range a.o.ExternalURLs {
		cluster.Spec.ManagedClusterClientConfigs = append(cluster.Spec.ManagedClusterClientConfigs,
			ocmv1.ClientConfig{URL: url, CABundle: a.member.ca})
	}
	return cluster
}

func untyped(object any) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("write an object: %w", err)
	}
	return &unstructured.Unstructured{Object: fields}, nil
}
