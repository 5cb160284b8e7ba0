package main

import (
	"context"
	"net/url"
	"strings"
	"time"

	"k8s.io/client-go/tools/metrics"

	"muster.dev/muster/e2e/load"
)

// countRequests counts what all clients of the program ask hubs for.
func countRequests(counters *load.Counters) {
	metrics.Register(metrics.RegisterOpts{RequestResult: results{counters}, RequestLatency: latencies{counters}})
}

func toMember(host string) bool { return strings.HasSuffix(memberHost, "//"+host) }

// results counts every request, watches included.
type results struct{ *load.Counters }

// Increment implements metrics.ResultMetric.
func (r results) Increment(_ context.Context, code, _, host string) {
	if toMember(host) {
		return
	}
	r.Add("hub requests")
	if !strings.HasPrefix(code, "2") {
		r.Add("hub requests answered " + code)
	}
}

// latencies counts requests by what they are for, watches excluded.
type latencies struct{ *load.Counters }

// Observe implements metrics.LatencyMetric.
func (l latencies) Observe(_ context.Context, verb string, u url.URL, _ time.Duration) {
	if !toMember(u.Host) {
		l.Add(verb + " " + u.Path)
	}
}
