package loadtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

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
			Annotations     map[string]string `json:"annotations"`
		} `json:"metadata"`
		Status struct {
			Conditions []struct {
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

func watch(ctx context.Context, config *rest.Config, path, accept string, see func(*Event)) error {
	config = rest.CopyConfig(config)
	config.Timeout = 0
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("client of %s: %w", config.Host, err)
	}
	get := func(query url.Values, accept string) (*http.Response, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(config.Host, "/")+path+"?"+query.Encode(), nil)
		if err != nil {
			return nil, err
		}
		request.Header.Set("Accept", accept)
		response, err := client.Do(request)
		if err == nil && response.StatusCode != http.StatusOK {
			_ = response.Body.Close()
			err = fmt.Errorf("watch %s: %s", path, response.Status)
		}
		return response, err
	}
	from, err := listVersion(get)
	if err != nil {
		return fmt.Errorf("list %s: %w", path, err)
	}
	response, err := get(url.Values{"watch": {"true"}, "resourceVersion": {from}, "timeoutSeconds": {"36000"}}, accept)
	if err != nil {
		return err
	}
	go func() {
		defer response.Body.Close()
		for in := json.NewDecoder(response.Body); ; {
			e := &Event{}
			if err := in.Decode(e); err != nil {
				return // ctx ended, or the server
			}
			see(e)
		}
	}()
	return nil
}

// listVersion is the present revision of a server's store.
func listVersion(get func(url.Values, string) (*http.Response, error)) (string, error) {
	response, err := get(url.Values{"limit": {"1"}}, "application/json")
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var list struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	err = json.NewDecoder(response.Body).Decode(&list)
	return list.Metadata.ResourceVersion, err
}
