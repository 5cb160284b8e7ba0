package app

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestControllerRuntimeSpeaksOfItselfAtDebug(t *testing.T) {
	t.Parallel()
	for level, want := range map[slog.Level]string{
		slog.LevelInfo:  "agent connected,Reconciler error",
		slog.LevelDebug: "Starting Controller,agent connected,Reconciler error",
	} {
		var out bytes.Buffer
		handler := sorted{slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level})}
		logger := slog.New(handler).With("controller", "cluster")
		logger.Info("Starting Controller")
		logger.Info("agent connected")
		logger.Error("Reconciler error")
		var got []string
		for line := range strings.Lines(out.String()) {
			_, rest, _ := strings.Cut(line, `msg="`)
			message, _, _ := strings.Cut(rest, `"`)
			got = append(got, message)
		}
		if strings.Join(got, ",") != want {
			t.Errorf("at %s: %q, want %q", level, got, want)
		}
	}
}

func TestRefusedEventsAreShort(t *testing.T) {
	t.Parallel()
	events := schema.GroupResource{Group: "events.k8s.io", Resource: "events"}
	going := apierrors.NewForbidden(events, "a", errors.New("namespace shop is being terminated"))
	going.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"the namespace goes":    {going, ""},
		"the namespace is gone": {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop"), ""},
		"another refusal":       {apierrors.NewForbidden(events, "a", errors.New("no right")), "level=WARN"},
	} {
		var out bytes.Buffer
		logger := logr.FromSlogHandler(sorted{slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelInfo})})
		logger.Error(c.err, untold, "event", "the whole of it")
		got := out.String()
		if !strings.Contains(got, c.want) || c.want == "" && got != "" || strings.Contains(got, "the whole") || c.want != "" && !strings.Contains(got, "no right") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestLibrariesAreQuieter(t *testing.T) {
	var out, words bytes.Buffer
	before := slog.Default()
	logger := slog.New(quieter{slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelInfo})})
	logger.Info("information")
	logger.Warn("warning")
	for _, message := range falseAlarms {
		logger.Error(message)
	}
	logger.Error("error")
	logger.Info("cannot go on\n")
	slog.SetDefault(slog.New(slog.NewTextHandler(&words, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	if lastWords(); !strings.Contains(words.String(), `level=ERROR msg="hub ended by a library" error="cannot go on"`) {
		t.Errorf("last words: %s", &words)
	}
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=WARN msg=error") {
		t.Errorf("logged:\n%s", got)
	}
}
