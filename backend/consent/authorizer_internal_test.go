package consent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

// requestsHub is a hub with certificate requests, by name and cluster.
type requestsHub struct {
	client.Reader
	clusters map[string]string
}

func (h requestsHub) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	cluster, ok := h.clusters[key.Name]
	if !ok {
		return apierrors.NewNotFound(requestResource, key.Name)
	}
	object.SetLabels(map[string]string{ocmv1.ClusterNameLabel: cluster})
	return nil
}

// TestAuthorizer is the part of the identity matrix that roles leave open.
func TestAuthorizer(t *testing.T) {
	t.Parallel()
	agent := &user.DefaultInfo{Name: AgentPrefix + "c1:a1", Groups: []string{Group("c1"), allAgentsGroup}}
	type attributes = authorizer.AttributesRecord
	requests := func(verb, name, selector string) attributes {
		made := attributes{Verb: verb, APIGroup: certificatesv1.GroupName, Resource: "certificatesigningrequests", Name: name}
		if selector != "" {
			parsed, err := labels.Parse(selector)
			if err != nil {
				t.Fatal(err)
			}
			made.LabelSelectorRequirements, _ = parsed.Requirements()
		}
		return made
	}
	configMap := func(namespace string) attributes {
		return attributes{Verb: "get", Resource: "configmaps", Namespace: namespace, Name: "x"}
	}
	const own, foreign = ocmv1.ClusterNameLabel + "=c1", ocmv1.ClusterNameLabel + "=c2"
	for name, c := range map[string]struct {
		who    user.Info
		what   attributes
		review bool
		denied bool
	}{
		"creates":                      {who: agent, what: requests("create", "", "")},
		"lists its own":                {who: agent, what: requests("list", "", own)},
		"lists with blanks":            {who: agent, what: requests("list", "", ocmv1.ClusterNameLabel+" = c1")},
		"watches its own":              {who: agent, what: requests("watch", "", own)},
		"lists its add-on's":           {who: agent, what: requests("list", "", own+","+ocmv1.AddonNameLabel+"=x")},
		"lists by a set of one":        {who: agent, what: requests("list", "", ocmv1.ClusterNameLabel+" in (c1)")},
		"lists all":                    {who: agent, what: requests("list", "", ""), denied: true},
		"watches all":                  {who: agent, what: requests("watch", "", ""), denied: true},
		"lists another's":              {who: agent, what: requests("list", "", foreign), denied: true},
		"lists several":                {who: agent, what: requests("list", "", ocmv1.ClusterNameLabel+" in (c1,c2)"), denied: true},
		"lists all but its own":        {who: agent, what: requests("list", "", ocmv1.ClusterNameLabel+"!=c1"), denied: true},
		"lists all that have a label":  {who: agent, what: requests("list", "", ocmv1.ClusterNameLabel), denied: true},
		"gets its own":                 {who: agent, what: requests("get", "c1-x", "")},
		"gets another's":               {who: agent, what: requests("get", "c2-x", ""), denied: true},
		"gets one named like its own":  {who: agent, what: requests("get", "c1-b-x", ""), denied: true},
		"watches another's by name":    {who: agent, what: requests("watch", "c2-x", ""), denied: true},
		"gets what is not there":       {who: agent, what: requests("get", "c9-x", "")},
		"asks whether it may list":     {who: agent, what: requests("list", "", ""), review: true},
		"an agent known by its group":  {who: &user.DefaultInfo{Name: "x", Groups: []string{allAgentsGroup}}, what: requests("list", "", own), denied: true},
		"an agent of two clusters":     {who: &user.DefaultInfo{Name: AgentPrefix + "c1:a1", Groups: []string{Group("c2")}}, what: attributes{Verb: "get", Resource: "leases", Namespace: "c2"}, denied: true},
		"an add-on's agent":            {who: &user.DefaultInfo{Name: AgentPrefix + "cluster:c1:addon:x:agent:a", Groups: []string{AgentPrefix + "cluster:c1:addon:x"}}, what: requests("list", "", "")},
		"anything else is for RBAC":    {who: agent, what: attributes{Verb: "get", Resource: "secrets", Namespace: "c2"}},
		"somebody else":                {who: &user.DefaultInfo{Name: "ann"}, what: requests("list", "", "")},
		"who introduces lists":         {who: &user.DefaultInfo{Name: BootstrapUser}, what: requests("list", "", "")},
		"who introduces, cluster-info": {who: &user.DefaultInfo{Name: BootstrapUser}, what: configMap(metav1.NamespacePublic)},
		"who introduces, others":       {who: &user.DefaultInfo{Name: BootstrapUser}, what: configMap("karmada-system"), denied: true},
		"a token, others":              {who: &user.DefaultInfo{Name: "system:bootstrap:abcdef", Groups: []string{BootstrapGroup}}, what: configMap("karmada-system"), denied: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			z := NewAuthorizer()
			z.UseClient(requestsHub{clusters: map[string]string{"c1-x": "c1", "c2-x": "c2", "c1-b-x": "c1-b"}})
			c.what.User, c.what.ResourceRequest = c.who, true
			info := &request.RequestInfo{IsResourceRequest: true, APIGroup: c.what.APIGroup, Resource: c.what.Resource}
			if c.review {
				info.APIGroup, info.Resource = authorizationv1.GroupName, "selfsubjectaccessreviews"
			}
			decision, _, err := z.Authorize(request.WithRequestInfo(t.Context(), info), c.what)
			if err != nil {
				t.Fatal(err)
			}
			if want := map[bool]authorizer.Decision{true: authorizer.DecisionDeny, false: authorizer.DecisionNoOpinion}[c.denied]; decision != want {
				t.Errorf("decision %v, want %v", decision, want)
			}
		})
	}
}

// rightsHub answers reviews of what a user may watch.
type rightsHub struct {
	client.Client
	allowed []string
}

func (h rightsHub) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	review, ok := object.(*authorizationv1.SubjectAccessReview)
	if !ok {
		return fmt.Errorf("create %T", object)
	}
	a := review.Spec.ResourceAttributes
	review.Status.Allowed = slices.Contains(h.allowed, fmt.Sprintf("%s %s %s/%s", review.Spec.User, a.Resource, a.Namespace, a.Name))
	return nil
}

// TestWatches cuts the watches that an agent has no right to any more, and leaves
// those that it has, and those of others.
func TestWatches(t *testing.T) {
	t.Parallel()
	const agent, other = AgentPrefix + "c1:a1", AgentPrefix + "c2:a1"
	w := NewWatches()
	w.UseClient(rightsHub{allowed: []string{agent + " managedclusters /c1"}})
	began, ended := make(chan struct{}), make(chan string, 8)
	handler := w.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		began <- struct{}{}
		<-r.Context().Done()
		ended <- r.TLS.PeerCertificates[0].Subject.CommonName + " " + r.URL.Path
	}))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	open := func(user, uri string) {
		r := httptest.NewRequest(http.MethodGet, uri, nil).WithContext(ctx)
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{Subject: pkix.Name{CommonName: user, Organization: []string{"x"}}}}}
		go handler.ServeHTTP(httptest.NewRecorder(), r)
		<-began
	}
	const clusters, works = "/apis/cluster.open-cluster-management.io/v1/managedclusters", "/apis/work.open-cluster-management.io/v1/namespaces/c1/manifestworks"
	open(agent, clusters+"?watch=true&fieldSelector=metadata.name%3Dc1")
	open(agent, works+"?watch=1")
	open(agent, works) // a request that is no watch
	open(other, works+"?watch=true")
	open("ann", works+"?watch=true")
	if n := len(w.of("c1")); n != 2 {
		t.Fatalf("%d watches are kept", n)
	}
	go func() { _ = w.Start(ctx) }()
	w.Recheck("c1")
	w.Recheck("c9")
	if cut := <-ended; cut != agent+" "+works {
		t.Errorf("%s was cut", cut)
	}
	select {
	case cut := <-ended:
		t.Errorf("%s was cut too", cut)
	case <-time.After(2 * recheckAfter[1]): // nothing to wait for: it must not happen
	}
	stop()
	for range 4 {
		<-ended
	}
}

// lateHub takes a right away at a look of its own: a role takes effect when the
// authorizer has heard of it.
type lateHub struct {
	client.Client
	looks *atomic.Int64
	after int64 // how many looks still find the right
	asked chan struct{}
}

func (h lateHub) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	object.(*authorizationv1.SubjectAccessReview).Status.Allowed = h.looks.Add(1) <= h.after
	h.asked <- struct{}{}
	return nil
}

// TestWatchesAreCutInTime: a denied agent's watch is judged again at once and
// until its rights have surely gone, each time within the five seconds that are
// promised, and it is cut by whichever look finds them gone.
func TestWatchesAreCutInTime(t *testing.T) {
	t.Parallel()
	const promised = 5 * time.Second
	if last := recheckAfter[len(recheckAfter)-1]; last >= promised {
		t.Fatalf("the last look is %s after the denial, want it within %s", last, promised)
	}
	for gone := range recheckAfter { // how many looks come too early
		t.Run(recheckAfter[gone].String(), func(t *testing.T) {
			t.Parallel()
			now := clocktesting.NewFakeClock(time.Now())
			w := newWatches(now)
			hub := lateHub{looks: &atomic.Int64{}, after: int64(gone), asked: make(chan struct{}, len(recheckAfter))}
			w.UseClient(hub)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			cut, cancel := context.WithCancel(ctx)
			defer w.keep("c1", &stream{user: AgentPrefix + "c1:a1", cut: cancel})()
			ended := make(chan struct{})
			go func() { defer close(ended); _ = w.Start(ctx) }()
			w.Recheck("c1")
			var passed time.Duration
			for i, after := range recheckAfter[:gone+1] {
				if err := cut.Err(); err != nil {
					t.Fatalf("cut %s after the denial, with its right still there", passed)
				}
				stepWhenWaiting(t, now, after-passed)
				passed = after
				await(t, hub.asked, fmt.Sprintf("look %d, %s after the denial", i+1, after))
			}
			await(t, cut.Done(), "the watch to be cut "+passed.String()+" after the denial")
			stop()
			await(t, ended, "the judge to end")
		})
	}
}

// stepWhenWaiting lets time pass as soon as somebody waits for it.
func stepWhenWaiting(t *testing.T, now *clocktesting.FakeClock, by time.Duration) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return now.Waiters() > 1, nil // the queue's heartbeat, and its next entry
	})
	if err != nil {
		t.Fatalf("nobody waits for the next look: %v", err)
	}
	now.Step(by)
}

func await(t *testing.T, what <-chan struct{}, named string) {
	t.Helper()
	select {
	case <-what:
	case <-time.After(time.Minute):
		t.Fatalf("waited in vain for %s", named)
	}
}

// TestOriginOf keeps where a request came from short and without a port.
func TestOriginOf(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodPost, requestsPath, nil)
	r.RemoteAddr = "[fd00::9]:4711"
	r.Header.Set("User-Agent", strings.Repeat("x", 500))
	var got origin
	NewWatches().Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = originFrom(r.Context()) })).ServeHTTP(httptest.NewRecorder(), r)
	if got.address != "fd00::9" || len(got.program) != longestProgram {
		t.Errorf("origin %+v", got)
	}
}
