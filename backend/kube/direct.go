package kube

import (
	"context"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Direct is a short way to objects that this process stores: past the API's door,
// with the same rules and the same errors.
type Direct interface {
	// Serves says whether objects of the Go type of o are stored here. Create,
	// Patch and Report are for these only.
	Serves(o runtime.Object) bool
	// Reads says whether ListWatch knows the Go type of o.
	Reads(o runtime.Object) bool
	// Create stores an object, which is the stored one afterwards.
	Create(ctx context.Context, o client.Object) error
	// Patch changes an object, or its status if that is the subresource, by a JSON
	// merge patch; o is the stored one afterwards.
	Patch(ctx context.Context, o client.Object, patch client.Patch, subresource string) error
	// Report stores the status of an object if the stored version is that one; o is
	// the stored object afterwards.
	Report(ctx context.Context, o client.Object, version string) error
	// ListWatch feeds a cache of all objects of the Go type of o.
	ListWatch(o runtime.Object) toolscache.ListerWatcher
}

const statusSubresource = "status"

// Sources say where the manager of a hub reads from, and when.
type Sources struct {
	// Direct stores some kinds itself; nil: none.
	Direct Direct
	// Later is closed when everything may be read; nil: it may be from the start on.
	// Until then only the kinds of First are, for whom somebody waits.
	Later <-chan struct{}
	First []client.Object
}

// listWatch is what a cache of objects like o is filled from, instead of source.
func (s Sources) listWatch(source toolscache.ListerWatcher, o runtime.Object) toolscache.ListerWatcher {
	if s.Direct != nil && s.Direct.Reads(o) {
		source = s.Direct.ListWatch(o)
	}
	isFirst := func(first client.Object) bool { return reflect.TypeOf(first) == reflect.TypeOf(o) }
	if s.Later == nil || slices.ContainsFunc(s.First, isFirst) {
		return source
	}
	return gated{source, s.Later}
}

// goDirect has a manager's cache read from the sources, and its client write what
// is stored in this process there. No cache may be confined to a part of such a
// kind.
func goDirect(options *manager.Options, from Sources) {
	options.Cache.NewInformer = func(source toolscache.ListerWatcher, o runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
		return toolscache.NewSharedIndexInformer(from.listWatch(source, o), o, resync, indexers)
	}
	direct := from.Direct
	if direct == nil {
		return
	}
	options.NewClient = func(config *rest.Config, options client.Options) (client.Client, error) {
		base, err := client.New(config, options)
		if err != nil {
			return nil, err
		}
		return &directClient{Client: base, direct: direct}, nil
	}
}

// directClient sends what direct serves past the API's door. Calls with options of
// their own go through it, as do updates and deletions, which are few.
type directClient struct {
	client.Client
	direct Direct
}

// Create implements client.Writer.
func (c *directClient) Create(ctx context.Context, o client.Object, options ...client.CreateOption) error {
	if len(options) == 0 && c.direct.Serves(o) {
		return c.direct.Create(ctx, o)
	}
	return c.Client.Create(ctx, o, options...)
}

// Patch implements client.Writer.
func (c *directClient) Patch(ctx context.Context, o client.Object, patch client.Patch, options ...client.PatchOption) error {
	if len(options) == 0 && patch.Type() == types.MergePatchType && c.direct.Serves(o) {
		return c.direct.Patch(ctx, o, patch, "")
	}
	return c.Client.Patch(ctx, o, patch, options...)
}

// Status implements client.StatusClient.
func (c *directClient) Status() client.SubResourceWriter { return c.SubResource(statusSubresource) }

// SubResource implements client.SubResourceClientConstructor.
func (c *directClient) SubResource(name string) client.SubResourceClient {
	base := c.Client.SubResource(name)
	if name != statusSubresource {
		return base
	}
	return &directStatus{SubResourceClient: base, direct: c.direct}
}

type directStatus struct {
	client.SubResourceClient
	direct Direct
}

// Patch implements client.SubResourceWriter.
func (c *directStatus) Patch(ctx context.Context, o client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	if len(options) == 0 && patch.Type() == types.MergePatchType && c.direct.Serves(o) {
		if whole, ok := patch.(statusPatch); ok && whole.version != "" {
			return c.direct.Report(ctx, o, whole.version)
		}
		return c.direct.Patch(ctx, o, patch, statusSubresource)
	}
	return c.SubResourceClient.Patch(ctx, o, patch, options...)
}
