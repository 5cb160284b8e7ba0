package app

import (
	"context"
	"io"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// startLogging sends everything through slog: our own lines as they are,
// Kubernetes' libraries one step quieter, for they speak to their developers.
func startLogging(out io.Writer, level slog.Level) {
	handler := slog.NewTextHandler(out, &slog.HandlerOptions{Level: level})
	slog.SetDefault(slog.New(handler))
	klog.SetLogger(logr.FromSlogHandler(quieter{handler}))
	ctrl.SetLogger(logr.FromSlogHandler(handler))
}

// quieter turns a library's info and warning into debug and its error into a
// warning.
type quieter struct{ slog.Handler }

func (q quieter) Enabled(ctx context.Context, level slog.Level) bool {
	return q.Handler.Enabled(ctx, lower(level))
}

func (q quieter) Handle(ctx context.Context, record slog.Record) error {
	record.Level = lower(record.Level)
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
