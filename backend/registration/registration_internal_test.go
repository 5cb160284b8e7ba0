package registration

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var began = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// shown is a registration in one line: its state, and its stages with d, r, p
// and f for done, running, pending and failed.
func shown(r *Registration) string {
	parts := []string{string(r.State)}
	for _, stage := range r.Stages {
		text := stage.Name + ":" + string(stage.State[0])
		if stage.Code != "" {
			text += "(" + stage.Code + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

func TestRegistrationStages(t *testing.T) {
	type step func(r *Registration, now time.Time)
	pass := func(stage string) step {
		return func(r *Registration, now time.Time) { r.Advance(stage, StageEvent{Source: "203.0.113.9"}, now) }
	}
	fail := func(stage, code string) step {
		return func(r *Registration, now time.Time) { r.Fail(stage, Failure{Code: code}, now) }
	}
	tests := []struct {
		name    string
		flavour Flavour
		steps   []step
		want    string
	}{
		{"new pull", FlavourPull, nil, "waiting command:r contact:p token:p approved:p identity:p link:p inventory:p ready:p"},
		{"command shown", FlavourPull, []step{pass("command")}, "waiting command:d contact:r token:p approved:p identity:p link:p inventory:p ready:p"},
		{"contact", FlavourPull, []step{pass("command"), pass("contact")}, "running command:d contact:d token:r approved:p identity:p link:p inventory:p ready:p"},
		{"later stage implies earlier", FlavourPull, []step{pass("identity")}, "running command:d contact:d token:d approved:d identity:d link:r inventory:p ready:p"},
		{"all", FlavourPull, []step{pass("ready")}, "ready command:d contact:d token:d approved:d identity:d link:d inventory:d ready:d"},
		{"failure", FlavourPull, []step{pass("contact"), fail("token", "MU-103")}, "failed command:d contact:d token:f(MU-103) approved:p identity:p link:p inventory:p ready:p"},
		{"token without contact", FlavourPull, []step{pass("command"), pass("token")}, "running command:d token:d approved:r identity:p cluster:p inventory:p ready:p"},
		{"contact dropped", FlavourPull, []step{pass("command"), pass("token"), pass("link")}, "running command:d contact:d token:d approved:d identity:d link:d inventory:r ready:p"},
		{"failure is cleared", FlavourPull, []step{pass("contact"), fail("token", "MU-102"), pass("token")}, "running command:d contact:d token:d approved:r identity:p link:p inventory:p ready:p"},
		{"what was asked with the token stays refused", FlavourPull, []step{pass("contact"), fail("token", "MU-104"), pass("token")}, "failed command:d contact:d token:f(MU-104) approved:p identity:p link:p inventory:p ready:p"},
		{"until it is approved", FlavourPull, []step{pass("contact"), fail("token", "MU-104"), pass("approved")}, "running command:d contact:d token:d approved:d identity:r link:p inventory:p ready:p"},
		{"retry from the start", FlavourPull, []step{pass("identity"), fail("link", "MU-113"), pass("contact")}, "running command:d contact:d token:d approved:d identity:d link:r inventory:p ready:p"},
		{"stranger's failure at a passed stage", FlavourPull, []step{pass("identity"), fail("token", "MU-102")}, "running command:d contact:d token:d approved:d identity:d link:r inventory:p ready:p"},
		{"nothing after ready", FlavourPull, []step{pass("ready"), fail("link", "MU-113"), pass("contact")}, "ready command:d contact:d token:d approved:d identity:d link:d inventory:d ready:d"},
		{"unmodified agent", FlavourPull, []step{pass("command"), pass("token"), pass("cluster")}, "running command:d token:d approved:d identity:d cluster:d inventory:r ready:p"},
		{"our agent after all", FlavourKarmadaAgent, []step{pass("link")}, "running command:d contact:d token:d approved:d identity:d link:d inventory:r ready:p"},
		{"unknown stage", FlavourPush, []step{pass("contact")}, "waiting preflight:r credentials:p cluster:p inventory:p ready:p"},
		{"push", FlavourPush, []step{pass("preflight"), pass("credentials")}, "running preflight:d credentials:d cluster:r inventory:p ready:p"},
		{"push fails", FlavourPush, []step{fail("preflight", "MU-205")}, "failed preflight:f(MU-205) credentials:p cluster:p inventory:p ready:p"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := New("r1", test.flavour, began)
			for i, step := range test.steps {
				step(r, began.Add(time.Duration(i)*time.Second))
			}
			if diff := cmp.Diff(test.want, shown(r)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRegistrationKeepsFirstTimes(t *testing.T) {
	r := New("r1", FlavourPull, began)
	if !r.Advance(StageContact, StageEvent{Source: "a"}, began) || r.Advance(StageContact, StageEvent{Source: "b"}, began.Add(time.Hour)) {
		t.Error("a repeated stage is not told from a new one")
	}
	if stage := r.Stages[1]; stage.Source != "a" || !stage.At.Equal(began) {
		t.Errorf("the stage was rewritten: %+v", stage)
	}
}

func TestRegistrationFailureHasCauseAndFix(t *testing.T) {
	for code := range advices {
		r := New("r1", FlavourPull, began)
		r.Fail(StageToken, Failure{Code: code}, began)
		if stage := r.Stages[2]; stage.Cause == "" || stage.Fix == "" {
			t.Errorf("%s has no cause or no fix: %+v", code, stage)
		}
		if r.Fail(StageToken, Failure{Code: code}, began.Add(time.Second)) {
			t.Errorf("%s: the same failure again counts as a change", code)
		}
	}
}

func TestRegistrationExpires(t *testing.T) {
	ends := began.Add(time.Hour)
	tests := []struct {
		name   string
		passed string
		at     time.Time
		want   bool
	}{
		{"before the end", StageContact, ends.Add(-time.Second), false},
		{"at the end", StageContact, ends, true},
		{"after approval without identity", StageApproved, ends, true},
		{"with an identity", StageIdentity, ends, false},
	}
	for _, test := range tests {
		r := New("r1", FlavourPull, began)
		r.ExpiresAt = &ends
		r.Advance(test.passed, StageEvent{}, began)
		if got := r.expire(test.at); got != test.want || got != (r.State == StateExpired) {
			t.Errorf("%s: expired: %v, state %s", test.name, got, r.State)
		}
	}
}

func TestRegistrationTextsAreHarmless(t *testing.T) {
	r := New("r1", FlavourPull, began)
	r.Advance(StageContact, StageEvent{Source: "\x1b]0;evil\x07a\nb", Detail: "\x1b[31mred\u202e"}, began)
	if stage := r.Stages[1]; stage.Source != "a b" || stage.Detail != "red" {
		t.Errorf("got %q and %q", stage.Source, stage.Detail)
	}
	for range 3 * maxLog {
		r.note("line", began)
	}
	if len(r.Log) > 2*maxLog || len(r.detail().Log) != maxLog {
		t.Errorf("the log has %d lines, %d are shown", len(r.Log), len(r.detail().Log))
	}
}

func TestDecode(t *testing.T) {
	tests := map[string]string{
		"error: MU-103 the token has expired":                                                                    CodeTokenExpired,
		"\x1b[31mError\x1b[0m: dial tcp: lookup hub.example: no such host":                                       CodeHubUnreachable,
		"curl: (7) Failed to connect to 10.0.0.1 port 6443: Connection refused":                                  CodeHubUnreachable,
		"curl: (60) SSL certificate problem: self-signed certificate in certificate chain":                       CodeTLS,
		"curl: (22) The requested URL returned error: 401":                                                       CodeTokenSecret,
		"x509: certificate has expired or is not yet valid: current time 2020-01-01T00:00:00Z is before":         CodeHubClock,
		"Failed to pull image: ErrImagePull":                                                                     CodeAgentPod,
		`clusterroles.rbac.authorization.k8s.io is forbidden: User "jane" cannot create resource`:                CodeAgentPermissions,
		"error: the cluster ID fb14c335 or the cluster name a has been registered":                               CodeSameCluster,
		`error: context "nosuch" does not exist`:                                                                 CodeKubeconfig,
		"all is well":                                                                                            "",
		strings.Repeat("noise ", 20000) + "the token 7pn49b was made for cluster a, not for b: make a new token": CodeTokenBound,
	}
	for text, want := range tests {
		got := Decode(text)
		if got.Code != want || got.Cause == "" || got.Fix == "" {
			t.Errorf("%.60q: got %+v, want code %q", text, got, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("MU-103")
	f.Add("\x1b]0;x")
	f.Fuzz(func(t *testing.T, text string) {
		if advice := Decode(text); advice.Cause == "" {
			t.Error("no cause")
		}
	})
}
