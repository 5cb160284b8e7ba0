package join

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Bootstrap registers from within the member: the agent's own pod, installed by
// `kubectl apply`, reads hub, CA and token from a Secret, gets its identity with
// them and deletes the Secret. It tries until it succeeds or ctx ends, since
// nobody is there to start it again. With an identity there already, it only
// cleans up.
func Bootstrap(ctx context.Context, client kubernetes.Interface, store *Store, log *slog.Logger) error {
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		err := bootstrapOnce(ctx, client, store, log)
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		var failure *Failure
		if errors.As(err, &failure) {
			log.Error("not registered yet", "code", failure.Code, "error", failure.Error(), "cause", failure.Cause, "fix", failure.Fix, "retry", pause)
		} else {
			log.Error("not registered yet", "error", err, "retry", pause)
		}
		if !sleep(ctx, pause) {
			return ctx.Err()
		}
	}
}

func bootstrapOnce(ctx context.Context, client kubernetes.Interface, store *Store, log *slog.Logger) error {
	secrets := client.CoreV1().Secrets(store.namespace)
	given, err := secrets.Get(ctx, BootstrapSecret, metav1.GetOptions{})
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return fmt.Errorf("read secret %s/%s: %w", store.namespace, BootstrapSecret, err)
	}
	old, err := store.Load(ctx)
	switch {
	case err == nil && missing:
		return nil
	case missing:
		return fmt.Errorf("secret %s/%s: %w", store.namespace, BootstrapSecret, ErrNoIdentity)
	}
	token, err := ParseToken(string(given.Data[bootstrapToken]))
	if err != nil {
		return fmt.Errorf("secret %s/%s: %w", store.namespace, BootstrapSecret, err)
	}
	pins, err := Pins(given.Data[bootstrapCA])
	if err != nil {
		return fmt.Errorf("secret %s/%s: %w", store.namespace, BootstrapSecret, err)
	}
	o := Options{Hub: string(given.Data[bootstrapHub]), Token: token, Pins: pins, ClusterName: string(given.Data[bootstrapCluster]),
		Timeout: 10 * time.Minute, Out: &logWriter{log}}
	if err := o.validate(); err != nil {
		return fmt.Errorf("secret %s/%s: %w", store.namespace, BootstrapSecret, err)
	}
	i, err := o.identity(ctx, store)
	if err != nil {
		return err
	}
	if err := store.Save(ctx, i, i == old && old != nil); err != nil {
		return err
	}
	if err := secrets.Delete(ctx, BootstrapSecret, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		log.Warn("the token stays in the cluster", "namespace", store.namespace, "name", BootstrapSecret, "error", err)
	}
	return nil
}

// logWriter turns stages into log lines.
type logWriter struct{ log *slog.Logger }

func (w *logWriter) Write(line []byte) (int, error) {
	w.log.Info("registering", "stage", string(line[:max(len(line)-1, 0)]))
	return len(line), nil
}

// awaitEvery is how often an agent without a hub looks for a new registration.
const awaitEvery = 10 * time.Second

// AwaitRegistration returns once a removed member has been registered again, or
// has been given a token to do so, or with the error of ctx.
func AwaitRegistration(ctx context.Context, client kubernetes.Interface, store *Store) error {
	for sleep(ctx, awaitEvery) {
		if i, err := store.Load(ctx); err == nil && !i.Removed {
			return nil
		}
		if _, err := client.CoreV1().Secrets(store.namespace).Get(ctx, BootstrapSecret, metav1.GetOptions{}); err == nil {
			return nil
		}
	}
	return ctx.Err()
}
