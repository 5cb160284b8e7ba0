package joining

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/apis"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/reach"
	"muster.dev/muster/backend/registration"
)

// CheckState is the outcome of one check.
type CheckState string // @name cluster.CheckState

// The states of a check.
const (
	CheckOK      CheckState = "ok"
	CheckWarn    CheckState = "warn"
	CheckFailed  CheckState = "failed"
	CheckSkipped CheckState = "skipped"
)

// Check is one trace of a preflight: what was tried, what came of it, and for a
// failure its code and what to do.
type Check struct {
	ID     string     `json:"id" enums:"address,dns,tcp,tls,identity,permissions,version,clock,managed"`
	State  CheckState `json:"state" enums:"ok,warn,failed,skipped"`
	Detail string     `json:"detail"`
	Code   string     `json:"code,omitempty" validate:"optional"`
	Fix    string     `json:"fix,omitempty" validate:"optional"`
	Millis int64      `json:"millis"`
} // @name cluster.Check

// Preflight is what is known before anything is created.
type Preflight struct {
	Contexts []reach.ContextInfo `json:"contexts"`
	// Context is the one that was checked, empty if none could be chosen.
	Context string          `json:"context"`
	Server  string          `json:"server"`
	Keeps   *reach.Keeps    `json:"keeps,omitempty" validate:"optional"`
	Checks  []Check         `json:"checks"`
	Plan    []PlannedObject `json:"plan"`
	OK      bool            `json:"ok"`
} // @name cluster.Preflight

// PreflightRequest asks whether a member can be joined.
type PreflightRequest struct {
	Access *reach.Access
	// Name is the wished name; empty leaves the name unchecked and the plan empty.
	Name string
	// Hub reads the registered clusters as whoever asks.
	Hub client.Client
	// Dialer judges and dials the member's address.
	Dialer *reach.Dialer
	// Now is the hub's clock.
	Now func() time.Time
}

// checkTimeout bounds one check.
const checkTimeout = 10 * time.Second

// outcome is what a check found. A fault makes it fail.
type outcome struct {
	state  CheckState
	detail string
	err    error
}

func fine(format string, arguments ...any) outcome {
	return outcome{state: CheckOK, detail: fmt.Sprintf(format, arguments...)}
}

func doubtful(format string, arguments ...any) outcome {
	return outcome{state: CheckWarn, detail: fmt.Sprintf(format, arguments...)}
}

func failed(err error) outcome { return outcome{state: CheckFailed, err: err} }

// preflight is one run; checks leave in it what later ones need.
type preflight struct {
	PreflightRequest
	server   *url.URL
	config   *rest.Config
	client   kubernetes.Interface
	id       string
	date     time.Time // the member's clock, as its Date header said
	received time.Time // our clock then
}

// Run checks the way to a member from the outside in. Nothing is created. It
// fails only if the kubeconfig's access is unusable; what a check found wrong is
// in the checks.
func (r PreflightRequest) Run(ctx context.Context) ([]Check, []PlannedObject, error) {
	server, err := url.Parse(r.Access.Server)
	if err != nil {
		return nil, nil, fault.Invalid("the server is not a URL").WithCode(registration.CodeKubeconfig)
	}
	run := &preflight{PreflightRequest: r, server: server, config: r.Access.DialConfig(r.Dialer)}
	if run.client, err = reach.NewClient(run.config); err != nil {
		return nil, nil, err
	}
	checks := run.checks(ctx)
	if r.Name == "" || !Passed(checks) {
		return checks, []PlannedObject{}, nil
	}
	plan, err := Plan(ctx, Request{Name: r.Name, Namespace: apis.ClusterNamespace, Hub: r.Hub, Member: run.config, ProxyURL: r.Access.ProxyURL})
	return checks, plan, err
}

// Passed says whether no check failed.
func Passed(checks []Check) bool {
	for _, check := range checks {
		if check.State == CheckFailed {
			return false
		}
	}
	return true
}

// checks runs all checks in order. The way in is a chain: where it breaks, the
// rest is skipped. What is asked of the member afterwards stands side by side.
func (p *preflight) checks(ctx context.Context) []Check {
	steps := []struct {
		id    string
		chain bool
		run   func(context.Context) outcome
	}{
		{"address", true, p.checkAddress},
		{"dns", true, p.checkDNS},
		{"tcp", true, p.checkTCP},
		{"tls", true, p.checkTLS},
		{"identity", true, p.checkIdentity},
		{"permissions", false, p.checkPermissions},
		{"version", false, p.checkVersion},
		{"clock", false, p.checkClock},
		{"managed", false, p.checkManaged},
	}
	checks := make([]Check, 0, len(steps))
	broken := ""
	for _, step := range steps {
		if broken != "" {
			checks = append(checks, Check{ID: step.id, State: CheckSkipped, Detail: "not tried: " + broken + " failed"})
			continue
		}
		check := timed(ctx, step.id, step.run)
		if check.State == CheckFailed && step.chain {
			broken = step.id
		}
		checks = append(checks, check)
	}
	return checks
}

func timed(ctx context.Context, id string, run func(context.Context) outcome) Check {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	start := time.Now()
	found := run(ctx)
	check := Check{ID: id, State: found.state, Detail: found.detail, Millis: time.Since(start).Milliseconds()}
	if found.err == nil {
		return check
	}
	check.Detail = "this check could not be made"
	if known, ok := fault.As(found.err); ok {
		check.Detail, check.Code, check.Fix = known.Message, known.Code, known.Fix
	}
	if check.Fix == "" {
		check.Fix = registration.Advise(check.Code).Fix
	}
	return check
}

// target is what the hub connects to: the proxy if there is one, else the server.
func (p *preflight) target() *url.URL {
	if p.Access.ProxyURL != nil {
		return p.Access.ProxyURL
	}
	return p.server
}

// checkAddress judges what can be judged without the resolver. The address of
// the server behind a proxy is judged here only: the proxy resolves its name.
func (p *preflight) checkAddress(ctx context.Context) outcome {
	for _, target := range []*url.URL{p.server, p.target()} {
		host, port, err := reach.HostPort(target)
		if err != nil {
			return failed(err)
		}
		if err := p.Dialer.CheckLiteral(host, port); err != nil {
			return failed(err)
		}
	}
	if p.Access.ProxyURL != nil {
		return fine("%s, through the proxy %s", p.server.Host, p.Access.ProxyURL.Host)
	}
	return fine("%s", p.server.Host)
}

func (p *preflight) checkDNS(ctx context.Context) outcome {
	host, port, err := reach.HostPort(p.target())
	if err != nil {
		return failed(err)
	}
	addresses, err := p.Dialer.Check(ctx, host, port)
	if err != nil {
		return failed(err)
	}
	names := make([]string, 0, len(addresses))
	for _, address := range addresses {
		names = append(names, address.Addr().String())
	}
	return fine("%s is %s", host, strings.Join(names, ", "))
}

func (p *preflight) checkTCP(ctx context.Context) outcome {
	host, port, err := reach.HostPort(p.target())
	if err != nil {
		return failed(err)
	}
	connection, err := p.Dialer.DialContext(ctx, "tcp", fmt.Sprintf("%s:%d", bracket(host), port))
	if err != nil {
		if p.Access.ProxyURL != nil {
			return failed(fault.Unavailable("the proxy %s cannot be reached: %s", p.Access.ProxyURL.Host, err.Error()).WithCode(registration.CodeProxy).WithFix(registration.Advise(registration.CodeProxy).Fix))
		}
		return failed(err)
	}
	defer connection.Close()
	return fine("connected to %s", connection.RemoteAddr())
}

func bracket(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}
