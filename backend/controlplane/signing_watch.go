package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// signerRetry is after how long a note that could not be written is tried again.
const signerRetry = 10 * time.Second

// signerWatch says of approved requests that nobody signs them, on the request
// itself and as an Event, and takes the note away once somebody does. Where the hub
// signs by itself it only takes away what it wrote before.
type signerWatch struct {
	plane  *External
	store  cache.Store
	queue  workqueue.TypedDelayingInterface[string]
	warned bool
}

// watchSigner runs until ctx ends.
func (e *External) watchSigner(ctx context.Context) error {
	shared := informers.NewSharedInformerFactoryWithOptions(e.client, 0, informers.WithTweakListOptions(func(options *metav1.ListOptions) {
		options.FieldSelector = "spec.signerName=" + clientSigner
		options.LabelSelector = e.options.Signing.Selector
	}))
	informer := shared.Certificates().V1().CertificateSigningRequests().Informer()
	w := &signerWatch{plane: e, store: informer.GetStore(), queue: workqueue.NewTypedDelayingQueue[string]()}
	add := func(object any) {
		if request, ok := object.(*certificatesv1.CertificateSigningRequest); ok {
			w.queue.Add(request.Name)
		}
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, object any) { add(object) }}); err != nil {
		return fmt.Errorf("follow certificate requests: %w", err)
	}
	shared.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil
	}
	defer context.AfterFunc(ctx, w.queue.ShutDown)()
	for {
		name, stopped := w.queue.Get()
		if stopped {
			return nil
		}
		if err := w.look(ctx, name); err != nil && ctx.Err() == nil {
			slog.Debug("certificate request could not be marked", "request", name, "error", err)
			w.queue.AddAfter(name, signerRetry)
		}
		w.queue.Done(name)
	}
}

func (w *signerWatch) look(ctx context.Context, name string) error {
	object, known, err := w.store.GetByKey(name)
	if err != nil || !known {
		return err
	}
	request := object.(*certificatesv1.CertificateSigningRequest)
	options := w.plane.options.Signing
	since, waiting := unsigned(request)
	marked := request.Annotations[options.Annotation] != ""
	if !waiting {
		if marked && len(request.Status.Certificate) > 0 {
			w.warned = false
			return w.mark(ctx, request, nil)
		}
		return nil
	}
	if options.Sign {
		return nil
	}
	if left := options.Patience - time.Since(since); left > 0 {
		w.queue.AddAfter(name, left)
		return nil
	}
	if marked {
		return nil
	}
	text := signerMissing + ": " + signerMissingText
	if err := w.mark(ctx, request, &text); err != nil {
		return err
	}
	if !w.warned { // once for all: it is the cluster, not the request
		w.warned = true
		slog.Warn("approved certificate requests are not signed by this cluster: switch its signer on, or start the hub with --sign-csrs", "request", name)
	}
	event := signerEvent(request, time.Now())
	_, err = w.plane.client.CoreV1().Events(event.Namespace).Create(ctx, event, metav1.CreateOptions{})
	return err
}

// mark writes the note, or takes it away.
func (w *signerWatch) mark(ctx context.Context, request *certificatesv1.CertificateSigningRequest, text *string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": request.UID, "annotations": map[string]*string{w.plane.options.Signing.Annotation: text},
	}})
	if err != nil {
		return err
	}
	_, err = w.plane.client.CertificatesV1().CertificateSigningRequests().Patch(ctx, request.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
