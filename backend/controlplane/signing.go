package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/util/cert"
	"k8s.io/kubernetes/pkg/controller/certificates/signer"

	"muster.dev/muster/backend/fault"
)

// DefaultSignerPatience is how long an approved request may stay unsigned before
// the hub says that nobody signs. Kubernetes' signer takes milliseconds.
const DefaultSignerPatience = 15 * time.Second

// SigningOptions are for clusters whose controller manager does not sign client
// certificates (csrsigning is switched off, or has no CA, as on some managed
// offerings).
type SigningOptions struct {
	// Sign makes the hub sign what is approved, with Kubernetes' own signer.
	Sign bool
	// CertFile and KeyFile are the CA to sign with: the one that the API verifies
	// client certificates with.
	CertFile, KeyFile string
	// Selector says which requests the hub cares about when it only watches
	// whether the cluster signs; empty: all of the client signer.
	Selector string
	// Patience is how long an approved request may stay unsigned.
	Patience time.Duration
	// Annotation on a request says that nobody signs it.
	Annotation string
}

func (o SigningOptions) check() error {
	if !o.Sign {
		if o.CertFile != "" || o.KeyFile != "" {
			return fault.Invalid("a CA to sign with is given, but the hub is not told to sign").WithFix("add --sign-csrs, or leave the CA out")
		}
		return nil
	}
	if o.CertFile == "" || o.KeyFile == "" {
		return fault.Invalid("the hub is told to sign certificates, but has no CA to do it with").
			WithFix("pass --signing-ca-cert and --signing-ca-key: the CA that the API server's --client-ca-file names")
	}
	for _, file := range []string{o.CertFile, o.KeyFile} {
		if _, err := os.Stat(file); err != nil {
			return fault.Invalid("the CA to sign with cannot be read: %s", err.Error())
		}
	}
	return nil
}

// clientSigner is the name of the signer that agents' requests go to.
const clientSigner = certificatesv1.KubeAPIServerClientSignerName

// sign runs Kubernetes' signer until ctx ends, as the embedded plane does.
func (e *External) sign(ctx context.Context) error {
	if err := e.checkSigningCA(ctx); err != nil {
		return err
	}
	shared := informers.NewSharedInformerFactory(e.client, 0)
	loop, err := signer.NewKubeAPIServerClientCSRSigningController(ctx, e.client, shared.Certificates().V1().CertificateSigningRequests(),
		e.options.Signing.CertFile, e.options.Signing.KeyFile, leafLifetime)
	if err != nil {
		return fmt.Errorf("build certificate signer: %w", err)
	}
	shared.Start(ctx.Done())
	slog.Info("the hub signs client certificates for this cluster")
	loop.Run(ctx, 2)
	return nil
}

// checkSigningCA refuses a CA that the API would not believe: it would sign
// certificates that open nothing.
func (e *External) checkSigningCA(ctx context.Context) error {
	ours, err := cert.CertsFromFile(e.options.Signing.CertFile)
	if err != nil {
		return fmt.Errorf("read the CA to sign with: %w", err)
	}
	known, err := e.client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, "extension-apiserver-authentication", metav1.GetOptions{})
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		slog.Warn("it cannot be checked whether the api accepts certificates of the CA to sign with", "error", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the CAs that the api accepts: %w", err)
	}
	accepted, err := cert.ParseCertsPEM([]byte(known.Data["client-ca-file"]))
	if err != nil {
		return fault.Invalid("this cluster's API accepts no client certificates: agents cannot sign in with any that the hub would sign").
			WithFix("start its API server with --client-ca-file")
	}
	for _, one := range accepted {
		if bytes.Equal(one.Raw, ours[0].Raw) {
			return nil
		}
	}
	return fault.Invalid("this cluster's API does not accept certificates of the CA in %s", e.options.Signing.CertFile).
		WithFix("give the CA that its API server's --client-ca-file names")
}

// unsigned tells whether a request was approved and nobody has signed or failed
// it, and since when.
func unsigned(request *certificatesv1.CertificateSigningRequest) (since time.Time, waiting bool) {
	for _, condition := range request.Status.Conditions {
		switch condition.Type {
		case certificatesv1.CertificateApproved:
			since, waiting = condition.LastUpdateTime.Time, true
			if since.IsZero() {
				since = request.CreationTimestamp.Time
			}
		case certificatesv1.CertificateDenied, certificatesv1.CertificateFailed:
			return time.Time{}, false
		}
	}
	return since, waiting && len(request.Status.Certificate) == 0
}

// signerMissing is the Event's reason and how the annotation begins.
const signerMissing = "SignerMissing"

const signerMissingText = "the request is approved, but nobody signs it: this cluster's own signer for " + clientSigner +
	" is off; switch it on (kube-controller-manager: controller csrsigning with --cluster-signing-cert-file), or start the hub with --sign-csrs and the CA"

func signerEvent(request *certificatesv1.CertificateSigningRequest, now time.Time) *corev1.Event {
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{GenerateName: "muster-signer-", Namespace: metav1.NamespaceDefault},
		InvolvedObject: corev1.ObjectReference{APIVersion: certificatesv1.SchemeGroupVersion.String(), Kind: "CertificateSigningRequest", Name: request.Name, UID: request.UID},
		Type:           corev1.EventTypeWarning, Reason: signerMissing, Message: signerMissingText, Count: 1,
		FirstTimestamp: metav1.NewTime(now), LastTimestamp: metav1.NewTime(now), Source: corev1.EventSource{Component: "muster"},
	}
}
