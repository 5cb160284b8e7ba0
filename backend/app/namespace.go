package app

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/kube"
)

const (
	// namespacePatience bounds how long the start waits for the end of a namespace.
	namespacePatience = 30 * time.Second
	namespacePoll     = 100 * time.Millisecond
)

// endNamespace brings a namespace to its end that was being deleted when the hub
// stopped, say by clusteradm's clean. Nothing can be made in it before, and on the
// embedded plane the loop that would do it starts after the hub's own objects are
// made: without this the hub could never start again.
func endNamespace(ctx context.Context, hub client.Client, config *rest.Config, name string) error {
	namespace := &corev1.Namespace{}
	err := hub.Get(ctx, client.ObjectKey{Name: name}, namespace)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read namespace %s: %w", name, err)
	case namespace.DeletionTimestamp == nil:
		return nil
	}
	purger, err := kube.NewPurger(config)
	if err != nil {
		return err
	}
	var held []string
	var last error // kinds that are being installed beside this cannot be listed yet
	err = wait.PollUntilContextTimeout(ctx, namespacePoll, namespacePatience, true, func(ctx context.Context) (bool, error) {
		held, last = purger.Purge(ctx, name)
		return last == nil && len(held) == 0, nil
	})
	switch {
	case err == nil || ctx.Err() != nil:
		return ctx.Err()
	case len(held) > 0:
		// Whoever holds it needs a hub to let go: it starts with what can be made.
		slog.Warn("namespace does not end", "namespace", name, "held", strings.Join(held, ", "))
		return nil
	}
	return fmt.Errorf("end namespace %s: %w", name, last)
}
