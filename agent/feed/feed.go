// Package feed tells of objects that an API server holds: each as it is when the
// feed begins, then each change, for as long as the feed runs. It keeps nothing
// itself. Behind it is client-go's reflector, so that lists, watches, expired
// versions and lost connections are its business, not the listener's.
package feed

import (
	"context"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
)

// Listener hears of objects from one goroutine. It must not block.
type Listener interface {
	// Is tells of an object that is there, new or changed.
	Is(object *unstructured.Unstructured)
	// Gone tells of an object that is not there any more.
	Gone(object *unstructured.Unstructured)
	// All tells of every object at once: at the beginning, and whenever changes
	// may have been missed. What is not among them is gone.
	All(objects []*unstructured.Unstructured)
}

// Options vary a feed.
type Options struct {
	// FieldSelector and LabelSelector restrict it.
	FieldSelector, LabelSelector string
	// Slowest is the longest pause between two tries. Default: 5 s.
	Slowest time.Duration
	// Failed is told why the server could not be asked; the feed goes on.
	Failed func(error)
}

// Run feeds a listener with the objects of one resource until ctx ends.
func Run(ctx context.Context, api dynamic.ResourceInterface, listener Listener, o Options) {
	if o.Slowest == 0 {
		o.Slowest = 5 * time.Second
	}
	tell := func(err error) {
		if err != nil && o.Failed != nil && ctx.Err() == nil {
			o.Failed(err)
		}
	}
	narrow := func(options *metav1.ListOptions) {
		options.FieldSelector, options.LabelSelector = o.FieldSelector, o.LabelSelector
	}
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			narrow(&options)
			list, err := api.List(ctx, options)
			tell(err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			narrow(&options)
			w, err := api.Watch(ctx, options)
			tell(err)
			return w, err
		},
	}
	cache.NewReflectorWithOptions(source, &unstructured.Unstructured{}, sink{listener}, cache.ReflectorOptions{
		Name: "feed", Logger: ptr.To(logr.Discard()),
		Backoff: &wait.Backoff{Duration: 50 * time.Millisecond, Factor: 1.6, Jitter: 0.2, Steps: 20, Cap: o.Slowest},
	}).RunWithContext(klog.NewContext(ctx, logr.Discard())) // failures are told
}

// Newer compares versions of one object. Where they are no numbers, any other one
// counts as newer.
func Newer(a, b string) bool {
	x, errX := strconv.ParseUint(a, 10, 64)
	y, errY := strconv.ParseUint(b, 10, 64)
	if errX != nil || errY != nil {
		return a != b
	}
	return x > y
}

// sink hands what a reflector would store to a listener.
type sink struct{ listener Listener }

func (s sink) Add(object any) error    { return s.is(object) }
func (s sink) Update(object any) error { return s.is(object) }
func (s sink) Resync() error           { return nil }

func (s sink) is(object any) error {
	if o, ok := object.(*unstructured.Unstructured); ok {
		s.listener.Is(o)
	}
	return nil
}

func (s sink) Delete(object any) error {
	if o, ok := object.(*unstructured.Unstructured); ok {
		s.listener.Gone(o)
	}
	return nil
}

func (s sink) Replace(objects []any, _ string) error {
	all := make([]*unstructured.Unstructured, 0, len(objects))
	for _, object := range objects {
		if o, ok := object.(*unstructured.Unstructured); ok {
			all = append(all, o)
		}
	}
	s.listener.All(all)
	return nil
}

// Funcs is a Listener of functions. Those that are nil do nothing; without an
// OnAll, OnIs is called for each object.
type Funcs struct {
	OnIs, OnGone func(*unstructured.Unstructured)
	OnAll        func([]*unstructured.Unstructured)
}

// Is implements Listener.
func (f Funcs) Is(o *unstructured.Unstructured) {
	if f.OnIs != nil {
		f.OnIs(o)
	}
}

// Gone implements Listener.
func (f Funcs) Gone(o *unstructured.Unstructured) {
	if f.OnGone != nil {
		f.OnGone(o)
	}
}

// All implements Listener.
func (f Funcs) All(objects []*unstructured.Unstructured) {
	if f.OnAll != nil {
		f.OnAll(objects)
		return
	}
	for _, o := range objects {
		f.Is(o)
	}
}
