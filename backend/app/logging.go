package app

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// startLogging sends everything through slog: our own lines as they are,
// Kubernetes' libraries one step quieter, for they speak to their developers.
func startLogging(out io.Writer, level slog.Level) {
	handler := slog.NewTextHandler(out, &slog.HandlerOptions{Level: level})
	slog.SetDefault(slog.New(handler))
	klog.SetLogger(logr.FromSlogHandler(quieter{handler}))
	exit := klog.OsExit
	klog.OsExit = func(code int) {
		lastWords()
		exit(code)
	}
	ctrl.SetLogger(logr.FromSlogHandler(sorted{handler}))
}

// sorted turns the information that controller-runtime gives about itself into
// debug: it writes to the same logger as our controllers do, but begins its
// messages with a capital letter.
type sorted struct{ slog.Handler }

func (s sorted) Enabled(ctx context.Context, level slog.Level) bool {
	return s.Handler.Enabled(ctx, level)
}

// afterStop is what a manager says of a Lease that it gives up when it stops.
const afterStop = "error received after stop sequence was engaged"

// untold is what a recorder says of an Event that the API refuses.
const untold = "Server rejected event (will not retry!)"

func (s sorted) Handle(ctx context.Context, record slog.Record) error {
	if record.Message == untold {
		record = withoutEvent(record)
		if !s.Handler.Enabled(ctx, record.Level) {
			return nil
		}
	}
	if first, _ := utf8.DecodeRuneInString(record.Message); record.Level == slog.LevelInfo && unicode.IsUpper(first) || record.Message == afterStop {
		record.Level = slog.LevelDebug
		if !s.Handler.Enabled(ctx, record.Level) {
			return nil
		}
	}
	return s.Handler.Handle(ctx, record)
}

// withoutEvent leaves the whole Event out of a recorder's complaint, which is no more
// than a warning, and none if the Event's namespace is going or gone.
func withoutEvent(record slog.Record) slog.Record {
	short := slog.NewRecord(record.Time, slog.LevelWarn, record.Message, record.PC)
	record.Attrs(func(a slog.Attr) bool {
		if err, ok := a.Value.Any().(error); ok && (apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)) {
			short.Level = slog.LevelDebug
		}
		if a.Key != "event" {
			short.AddAttrs(a)
		}
		return true
	})
	return short
}

func (s sorted) WithAttrs(attrs []slog.Attr) slog.Handler { return sorted{s.Handler.WithAttrs(attrs)} }
func (s sorted) WithGroup(name string) slog.Handler       { return sorted{s.Handler.WithGroup(name)} }

// falseAlarms are errors of Kubernetes' API server that are none in this process:
// it has one such server, whose metrics are not limited by a file, nobody withdraws
// its endpoint but the next start, and who watches may leave before all was listed.
var falseAlarms = []string{
	"The manifest file is empty, ignoring.",
	"Found stale data, removed previous endpoints on kubernetes service, apiserver didn't exit successfully previously",
	"failed to sync with latest state: context canceled",
}

// said is the information that a library gave last.
var said atomic.Pointer[string]

// lastWords tells why a library ends the process: what it cannot go on without it
// tells as information, which is not shown.
func lastWords() {
	if message := said.Load(); message != nil {
		slog.Error("hub ended by a library", "error", strings.TrimSpace(*message))
	}
}

// quieter turns a library's info and warning into debug and its error into a
// warning, or debug as well.
type quieter struct{ slog.Handler }

func (q quieter) Enabled(ctx context.Context, level slog.Level) bool {
	return level == slog.LevelInfo || q.Handler.Enabled(ctx, lower(level))
}

func (q quieter) Handle(ctx context.Context, record slog.Record) error {
	if record.Level == slog.LevelInfo {
		said.Store(&record.Message)
	}
	record.Level = lower(record.Level)
	if slices.Contains(falseAlarms, record.Message) {
		record.Level = slog.LevelDebug
	}
	if !q.Handler.Enabled(ctx, record.Level) {
		return nil
	}
	return q.Handler.Handle(ctx, record)
}

func (q quieter) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quieter{q.Handler.WithAttrs(attrs)}
}
func (q quieter) WithGroup(name string) slog.Handler { return quieter{q.Handler.WithGroup(name)} }

func lower(level slog.Level) slog.Level {
	if level >= slog.LevelError {
		return slog.LevelWarn
	}
	return slog.LevelDebug
}
