package manifestwork

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"muster.dev/muster/agent/feed"
)

// Works are the ManifestWorks of one cluster at its hub. Errors are those of the
// hub's API: not found, conflict and so on.
type Works interface {
	// Follow tells a listener of the works until ctx ends, and failed of trouble.
	Follow(ctx context.Context, listener feed.Listener, failed func(error))
	// Get reads a work as it is now.
	Get(ctx context.Context, name string) (*unstructured.Unstructured, error)
	// Patch writes a merge patch, of the status or of the rest, and returns the work
	// after it.
	Patch(ctx context.Context, name string, patch []byte, status bool) (*unstructured.Unstructured, error)
}

// worksOfAPI are the works in a namespace of an API.
type worksOfAPI struct{ api dynamic.ResourceInterface }

// Follow implements Works.
func (w worksOfAPI) Follow(ctx context.Context, listener feed.Listener, failed func(error)) {
	feed.Run(ctx, w.api, listener, feed.Options{Slowest: 2 * time.Second, Failed: failed})
}

// Get implements Works.
func (w worksOfAPI) Get(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	return w.api.Get(ctx, name, metav1.GetOptions{})
}

// Patch implements Works.
func (w worksOfAPI) Patch(ctx context.Context, name string, patch []byte, status bool) (*unstructured.Unstructured, error) {
	var subresources []string
	if status {
		subresources = append(subresources, "status")
	}
	return w.api.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}, subresources...)
}
