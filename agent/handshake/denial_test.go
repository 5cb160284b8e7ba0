package handshake_test

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/transport"

	"muster.dev/muster/agent/handshake"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

// door is a hub that counts who watches what. Like an API server that is not the
// hub's own it lets a stream live, whatever becomes of the right to it.
type door struct {
	*httptest.Server
	mu   sync.Mutex
	open map[string]int // by resource
}

// newDoor opens a door to the plane, and has the fixture's agent go in there.
func newDoor(f *fixture) *door {
	f.Helper()
	admin, err := rest.TransportFor(plane.Config())
	f.must(err)
	there, err := url.Parse(plane.Server)
	f.must(err)
	proxy := &httputil.ReverseProxy{Transport: admin, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0), Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(there)
		for _, certificate := range r.In.TLS.PeerCertificates[:1] {
			r.Out.Header.Set(transport.ImpersonateUserHeader, certificate.Subject.CommonName)
			for _, group := range append([]string{"system:authenticated"}, certificate.Subject.Organization...) {
				r.Out.Header.Add(transport.ImpersonateGroupHeader, group)
			}
		}
	}}
	d := &door{open: map[string]int{}}
	d.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") != "" {
			resource := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
			d.count(resource, 1)
			defer d.count(resource, -1)
		}
		proxy.ServeHTTP(w, r)
	}))
	d.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	d.EnableHTTP2 = true
	d.StartTLS()
	f.Cleanup(func() {
		d.CloseClientConnections()
		d.Close()
	})
	own := f.ownBootstrap()
	config, err := clientcmd.LoadFromFile(own)
	f.must(err)
	entry := config.Clusters[config.Contexts[config.CurrentContext].Cluster]
	entry.Server, entry.CertificateAuthorityData = d.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: d.Certificate().Raw})
	f.replace(own, config)
	return d
}

func (d *door) count(resource string, more int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open[resource] += more
}

// watched is how many streams there are of a resource.
func (d *door) watched(resource string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open[resource]
}

const addonStreams, clusterStreams = "managedclusteraddons", "managedclusters"

// beside serves works, and counts how often that began and ended.
func (f *fixture) beside() (begun, ended *atomic.Int32) {
	begun, ended = new(atomic.Int32), new(atomic.Int32)
	f.options.Beside = func(ctx context.Context, hub handshake.Hub) error {
		select {
		case <-hub.Accepted:
		case <-ctx.Done():
			return nil
		}
		begun.Add(1)
		<-ctx.Done()
		ended.Add(1)
		return nil
	}
	return begun, ended
}

// hold does what a hub does that takes its acceptance back while works are left.
func (f *fixture) hold() {
	f.Helper()
	f.patch(`{"spec": {"hubAcceptsClient": false}}`, "")
	f.setCondition(metav1.Condition{Type: ocmv1.ConditionHubDenied, Status: metav1.ConditionFalse, Reason: ocmv1.ReasonWorksRemaining})
}

// While works hold a denial up, the agent keeps what it needs to finish them, and drops
// every other stream. All comes back with the acceptance, and goes with the last work.
func TestDenialHeldByWorks(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	hub := newDoor(f)
	begun, ended := f.beside()
	f.join()
	f.eventually("works are served, add-ons cared for", func() bool { return begun.Load() == 1 && hub.watched(addonStreams) == 1 })
	for range 2 {
		f.hold()
		held := time.Now()
		f.eventually("add-ons are not watched any more", func() bool { return hub.watched(addonStreams) == 0 })
		t.Logf("streams dropped %.2f s after the decision", time.Since(held).Seconds())
		if ended.Load() > 0 || hub.watched(clusterStreams) == 0 {
			t.Fatal("works are given up that the hub still waits for, or nobody looks for what it decides")
		}
		f.patch(`{"spec": {"hubAcceptsClient": true}}`, "")
		f.eventually("add-ons are watched again", func() bool { return hub.watched(addonStreams) == 1 })
		f.awaitHeard()
	}
	f.hold()
	f.setCondition(metav1.Condition{Type: ocmv1.ConditionHubAccepted, Status: metav1.ConditionFalse, Reason: ocmv1.ReasonDenied})
	f.eventually("works are given up with the last of them", func() bool { return ended.Load() == 1 && hub.watched(addonStreams) == 0 })
}

// With several hubs, one that takes its acceptance back has no stream left, whether
// works hold its denial up or not: it is the next one's turn.
func TestDenialWithSeveralHubs(t *testing.T) {
	t.Parallel()
	for name, deny := range map[string]func(*fixture){
		"held by works": (*fixture).hold,
		"complete": func(f *fixture) {
			f.patch(`{"spec": {"hubAcceptsClient": false}}`, "")
			f.setCondition(metav1.Condition{Type: ocmv1.ConditionHubAccepted, Status: metav1.ConditionFalse, Reason: ocmv1.ReasonDenied})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			hub := newDoor(f)
			second, err := plane.KubeconfigFor("second-of-"+f.cluster, "bootstrappers")
			f.must(err)
			config, err := clientcmd.LoadFromFile(second)
			f.must(err)
			rename(config, "second")
			other := filepath.Join(t.TempDir(), "second")
			f.must(clientcmd.WriteToFile(*config, other))
			f.options.Bootstraps = append(f.options.Bootstraps, handshake.File(other))
			begun, ended := f.beside()
			f.join()
			f.eventually("works are served, add-ons cared for", func() bool { return begun.Load() == 1 && hub.watched(addonStreams) == 1 })
			deny(f)
			denied := time.Now()
			f.eventually("no stream is left", func() bool {
				return ended.Load() == 1 && hub.watched(addonStreams) == 0 && hub.watched(clusterStreams) == 0
			})
			t.Logf("streams dropped %.2f s after the decision", time.Since(denied).Seconds())
			f.eventually("a request at the next hub", func() bool {
				return slices.ContainsFunc(f.requests(), func(r certificatesv1.CertificateSigningRequest) bool {
					return r.Spec.Username == "second-of-"+f.cluster
				})
			})
		})
	}
}

// An agent of works alone learns of a denial, and of its end.
func TestDenialToldToOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.join()
	identity, err := f.store.Load(t.Context())
	f.must(err)
	denial, err := handshake.NewDenial(identity.Config(), f.cluster)
	f.must(err)
	ctx, stop := context.WithTimeout(t.Context(), limit)
	defer stop()
	go denial.Run(ctx)
	denial.Await(ctx, false)
	f.hold()
	f.setCondition(metav1.Condition{Type: ocmv1.ConditionHubAccepted, Status: metav1.ConditionFalse, Reason: ocmv1.ReasonDenied})
	denial.Await(ctx, true)
	f.patch(`{"spec": {"hubAcceptsClient": true}}`, "")
	denial.Await(ctx, false)
	if ctx.Err() != nil {
		t.Error("the denial, or its end, is not told")
	}
}
