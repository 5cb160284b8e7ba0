package loadtest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Requests are how often a server was asked for what, by VERB RESOURCE. A watch
// counts when it ends.
type Requests map[string]float64

// CountRequests reads them from the server's metrics: all since its start, its own
// controllers' included.
func CountRequests(ctx context.Context, config *rest.Config) (Requests, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client of %s: %w", config.Host, err)
	}
	text, err := client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	counts := Requests{}
	for line := range bytes.Lines(text) {
		rest, ok := bytes.CutPrefix(line, []byte("apiserver_request_total{"))
		if !ok {
			continue
		}
		labels, value, _ := strings.Cut(string(rest), "} ")
		n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil {
			return nil, fmt.Errorf("read metrics: %w", err)
		}
		name := label(labels, "verb") + " " + label(labels, "resource")
		if sub := label(labels, "subresource"); sub != "" {
			name += "/" + sub
		}
		if code := label(labels, "code"); !strings.HasPrefix(code, "2") {
			name += " " + code
		}
		counts[name] += n
	}
	return counts, nil
}

func label(labels, name string) string {
	_, rest, _ := strings.Cut(labels, name+`="`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

// Since returns what was asked for after an earlier count.
func (r Requests) Since(before Requests) Requests {
	since := Requests{}
	for name, n := range r {
		if d := n - before[name]; d > 0 {
			since[name] = d
		}
	}
	return since
}

// Sum is how many there were.
func (r Requests) Sum() (sum float64) {
	for _, n := range r {
		sum += n
	}
	return sum
}

// Per says how many there were for each of so many things, in one line, the most
// first.
func (r Requests) Per(count int) string {
	names := slices.SortedFunc(maps.Keys(r), func(a, b string) int {
		if r[a] != r[b] {
			return int(r[b] - r[a])
		}
		return strings.Compare(a, b)
	})
	parts := make([]string, 0, len(names))
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%.2f %s", r[name]/float64(count), name))
	}
	return strings.Join(parts, ", ")
}
