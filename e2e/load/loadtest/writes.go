package loadtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// Writes counts the writes to a server by resource and kind of change. Watching
// costs the server something: benchmarks that measure time do without.
type Writes struct {
	mu     sync.Mutex
	counts map[string]int
}

// FollowWrites watches every resource of a server from now until ctx ends.
func FollowWrites(ctx context.Context, config *rest.Config) (*Writes, error) {
	paths, err := listable(config)
	if err != nil {
		return nil, err
	}
	w := &Writes{counts: map[string]int{}}
	for resource, path := range paths {
		err := watch(ctx, config, path, acceptMetadata, func(e *Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.counts[strings.ToLower(e.Type)+" "+resource.GroupResource().String()]++
		})
		if err != nil {
			return nil, err
		}
	}
	return w, nil
}

// Take returns what was counted since the last call as one line, the most first.
func (w *Writes) Take() string {
	w.mu.Lock()
	counts := w.counts
	w.counts = map[string]int{}
	w.mu.Unlock()
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
	parts := make([]string, 0, len(keys))
	for _, key := range keys {
		parts = append(parts, fmt.Sprintf("%d %s", counts[key], key))
	}
	return strings.Join(parts, ", ")
}

// ChangedSince lists the objects of a server that were written after a revision
// of its store and still exist, by resource.
func ChangedSince(ctx context.Context, config *rest.Config, revision int64) (map[string][]string, error) {
	paths, err := listable(config)
	if err != nil {
		return nil, err
	}
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("metadata client: %w", err)
	}
	changed := map[string][]string{}
	for resource := range paths {
		list, err := client.Resource(resource).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", resource.GroupResource(), err)
		}
		for i := range list.Items {
			o := &list.Items[i]
			if at, err := strconv.ParseInt(o.ResourceVersion, 10, 64); err == nil && at > revision {
				name := strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")
				changed[resource.GroupResource().String()] = append(changed[resource.GroupResource().String()], name)
			}
		}
	}
	return changed, nil
}

// listable are the paths of all resources that can be watched, each in its
// preferred version.
func listable(config *rest.Config) (map[schema.GroupVersionResource]string, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("discovery client: %w", err)
	}
	lists, err := client.ServerPreferredResources()
	if err != nil {
		return nil, fmt.Errorf("list the kinds of the server: %w", err)
	}
	all, err := discovery.GroupVersionResources(discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "watch"}}, lists))
	if err != nil {
		return nil, fmt.Errorf("list the kinds of the server: %w", err)
	}
	paths := make(map[schema.GroupVersionResource]string, len(all))
	for r := range all {
		root := "/apis/" + r.Group + "/" + r.Version
		if r.Group == "" {
			root = "/api/" + r.Version
		}
		paths[r] = root + "/" + r.Resource
	}
	// Events are served in two groups, but stored once.
	delete(paths, schema.GroupVersionResource{Version: "v1", Resource: "events"})
	return paths, nil
}
