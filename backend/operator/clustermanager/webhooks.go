package clustermanager

import (
	"context"
	"encoding/base64"
	"fmt"
	"io/fs"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/operator/component"
)

// workGroup marks the webhooks that the work listener answers; the others are the registration listener's.
const workGroup = ".work.open-cluster-management.io"

// applyWebhooks tells the hub's API server whom to ask, once somebody answers. Until then it must not: every write would fail.
func (r *Reconciler) applyWebhooks(ctx context.Context, s *scope) error {
	configurations, err := s.plan.configurations(r.settings.Webhooks, s.bundle)
	if err != nil {
		return err
	}
	if s.rolling {
		missing, err := anyMissing(ctx, s.hub.Client, configurations)
		if err != nil {
			return s.fail(reasonWebhooksFailed, err)
		}
		if missing {
			s.again(rollingPoll)
			s.halt = true
			return nil
		}
	}
	applier := component.NewApplier(s.hub.Client, s.plan.labels())
	if err := applier.Apply(ctx, configurations...); err != nil {
		return s.fail(reasonWebhooksFailed, err)
	}
	s.applied = append(s.applied, applier.Applied()...)
	return nil
}

// anyMissing says that the API server is not told everything yet.
func anyMissing(ctx context.Context, hub client.Client, configurations []client.Object) (bool, error) {
	for _, wanted := range configurations {
		current := &unstructured.Unstructured{}
		current.SetGroupVersionKind(wanted.GetObjectKind().GroupVersionKind())
		if err := hub.Get(ctx, client.ObjectKeyFromObject(wanted), current); component.IsGone(err) {
			return true, nil
		} else if err != nil {
			return false, err
		}
	}
	return false, nil
}

// configurations are the webhook configurations with where the hub is: behind a Service, or at the address and port of the resource.
func (p plan) configurations(files fs.FS, bundle []byte) ([]client.Object, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list webhook configurations: %w", err)
	}
	var all []client.Object
	for _, name := range names {
		objects, err := component.Render(files, name, nil)
		if err != nil {
			return nil, err
		}
		for _, object := range objects {
			if err := p.address(object.(*unstructured.Unstructured), bundle); err != nil {
				return nil, fmt.Errorf("webhook configuration %s: %w", object.GetName(), err)
			}
		}
		all = append(all, objects...)
	}
	return all, nil
}

func (p plan) address(configuration *unstructured.Unstructured, bundle []byte) error {
	listener := p.registration
	if strings.HasSuffix(configuration.GetName(), workGroup) {
		listener = p.work
	}
	webhooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	if err != nil {
		return err
	}
	for _, entry := range webhooks {
		webhook, ok := entry.(map[string]any)
		if !ok {
			return fmt.Errorf("a webhook is no object")
		}
		path, _, err := unstructured.NestedString(webhook, "clientConfig", "service", "path")
		if err != nil {
			return err
		}
		target := map[string]any{"caBundle": base64.StdEncoding.EncodeToString(bundle)}
		if listener.url != "" {
			target["url"] = listener.url + path
		} else {
			target["service"] = map[string]any{
				"name": listener.service(), "namespace": p.namespace, "path": path, "port": int64(listener.bind.Port),
			}
		}
		webhook["clientConfig"] = target
	}
	return unstructured.SetNestedSlice(configuration.Object, webhooks, "webhooks")
}
