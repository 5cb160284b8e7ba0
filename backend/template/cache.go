package template

import (
	"context"
	"log/slog"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

// CacheOptions say what a Cache holds.
type CacheOptions struct {
	// Scope leaves objects out; nil leaves out nothing but reserved namespaces.
	Scope *Scope
	Log   *slog.Logger
}

// Cache holds the templates of the hub.
type Cache struct{}

// NewCache returns a cache of the API that config reaches; it is empty until it
// is started.
func NewCache(config *rest.Config, o CacheOptions) (*Cache, error) { return &Cache{}, nil }

// Start fills the cache and keeps it so until ctx ends.
func (c *Cache) Start(ctx context.Context) error { return nil }

// Synced says whether every kind that was known at the start was looked at once.
func (c *Cache) Synced() bool { return false }

// Get returns a template, which must not be changed.
func (c *Cache) Get(ref Ref) (*unstructured.Unstructured, bool) { return nil, false }

// List returns the templates of a kind, in every namespace if namespace is empty,
// in no order. They must not be changed.
func (c *Cache) List(apiVersion, kind, namespace string) []*unstructured.Unstructured { return nil }

// Each calls visit with every template, in no order, until it returns false.
func (c *Cache) Each(visit func(*unstructured.Unstructured) bool) {}

// Subscribe has changed called for every template that comes (old is nil),
// changes or goes (current is nil), in order per template. It must not block.
// Who subscribes before the start misses nothing.
func (c *Cache) Subscribe(changed func(ref Ref, old, current *unstructured.Unstructured)) {}

// Mapper maps the kinds that the hub serves. What it says changes with them.
func (c *Cache) Mapper() meta.RESTMapper { return nil }
