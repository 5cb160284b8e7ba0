package kube

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// oneNamespace is a source with one object.
func oneNamespace() *toolscache.ListWatch {
	return &toolscache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return &corev1.NamespaceList{Items: []corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}}, nil
		},
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil },
	}
}

// listOnly is a source that cannot stream a list.
type listOnly struct{ toolscache.ListerWatcher }

func (listOnly) IsWatchListSemanticsUnSupported() bool { return true }

func TestSourcesAreReadLater(t *testing.T) {
	open := make(chan struct{})
	from := Sources{Later: open, First: []client.Object{&corev1.Secret{}}}
	source := oneNamespace()
	if from.listWatch(source, &corev1.Secret{}) != toolscache.ListerWatcher(source) {
		t.Error("a kind that somebody waits for is not read at once")
	}
	if (Sources{}).listWatch(source, &corev1.Namespace{}) != toolscache.ListerWatcher(source) {
		t.Error("a source is held back although nothing is to be read later")
	}
	held := toolscache.ToListerWatcherWithContext(from.listWatch(source, &corev1.Namespace{}))
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := held.ListWithContext(stopped, metav1.ListOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("listed too early: %v", err)
	}
	if _, err := held.WatchWithContext(stopped, metav1.ListOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("watched too early: %v", err)
	}
	close(open)
	list, err := held.ListWithContext(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.(*corev1.NamespaceList).Items) != 1 {
		t.Errorf("listed: %v, %v", list, err)
	}
	if _, err := held.WatchWithContext(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("watched: %v", err)
	}
	for _, c := range []struct {
		source toolscache.ListerWatcher
		want   bool
	}{{source, false}, {listOnly{source}, true}} {
		if got := watchlist.DoesClientNotSupportWatchListSemantics(gated{c.source, open}); got != c.want {
			t.Errorf("%T: streams no list: %v, want %v", c.source, got, c.want)
		}
	}
}
