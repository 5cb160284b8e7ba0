package registry

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Metadata feeds a cache of the metadata of all objects of a typed resource, without
// managed fields; ok is false for other resources and versions.
func (d *Direct) Metadata(of schema.GroupVersionResource) (source cache.ListerWatcher, ok bool) {
	for _, k := range d.kinds {
		if k.resource != of {
			continue
		}
		whole := cache.ToListerWatcherWithContext(d.ListWatch(k.main.New()))
		return &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				list, err := whole.ListWithContext(ctx, options)
				if err != nil {
					return nil, err
				}
				return metadataList(list)
			},
			WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
				events, err := whole.WatchWithContext(ctx, options)
				if err != nil {
					return nil, err
				}
				return watch.Filter(events, func(event watch.Event) (watch.Event, bool) {
					event.Object = metadataOf(event.Object)
					return event, true
				}), nil
			},
		}, true
	}
	return nil, false
}

func metadataList(list runtime.Object) (runtime.Object, error) {
	about, err := meta.ListAccessor(list)
	if err != nil {
		return nil, err
	}
	short := &metav1.PartialObjectMetadataList{Items: make([]metav1.PartialObjectMetadata, 0, meta.LenList(list))}
	short.ResourceVersion, short.Continue, short.RemainingItemCount = about.GetResourceVersion(), about.GetContinue(), about.GetRemainingItemCount()
	err = meta.EachListItem(list, func(object runtime.Object) error {
		accessor, err := meta.Accessor(object)
		if err == nil {
			short.Items = append(short.Items, *metadataFrom(accessor))
		}
		return err
	})
	return short, err
}

// metadataOf leaves what has no metadata, such as the status of a failed watch, as it
// is.
func metadataOf(object runtime.Object) runtime.Object {
	if accessor, err := meta.Accessor(object); err == nil {
		return metadataFrom(accessor)
	}
	return object
}

func metadataFrom(accessor metav1.Object) *metav1.PartialObjectMetadata {
	short := meta.AsPartialObjectMetadata(accessor)
	short.ManagedFields = nil
	return short
}
