package token

import (
	"context"
	"crypto/hmac"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/live"
)

// Publisher brings a changed row to browsers.
type Publisher interface {
	Publish(topic string, event live.Event)
	Seq(topic string) (epoch string, seq uint64)
}

// Watch follows the Secrets of tokens, whoever changes them: it publishes each
// change and answers what a token is without asking the API. It keeps no
// secret half.
type Watch struct {
	informer cache.SharedIndexInformer
	expired  *expired
	live     Publisher
	revoked  func(ctx context.Context, id string)
	now      func() time.Time
	ctx      context.Context // of Start
}

// NewWatch returns a Watch over the hub API. revoked, which may be nil, is told
// of each token that is gone: revoked, or cleaned away after its end.
func NewWatch(hub kubernetes.Interface, publisher Publisher, revoked func(ctx context.Context, id string)) *Watch {
	factory := informers.NewSharedInformerFactoryWithOptions(hub, 0, informers.WithNamespace(Namespace),
		informers.WithTweakListOptions(func(options *metav1.ListOptions) {
			options.FieldSelector = fields.OneTermEqualSelector("type", string(SecretType)).String()
		}))
	return &Watch{informer: factory.Core().V1().Secrets().Informer(), expired: newExpired(), live: publisher, revoked: revoked, now: time.Now}
}

// Start watches until ctx ends.
func (w *Watch) Start(ctx context.Context) error {
	w.ctx = ctx
	if err := w.informer.SetTransform(w.forgetSecret); err != nil {
		return fmt.Errorf("watch tokens: %w", err)
	}
	_, err := w.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    w.upsert,
		UpdateFunc: func(_, object any) { w.upsert(object) },
		DeleteFunc: w.remove,
	})
	if err != nil {
		return fmt.Errorf("watch tokens: %w", err)
	}
	w.informer.RunWithContext(ctx)
	return nil
}

// Ready says whether the first list has arrived.
func (w *Watch) Ready() error {
	if !w.informer.HasSynced() {
		return fault.Unavailable("the tokens are not known yet")
	}
	return nil
}

// keyProof holds, in the cache alone, what tells who shows a token whole.
const keyProof = "muster.dev/proof"

// forgetSecret keeps the secret half of tokens out of the cache. A placeholder
// of the same shape stands for it, and a proof by which it is known again. What
// has been through it already stays as it is.
func (w *Watch) forgetSecret(object any) (any, error) {
	secret, ok := object.(*corev1.Secret)
	if !ok || len(secret.Data[keySecret]) == 0 || len(secret.Data[keyProof]) > 0 {
		return object, nil
	}
	secret.Data[keyProof] = w.expired.proof(string(secret.Data[keyID]), string(secret.Data[keySecret]))
	placeholder := make([]byte, len(secret.Data[keySecret]))
	for i := range placeholder {
		placeholder[i] = '0'
	}
	secret.Data[keySecret] = placeholder
	secret.ManagedFields = nil
	return secret, nil
}

// Get returns the token with this id as it was a moment ago, or fault.NotFound.
func (w *Watch) Get(_ context.Context, id string) (Token, error) {
	object, found, err := w.informer.GetStore().GetByKey(Namespace + "/" + SecretName(id))
	if err != nil {
		return Token{}, fmt.Errorf("find token %s: %w", id, err)
	}
	secret, ok := object.(*corev1.Secret)
	if !found || !ok {
		return Token{}, fault.NotFound("there is no token %s", id)
	}
	return FromSecret(secret, w.now())
}

// ExpiredAt says when the token expired whose both halves are given, also after
// its Secret is gone. For all others, a wrong secret half among them, it is false.
func (w *Watch) ExpiredAt(id, secret string) (time.Time, bool) {
	object, found, err := w.informer.GetStore().GetByKey(Namespace + "/" + SecretName(id))
	if err != nil || !found {
		return w.expired.at(id, secret)
	}
	kept, ok := object.(*corev1.Secret)
	if !ok || !hmac.Equal(kept.Data[keyProof], w.expired.proof(id, secret)) {
		return time.Time{}, false
	}
	known, err := FromSecret(kept, w.now())
	if err != nil || !known.Expired {
		return time.Time{}, false
	}
	// The cleaner takes the Secret any moment: what was told once stays told.
	w.expired.remember(id, *known.ExpiresAt, kept.Data[keyProof])
	return *known.ExpiresAt, true
}

func (w *Watch) upsert(object any) {
	secret, ok := object.(*corev1.Secret)
	if !ok {
		return
	}
	if token, err := FromSecret(secret, w.now()); err == nil {
		w.live.Publish(Topic, live.Event{Op: live.OpUpsert, Key: token.ID, Row: token})
	}
}

func (w *Watch) remove(object any) {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	secret, ok := object.(*corev1.Secret)
	if !ok {
		return
	}
	token, err := FromSecret(secret, w.now())
	if err != nil {
		return
	}
	if token.Expired {
		w.expired.remember(token.ID, *token.ExpiresAt, secret.Data[keyProof])
	}
	w.live.Publish(Topic, live.Event{Op: live.OpDelete, Key: token.ID})
	if w.revoked != nil {
		w.revoked(w.ctx, token.ID)
	}
}
