package token

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/access"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/kube"
)

// Topic carries the live changes of tokens; operators may read it.
const Topic = "tokens"

// kind is what the audit calls a token.
const kind = "Token"

// Auditor records an intent, runs fn and records what came of it.
type Auditor interface {
	Do(ctx context.Context, action audit.Action, fn func(ctx context.Context) error) error
}

// Hub is what register commands say about the hub.
type Hub struct {
	// Address is the host:port that members reach the hub API at.
	Address string
	// CA is the PEM text of the CA that the hub API chains to.
	CA []byte
}

// Options are what a Service works with.
type Options struct {
	// Clients gives the hub API as the actor sees it, so that the hub's roles
	// judge what comes in by REST as they judge kubectl.
	Clients func(actor access.Actor) (client.Client, error)
	Audit   Auditor
	Hub     Hub
	// Now tells the time; nil: time.Now.
	Now func() time.Time
}

// Service lists, makes and revokes tokens on behalf of whoever acts in ctx.
type Service struct {
	clients func(actor access.Actor) (client.Client, error)
	audit   Auditor
	hub     Hub
	now     func() time.Time
}

// NewService returns a Service.
func NewService(options Options) *Service {
	if options.Now == nil {
		options.Now = time.Now
	}
	return &Service{clients: options.Clients, audit: options.Audit, hub: options.Hub, now: options.Now}
}

// Created is a new token with its secret half, which is shown this once.
type Created struct {
	Token Token `json:"token"`
	// Secret is the whole token, id and secret half.
	Secret   string   `json:"secret"`
	Commands Commands `json:"commands"`
}

func (s *Service) clientOf(ctx context.Context) (access.Actor, client.Client, error) {
	actor, ok := access.ActorFrom(ctx)
	if !ok {
		return actor, nil, fault.Unauthenticated("nobody is signed in").WithFix("sign in")
	}
	hub, err := s.clients(actor)
	return actor, hub, err
}

// List returns all tokens, newest first. Operators may.
func (s *Service) List(ctx context.Context) ([]Token, error) {
	if err := access.Require(ctx, access.RoleOperator); err != nil {
		return nil, err
	}
	_, hub, err := s.clientOf(ctx)
	if err != nil {
		return nil, err
	}
	secrets, err := listSecrets(ctx, hub)
	if err != nil {
		return nil, err
	}
	tokens := make([]Token, 0, len(secrets))
	for i := range secrets {
		// What Kubernetes would not take for a token is not one.
		if token, err := FromSecret(&secrets[i], s.now()); err == nil {
			tokens = append(tokens, token)
		}
	}
	slices.SortFunc(tokens, func(a, b Token) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(a.ID, b.ID))
	})
	return tokens, nil
}

// listSecrets asks for Secrets of the tokens' type only (contract section 5.1).
func listSecrets(ctx context.Context, hub client.Reader) ([]corev1.Secret, error) {
	var list corev1.SecretList
	err := hub.List(ctx, &list, client.InNamespace(Namespace), client.MatchingFields{"type": string(SecretType)})
	if err != nil {
		return nil, fmt.Errorf("list tokens: %w", kube.Fault(err))
	}
	return list.Items, nil
}

// Create makes a token. Operators may; a token that never expires, or lives
// longer than MaxTTL, needs an administrator. placement goes into the commands.
func (s *Service) Create(ctx context.Context, spec Spec, placement Placement) (Created, error) {
	if err := spec.Validate(); err != nil {
		return Created{}, err
	}
	actor, hub, err := s.clientOf(ctx)
	if err != nil {
		return Created{}, err
	}
	needs := access.RoleOperator
	if spec.TTL == 0 || spec.TTL > MaxTTL {
		needs = access.RoleAdmin
	}
	spec.CreatedBy = actor.Name
	id, secret := Generate()
	var created Created
	action := audit.Action{Verb: "create", Kind: kind, Name: id, Needs: needs, Detail: map[string]string{
		"cluster": spec.ClusterName, "ttl": spec.TTL.String(), "registration": spec.RegistrationID,
	}}
	err = s.audit.Do(ctx, action, func(ctx context.Context) error {
		object := spec.Secret(id, secret, s.now())
		if err := hub.Create(ctx, object); err != nil {
			return fmt.Errorf("create token %s: %w", id, kube.Fault(err))
		}
		created.Token, err = FromSecret(object, s.now())
		return err
	})
	if err != nil {
		return Created{}, err
	}
	created.Secret = id + "." + secret
	created.Commands, err = NewCommands(s.hub.Address, created.Secret, s.hub.CA, placement)
	return created, err
}

// Delete revokes the token with this id. Operators may.
func (s *Service) Delete(ctx context.Context, id string) error {
	id, err := ParseID(id)
	if err != nil {
		return err
	}
	_, hub, err := s.clientOf(ctx)
	if err != nil {
		return err
	}
	return s.audit.Do(ctx, audit.Action{Verb: "revoke", Kind: kind, Name: id, Needs: access.RoleOperator}, func(ctx context.Context) error {
		return Revoke(ctx, hub, id)
	})
}

// Revoke deletes a token's Secret. It fails with fault.NotFound if there is none.
func Revoke(ctx context.Context, hub client.Writer, id string) error {
	object := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: SecretName(id), Namespace: Namespace}}
	err := hub.Delete(ctx, object)
	if apierrors.IsNotFound(err) {
		return fault.NotFound("there is no token %s", id).WithFix("see the list of tokens: it may have expired or been revoked")
	}
	if err != nil {
		return fmt.Errorf("revoke token %s: %w", id, kube.Fault(err))
	}
	return nil
}
