package join

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"strings"
	"syscall"
)

// Codes of what can go wrong, as the hub's dashboard knows them.
const (
	CodeTokenUnknown   = "MU-101"
	CodeTokenSecret    = "MU-102"
	CodeTokenExpired   = "MU-103"
	CodeTokenBound     = "MU-104"
	CodeNameTaken      = "MU-105"
	CodeSameCluster    = "MU-106"
	CodePin            = "MU-107"
	CodeHubUnreachable = "MU-108"
	CodeClock          = "MU-109"
	CodeCSRRefused     = "MU-110"
	CodeAgentPod       = "MU-111"
	CodePermissions    = "MU-112"
	CodeLinkRefused    = "MU-113"
)

// Failure is why a registration stopped, in words for the operator at the
// terminal. It holds no secret.
type Failure struct {
	// Code is one of the Code constants, or one that the hub named.
	Code string
	// Message says what happened, Cause why that is, Fix what to do about it.
	Message, Cause, Fix string
	// Err is the underlying error, if there is one.
	Err error
}

// Error implements error in one line.
func (f *Failure) Error() string {
	if f.Err != nil {
		return f.Code + ": " + f.Message + ": " + f.Err.Error()
	}
	return f.Code + ": " + f.Message
}

// Unwrap returns the underlying error.
func (f *Failure) Unwrap() error { return f.Err }

// Explain returns the text for a terminal: the error, its cause and its fix, a
// line each.
func (f *Failure) Explain() string {
	text := "error: " + f.Error()
	if f.Cause != "" {
		text += "\ncause: " + f.Cause
	}
	if f.Fix != "" {
		text += "\nfix:   " + f.Fix
	}
	return text
}

// ExitCode is the number in the failure's code, so that scripts can tell failures
// apart: 107 for MU-107.
func (f *Failure) ExitCode() int {
	var number int
	if _, err := fmt.Sscanf(f.Code, "MU-%d", &number); err != nil || number < 1 || number > 125 {
		return 1
	}
	return number
}

var codePattern = regexp.MustCompile(`\bMU-[0-9]{3}\b`)

// hubFailure makes a failure of what the hub said: "MU-104: why: what to do". A
// text without code gets the one given.
func hubFailure(code, text string, err error) *Failure {
	if named := codePattern.FindString(text); named != "" {
		code = named
		text = strings.TrimPrefix(text, named+": ")
	}
	message, fix, _ := strings.Cut(text, ": ")
	return &Failure{Code: code, Message: "the hub refuses: " + message, Fix: fix, Err: err}
}

// unreachable says why the hub could not be asked.
func unreachable(hub string, err error) *Failure {
	f := &Failure{Code: CodeHubUnreachable, Message: "the hub at " + hub + " cannot be reached", Err: plain(err),
		Cause: "something between this cluster and the hub does not let the connection through",
		Fix:   "try from here: curl -k https://" + hub + "/version; the hub listens on loopback only unless it was started with --listen, and --advertise is what goes into the register command"}
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		f.Cause = "the name " + dns.Name + " does not resolve here"
		f.Fix = "use an address, or a name that the resolver of this machine (and of the member's pods) knows"
	case errors.Is(err, syscall.ECONNREFUSED):
		f.Cause = "nothing listens at that address and port"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		f.Cause = "nobody answers in time: a firewall drops the packets, or the address is wrong"
	}
	return f
}

// plain is the innermost error: the outer ones repeat the URL.
func plain(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
