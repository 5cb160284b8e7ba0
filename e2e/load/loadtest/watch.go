package loadtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Event is the part of a watch event that benchmarks look at. Decoding no more
// keeps the watcher's share of the machine small.
type Event struct {
	Type   string `json:"type"`
	Object struct {
		Metadata struct {
			Namespace       string            `json:"namespace"`
			Name            string            `json:"name"`
			ResourceVersion string            `json:"resourceVersion"`
			Labels          map[string]string `json:"labels"`
			Annotations     map[string]string `json:"annotations"`
		} `json:"metadata"`
		Spec struct {
			HubAcceptsClient bool `json:"hubAcceptsClient"`
		} `json:"spec"`
		Status struct {
			Certificate string `json:"certificate"`
			Conditions  []struct {
				Type   string `json:"type"`
				Status string `json:"status"`
			} `json:"conditions"`
		} `json:"status"`
	} `json:"object"`
}

// True says whether the object has a condition with the status True.
func (e *Event) True(condition string) bool {
	for _, c := range e.Object.Status.Conditions {
		if c.Type == condition {
			return c.Status == "True"
		}
	}
	return false
}

// Key is namespace/name.
func (e *Event) Key() string { return e.Object.Metadata.Namespace + "/" + e.Object.Metadata.Name }

// acceptMetadata asks for objects without spec and status.
const acceptMetadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

// Watch calls see, from one goroutine, with every change of a resource from now
// on until ctx ends. path is that of the resource, such as /api/v1/configmaps.
// It returns once the server has accepted the watch.
func Watch(ctx context.Context, config *rest.Config, path string, see func(*Event)) error {
	return watch(ctx, config, path, "application/json", see)
}

// Follow is Watch for benchmarks that look at more of an object, as it is after
// each change.
func Follow[O any](ctx context.Context, config *rest.Config, path string, see func(*O)) error {
	type event struct {
		Object O `json:"object"`
	}
	return stream(ctx, config, path, "application/json", func(in *json.Decoder) error {
		e := &event{}
		err := in.Decode(e)
		if err == nil {
			see(&e.Object)
		}
		return err
	})
}

func watch(ctx context.Context, config *rest.Config, path, accept string, see func(*Event)) error {
	return stream(ctx, config, path, accept, func(in *json.Decoder) error {
		e := &Event{}
		err := in.Decode(e)
		if err == nil && e.Type != "BOOKMARK" {
			see(e)
		}
		return err
	})
}

// stream reads the events of a watch with next until that fails.
func stream(ctx context.Context, config *rest.Config, path, accept string, next func(*json.Decoder) error) error {
	config = rest.CopyConfig(config)
	config.QPS, config.Timeout = -1, 0
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return fmt.Errorf("client of %s: %w", config.Host, err)
	}
	get := func(accept string, query map[string]string) (io.ReadCloser, error) {
		request := client.Get().AbsPath(path).SetHeader("Accept", accept)
		for key, value := range query {
			request.Param(key, value)
		}
		return request.Stream(ctx)
	}
	list, err := get("application/json", map[string]string{"limit": "1"})
	if err != nil {
		return fmt.Errorf("list %s: %w", path, err)
	}
	defer list.Close()
	var now struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if err := json.NewDecoder(list).Decode(&now); err != nil {
		return fmt.Errorf("list %s: %w", path, err)
	}
	events, err := get(accept, map[string]string{"watch": "true", "resourceVersion": now.Metadata.ResourceVersion, "timeoutSeconds": "36000"})
	if err != nil {
		return fmt.Errorf("watch %s: %w", path, err)
	}
	go func() {
		defer events.Close()
		in := json.NewDecoder(events)
		for next(in) == nil { // until ctx ends, or the server
		}
	}()
	return nil
}
