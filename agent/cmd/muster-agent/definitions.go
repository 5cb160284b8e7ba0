package main

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/deploy"
)

// ensureDefinitions installs the definitions of what the agents keep in the
// cluster, where they are missing. Those that are there are left as they are.
func ensureDefinitions(ctx context.Context, member *rest.Config, log *slog.Logger) error {
	client, err := dynamic.NewForConfig(member)
	if err != nil {
		return fmt.Errorf("client of the member: %w", err)
	}
	api := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	files := deploy.MemberCRDs()
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return fmt.Errorf("list the definitions: %w", err)
	}
	for _, entry := range entries {
		data, err := fs.ReadFile(files, entry.Name())
		if err != nil {
			return fmt.Errorf("read the definition %s: %w", entry.Name(), err)
		}
		definition := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(data, &definition.Object); err != nil {
			return fmt.Errorf("read the definition %s: %w", entry.Name(), err)
		}
		_, err = api.Create(ctx, definition, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create the definition %s: %w", definition.GetName(), err)
		}
		if err == nil {
			log.Info("definition installed", "name", definition.GetName())
		}
		if err := established(ctx, api, definition.GetName()); err != nil {
			return err
		}
	}
	return nil
}

// established waits until the member serves a definition.
func established(ctx context.Context, api dynamic.ResourceInterface, name string) error {
	for ctx.Err() == nil {
		found, err := api.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("get the definition %s: %w", name, err)
		}
		conditions, _, _ := unstructured.NestedSlice(found.Object, "status", "conditions")
		for _, c := range conditions {
			if fields, ok := c.(map[string]any); ok && fields["type"] == "Established" && fields["status"] == "True" {
				return nil
			}
		}
		sleep(ctx, 50*time.Millisecond)
	}
	return ctx.Err()
}
