package klusterlet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	"muster.dev/muster/backend/operator/component"
)

const (
	// A hub that did not answer well is asked again soon, one that did now and then.
	hubRetry   = 5 * time.Second
	hubRecheck = 2 * time.Minute
	// hubLimit bounds one round of questions.
	hubLimit = 15 * time.Second
)

// connection is what is known of the way to the hub.
type connection struct {
	// bootstrap digests which hub the bootstrap kubeconfigs lead to; cluster is the name the hub knows, as far as known.
	bootstrap, cluster string
	// credentials says that there is a kubeconfig for the work agent.
	credentials bool
	// reason and message are those of the condition; ok: the hub can be worked with.
	ok              bool
	reason, message string
}

// asked remembers what a hub answered, by Klusterlet, until its Secrets change or the answer is old.
type asked struct {
	secrets string
	at      time.Time
	found   connection
}

// connect reads the Secrets and asks the hub, unless it did so lately.
func (r *Reconciler) connect(ctx context.Context, s *scope) error {
	secrets := make([]*corev1.Secret, 0, len(s.plan.bootstraps)+1)
	versions := []string{s.object.Spec.ClusterName}
	for _, name := range append(append([]string{}, s.plan.bootstraps...), ocmoperatorv1.HubKubeconfigSecret) {
		secret, err := component.GetSecret(ctx, r.client, s.plan.agentNamespace, name)
		if err != nil {
			return err
		}
		if secret != nil {
			versions = append(versions, string(secret.UID)+secret.ResourceVersion)
		}
		secrets = append(secrets, secret)
	}
	last, fingerprint := r.memory(s.object.Name), strings.Join(versions, ",")
	s.hub = last.found
	if age := r.now().Sub(last.at); last.secrets != fingerprint || !last.found.ok && age >= hubRetry/2 || age >= hubRecheck {
		limited, cancel := context.WithTimeout(ctx, hubLimit)
		defer cancel()
		s.hub = r.examine(limited, s, secrets[:len(secrets)-1], secrets[len(secrets)-1])
		r.remember(s.object.Name, asked{secrets: fingerprint, at: r.now(), found: s.hub})
	}
	set(s.object, ocmoperatorv1.ConditionHubConnectionDegraded, !s.hub.ok, s.hub.reason, s.hub.message)
	s.again(hubRecheck)
	if !s.hub.ok {
		s.again(hubRetry)
	}
	return nil
}

// examine tells how well the hub can be worked with. Credentials that work make the bootstrap ones irrelevant: those may have expired.
func (r *Reconciler) examine(ctx context.Context, s *scope, bootstraps []*corev1.Secret, hub *corev1.Secret) connection {
	c := connection{cluster: s.object.Spec.ClusterName}
	var identities []string
	for _, secret := range bootstraps {
		if secret != nil {
			identities = append(identities, component.HubIdentity(secret))
		}
	}
	c.bootstrap = strings.Join(identities, "-")
	hubReason, hubMessage := r.examineHub(ctx, s, hub, &c)
	if hubReason == reasonConnected {
		c.ok, c.reason, c.message = true, hubReason, hubMessage
		return c
	}
	bootstrapReason, bootstrapMessage := r.examineBootstraps(ctx, s, bootstraps)
	c.reason, c.message = bootstrapReason+","+hubReason, bootstrapMessage+"\n"+hubMessage
	return c
}

func (r *Reconciler) examineHub(ctx context.Context, s *scope, secret *corev1.Secret, c *connection) (reason, message string) {
	where := s.plan.agentNamespace + "/" + ocmoperatorv1.HubKubeconfigSecret
	if secret == nil {
		return hubSecretMissing, "The agent has no credentials yet: there is no hub kubeconfig secret " + where
	}
	c.credentials = true
	if c.cluster == "" {
		c.cluster = string(secret.Data[clusterNameKey])
	}
	if len(secret.Data[component.KubeconfigKey]) == 0 {
		return hubKubeconfigMissing, fmt.Sprintf("Hub kubeconfig secret %s has no key %q", where, component.KubeconfigKey)
	}
	if c.cluster == "" {
		return clusterNameMissing, fmt.Sprintf("Neither spec.clusterName nor key %q of secret %s names the cluster", clusterNameKey, where)
	}
	server, err := r.question(ctx, secret, hubRights(c.cluster))
	switch {
	case err == nil:
		return reasonConnected, fmt.Sprintf("Hub kubeconfig secret %s to apiserver %s is working", where, server)
	case isUnauthorized(err):
		return hubKubeconfigUnauthorized, fmt.Sprintf("Hub kubeconfig secret %s to apiserver %s is not good for all that the agent does: %s", where, server, word(err))
	}
	return hubKubeconfigError, fmt.Sprintf("Hub kubeconfig secret %s does not lead to the hub: %s", where, word(err))
}

// examineBootstraps is content with the first Secret that works.
func (r *Reconciler) examineBootstraps(ctx context.Context, s *scope, secrets []*corev1.Secret) (reason, message string) {
	reason, message = bootstrapSecretMissing, ""
	for i, secret := range secrets {
		where := s.plan.agentNamespace + "/" + s.plan.bootstraps[i]
		if secret == nil {
			if message == "" {
				message = "There is no bootstrap secret " + where
			}
			continue
		}
		server, err := r.question(ctx, secret, bootstrapRights())
		switch {
		case err == nil:
			return bootstrapSecretFunctional, fmt.Sprintf("Bootstrap secret %s to apiserver %s is configured correctly", where, server)
		case isUnauthorized(err):
			reason = bootstrapSecretUnauthorized
			message = fmt.Sprintf("Bootstrap secret %s to apiserver %s is not good for introducing a cluster: %s", where, server, word(err))
		default:
			reason, message = bootstrapSecretError, fmt.Sprintf("Bootstrap secret %s does not lead to a hub: %s", where, word(err))
		}
	}
	return reason, message
}

func (r *Reconciler) question(ctx context.Context, secret *corev1.Secret, rights []right) (server string, err error) {
	remote, err := r.clusters.From(secret)
	if err != nil {
		return "", err
	}
	return remote.Config.Host, review(ctx, remote, rights)
}

// word words an error for a condition: text of ours, of the hub, or of the network, none of which holds credentials.
func word(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	return err.Error()
}

func (r *Reconciler) memory(name string) asked {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hubs[name]
}

func (r *Reconciler) remember(name string, a asked) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hubs[name] = a
}

// forget drops all that is held for a Klusterlet that is gone.
func (r *Reconciler) forget(name string, p plan) {
	r.mu.Lock()
	delete(r.hubs, name)
	r.mu.Unlock()
	r.secrets.Forget(name)
	for _, secret := range append([]string{ocmoperatorv1.HubKubeconfigSecret, ocmoperatorv1.ExternalManagedKubeconfigSecret}, p.bootstraps...) {
		r.clusters.Forget(client.ObjectKey{Namespace: p.agentNamespace, Name: secret})
	}
}
