package app

import (
	"context"
	"fmt"
	"log/slog"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/agent/interpret"
	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
)

// lessons keeps the hub's interpreter with the customizations and webhooks that
// the hub holds. Agents get theirs over their links.
type lessons struct {
	cache       cache.Cache
	interpreter *interpret.Interpreter
}

func newInterpreter() *interpret.Interpreter {
	return interpret.New(interpret.Options{Sandbox: interpret.OwnSandbox(), Fed: true, Log: slog.Default()})
}

// Start teaches until ctx ends.
func (l *lessons) Start(ctx context.Context) error {
	changed := make(chan struct{}, 1)
	poke := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	var synced []toolscache.InformerSynced
	for _, kind := range []client.Object{&configv1alpha1.ResourceInterpreterCustomization{}, &configv1alpha1.ResourceInterpreterWebhookConfiguration{}} {
		informer, err := l.cache.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil && ctx.Err() != nil {
			return nil // stopped before it began
		}
		if err != nil {
			return fmt.Errorf("follow %T: %w", kind, err)
		}
		handler, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { poke() }, UpdateFunc: func(any, any) { poke() }, DeleteFunc: func(any) { poke() },
		})
		if err != nil {
			return fmt.Errorf("follow %T: %w", kind, err)
		}
		synced = append(synced, handler.HasSynced)
	}
	if !toolscache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil
	}
	for {
		if err := l.teach(ctx); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

func (l *lessons) teach(ctx context.Context) error {
	var customizations configv1alpha1.ResourceInterpreterCustomizationList
	if err := l.cache.List(ctx, &customizations); err != nil {
		return fmt.Errorf("list interpreter customizations: %w", err)
	}
	var webhooks configv1alpha1.ResourceInterpreterWebhookConfigurationList
	if err := l.cache.List(ctx, &webhooks); err != nil {
		return fmt.Errorf("list interpreter webhooks: %w", err)
	}
	l.interpreter.SetCustomizations(customizations.Items)
	l.interpreter.SetWebhooks(webhooks.Items)
	return nil
}
