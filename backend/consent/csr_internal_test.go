package consent

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// pemRequest makes a certificate request for a subject.
func pemRequest(t *testing.T, template x509.CertificateRequest) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &template, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

func agentSubject(commonName string, organizations ...string) x509.CertificateRequest {
	return x509.CertificateRequest{Subject: pkix.Name{CommonName: commonName, Organization: organizations}}
}

// requestOf is what an agent of cluster c1 posts.
func requestOf(t *testing.T, template x509.CertificateRequest, change func(*certificatesv1.CertificateSigningRequest)) *certificatesv1.CertificateSigningRequest {
	csr := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "c1-x", Labels: map[string]string{ocmv1.ClusterNameLabel: "c1"}},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: pemRequest(t, template), SignerName: certificatesv1.KubeAPIServerClientSignerName,
			Usages:   []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment, certificatesv1.UsageClientAuth},
			Username: BootstrapUser, Groups: []string{"system:serviceaccounts", "system:authenticated"},
		},
	}
	if change != nil {
		change(csr)
	}
	return csr
}

const one, all = AgentPrefix + "c1", AgentPrefix + "managed-clusters"

// by signs a request in as an agent.
func by(user string, groups ...string) func(*certificatesv1.CertificateSigningRequest) {
	return func(csr *certificatesv1.CertificateSigningRequest) {
		csr.Spec.Username, csr.Spec.Groups = user, append(groups, "system:authenticated")
	}
}

// TestRead holds what agents ask for to contract section 2.4, and to the recording
// csr-spoof: which of six requests of an agent are its own renewal.
func TestRead(t *testing.T) {
	t.Parallel()
	good := agentSubject(one+":a1", one, all)
	named := good
	named.DNSNames = []string{"hub.example"}
	unit := agentSubject(one+":a1", one, all)
	unit.Subject.OrganizationalUnit = []string{"x"}
	for name, c := range map[string]struct {
		template x509.CertificateRequest
		change   func(*certificatesv1.CertificateSigningRequest)
		renewal  bool
		problem  string // a part of it
	}{
		"first certificate":             {template: good},
		"as an administrator":           {template: good, change: by("ann", "system:masters")},
		"renewal":                       {template: good, change: by(one+":a1", one, all), renewal: true},
		"renewal without the group all": {template: agentSubject(one+":a1", one), change: by(one+":a1", one, all), renewal: true},
		"renewal as another agent":      {template: agentSubject(one+":zzzzz", one, all), change: by(one+":a1", one, all), problem: "its own certificate only"},
		"renewal with a new group":      {template: good, change: by(one+":a1", one), problem: "its own certificate only"},
		"another cluster's agent": {template: agentSubject(AgentPrefix+"c2:a1", AgentPrefix+"c2", all), change: func(csr *certificatesv1.CertificateSigningRequest) {
			by(one+":a1", one, all)(csr)
			csr.Labels[ocmv1.ClusterNameLabel] = "c2"
		}, problem: "its own certificate only"},
		"of an unnamed agent": {template: good, change: by("somebody", all), problem: "its own certificate only"},
		"label of another": {template: good, change: func(csr *certificatesv1.CertificateSigningRequest) {
			csr.Labels[ocmv1.ClusterNameLabel] = "c1-evil"
		}, problem: "the label of c1-evil"},
		"three parts":         {template: agentSubject(one+":a:b", one), problem: "common name"},
		"no agent name":       {template: agentSubject(one+":", one), problem: "common name"},
		"a person's name":     {template: agentSubject("ann", one), problem: "common name"},
		"own group missing":   {template: agentSubject(one+":a1", all), problem: "is missing"},
		"one group more":      {template: agentSubject(one+":a1", one, all, "system:masters"), problem: "more than those"},
		"another's group too": {template: agentSubject(one+":a1", one, AgentPrefix+"c2"), problem: "more than those"},
		"alternative name":    {template: named, problem: "alternative names"},
		"organizational unit": {template: unit, problem: "more than common name"},
		"server certificate": {template: good, change: func(csr *certificatesv1.CertificateSigningRequest) {
			csr.Spec.Usages = append(csr.Spec.Usages, certificatesv1.UsageServerAuth)
		}, problem: "usages"},
		"not for a client": {template: good, change: func(csr *certificatesv1.CertificateSigningRequest) { csr.Spec.Usages = csr.Spec.Usages[:2] }, problem: "usages"},
		"other signer": {template: good, change: func(csr *certificatesv1.CertificateSigningRequest) {
			csr.Spec.SignerName = "example.com/signer"
		}, problem: "signer"},
		"the hub's namespace": {template: agentSubject(AgentPrefix+"kube-system:a1", AgentPrefix+"kube-system"), change: func(csr *certificatesv1.CertificateSigningRequest) {
			csr.Labels[ocmv1.ClusterNameLabel] = "kube-system"
		}, problem: "for the hub itself"},
		"no request": {template: good, change: func(csr *certificatesv1.CertificateSigningRequest) { csr.Spec.Request = []byte("x") }, problem: "PEM"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read, err := Read(requestOf(t, c.template, c.change))
			if err != nil {
				t.Fatal(err)
			}
			if read.Renewal != c.renewal {
				t.Errorf("renewal %v, want %v", read.Renewal, c.renewal)
			}
			if (read.Problem == "") != (c.problem == "") || !strings.Contains(read.Problem, c.problem) {
				t.Errorf("problem %q, want %q", read.Problem, c.problem)
			}
			if c.problem == "" && (read.Cluster != "c1" || read.Agent != "a1" || !strings.HasPrefix(read.Fingerprint, "SHA256:")) {
				t.Errorf("read %+v", read)
			}
		})
	}
	for name, change := range map[string]func(*certificatesv1.CertificateSigningRequest){
		"no label":  func(csr *certificatesv1.CertificateSigningRequest) { csr.Labels = nil },
		"an add-on": func(csr *certificatesv1.CertificateSigningRequest) { csr.Labels[ocmv1.AddonNameLabel] = "x" },
	} {
		if _, err := Read(requestOf(t, good, change)); err == nil {
			t.Errorf("%s: taken for an agent's", name)
		}
	}
}

func TestParseAgent(t *testing.T) {
	t.Parallel()
	for user, want := range map[string]Agent{
		AgentPrefix + "c1:a1":                       {"c1", "a1"},
		AgentPrefix + "c1:":                         {},
		AgentPrefix + ":a1":                         {},
		AgentPrefix + "c1":                          {},
		AgentPrefix + "cluster:c1:addon:x:agent:a1": {},
		"system:karmada:agent:c1":                   {},
		"":                                          {},
	} {
		got, ok := ParseAgent(user)
		if got != want || ok != (want != Agent{}) {
			t.Errorf("%q: %+v %v, want %+v", user, got, ok, want)
		}
		if ok && got.User() != user {
			t.Errorf("%q is written as %q", user, got.User())
		}
	}
}

// kept makes requests of one cluster: minutes is how old each is.
func kept(t *testing.T, states map[string]requestState, minutes map[string]int) []certificatesv1.CertificateSigningRequest {
	var requests []certificatesv1.CertificateSigningRequest
	for name, state := range states {
		csr := certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{ocmv1.ClusterNameLabel: "c1"}, CreationTimestamp: metav1.NewTime(noon.Add(-time.Duration(minutes[name]) * time.Minute)),
		}}
		condition := map[requestState]certificatesv1.RequestConditionType{
			stateApproved: certificatesv1.CertificateApproved, stateIssued: certificatesv1.CertificateApproved,
			stateDenied: certificatesv1.CertificateDenied, stateFailed: certificatesv1.CertificateFailed,
		}[state]
		if condition != "" {
			csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: condition, LastUpdateTime: csr.CreationTimestamp}}
		}
		if state == stateIssued {
			csr.Status.Certificate = []byte("x")
		}
		if got := stateOf(&csr); got != state {
			t.Fatalf("%s is in state %v, want %v", name, got, state)
		}
		requests = append(requests, csr)
	}
	return requests
}

func TestSurplus(t *testing.T) {
	t.Parallel()
	type states = map[string]requestState
	type minutes = map[string]int
	for name, c := range map[string]struct {
		states   states
		minutes  minutes
		since    time.Time
		accepted time.Time
		gone     []string
		next     time.Duration
	}{
		"few":              {states: states{"a": statePending, "b": stateIssued}, minutes: minutes{"a": 1, "b": 2}},
		"pending":          {states: states{"a": statePending, "b": statePending, "c": statePending, "d": statePending, "e": statePending}, minutes: minutes{"a": 5, "b": 4, "c": 3, "d": 2, "e": 1}, gone: []string{"b", "a"}},
		"issued":           {states: states{"a": stateIssued, "b": stateIssued, "c": stateIssued}, minutes: minutes{"a": 5, "b": 400, "c": 3}, gone: []string{"b"}},
		"failed, unsigned": {states: states{"a": stateFailed, "b": stateApproved, "c": stateFailed}, minutes: minutes{"a": 1, "b": 2, "c": 3}, gone: []string{"c"}},
		"denied":           {states: states{"a": stateDenied}, minutes: minutes{"a": 4}, next: 6 * time.Minute},
		"denied long ago":  {states: states{"a": stateDenied}, minutes: minutes{"a": 10}, gone: []string{"a"}},
		"denied twice":     {states: states{"a": stateDenied, "b": stateDenied}, minutes: minutes{"a": 4, "b": 3}, gone: []string{"a"}, next: 7 * time.Minute},
		"denied, accepted": {states: states{"a": stateDenied}, minutes: minutes{"a": 4}, accepted: noon.Add(-time.Minute), gone: []string{"a"}},
		"both at once":     {states: states{"a": stateDenied}, minutes: minutes{"a": 4}, accepted: noon.Add(-4 * time.Minute), gone: []string{"a"}},
		"joined again":     {states: states{"a": stateIssued, "b": statePending, "c": stateIssued, "d": stateApproved}, minutes: minutes{"a": 5, "b": 4, "c": 2, "d": 4}, since: noon.Add(-3 * time.Minute), gone: []string{"a"}},
		"in its second":    {states: states{"a": stateIssued}, minutes: minutes{"a": 5}, since: noon.Add(-5 * time.Minute)},
		"accepted, denied": {states: states{"a": stateDenied}, minutes: minutes{"a": 4}, accepted: noon.Add(-time.Hour), next: 6 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gone, next := surplus(kept(t, c.states, c.minutes), standing{c.since, c.accepted}, noon)
			if diff := cmp.Diff(c.gone, gone); diff != "" || next != c.next {
				t.Errorf("next %v, want %v; gone (-want +got):\n%s", next, c.next, diff)
			}
		})
	}
}

// TestDeniedAt: a denial counts from when it was made, whatever time its author wrote.
func TestDeniedAt(t *testing.T) {
	t.Parallel()
	ago := func(minutes int) metav1.Time { return metav1.NewTime(noon.Add(-time.Duration(minutes) * time.Minute)) }
	for name, c := range map[string]struct {
		updated, transitioned metav1.Time
		left                  time.Duration // 0: it is gone
	}{
		"nothing told":                    {left: 2 * time.Minute},
		"as kubectl does":                 {ago(4), ago(4), 6 * time.Minute},
		"by a clock that is an hour slow": {ago(64), ago(4), 6 * time.Minute},
		"by a clock that is an hour fast": {ago(-56), ago(4), 6 * time.Minute},
		"two old times":                   {ago(64), ago(90), 2 * time.Minute},
		"two times to come":               {ago(-56), ago(-60), 2 * time.Minute},
		"a transition without an update":  {metav1.Time{}, ago(5), 5 * time.Minute},
		"long ago":                        {ago(4), ago(4), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requests := kept(t, map[string]requestState{"a": stateDenied}, map[string]int{"a": 8})
			denial, now := &requests[0].Status.Conditions[0], noon
			denial.LastUpdateTime, denial.LastTransitionTime = c.updated, c.transitioned
			if c.left == 0 {
				now = noon.Add(6 * time.Minute)
			}
			gone, next := surplus(requests, standing{}, now)
			if (len(gone) == 0) != (c.left > 0) || next != c.left {
				t.Errorf("gone %v, next %v; want it to stay for %v", gone, next, c.left)
			}
		})
	}
}

// TestSurplusLeavesFew holds the number of requests below that at which an agent
// asks no more, whatever there is, and keeps the newest one.
func TestSurplusLeavesFew(t *testing.T) {
	t.Parallel()
	states, minutes := map[string]requestState{}, map[string]int{}
	for i := range 40 {
		name := fmt.Sprintf("r%02d", i)
		states[name], minutes[name] = requestState(i%5), i/8
	}
	states["newest"] = statePending
	requests := kept(t, states, minutes)
	gone, _ := surplus(requests, standing{}, noon)
	if left := len(requests) - len(gone); left >= 10 {
		t.Errorf("%d requests are left", left)
	}
	for _, name := range gone {
		if name == "newest" {
			t.Error("the newest request is gone")
		}
	}
}

// TestSurplusOfOneProcess keeps one pending request of an agent that asked again.
func TestSurplusOfOneProcess(t *testing.T) {
	t.Parallel()
	var requests []certificatesv1.CertificateSigningRequest
	for i, agent := range []string{"a1", "a1", "a2"} {
		csr := requestOf(t, agentSubject(one+":"+agent, one, all), nil)
		csr.Name = fmt.Sprint("r", i)
		csr.CreationTimestamp = metav1.NewTime(noon.Add(time.Duration(i) * time.Minute))
		requests = append(requests, *csr)
	}
	if gone, _ := surplus(requests, standing{}, noon); !cmp.Equal(gone, []string{"r0"}) {
		t.Errorf("gone %v", gone)
	}
}
