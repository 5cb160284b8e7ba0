package handshake

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"muster.dev/muster/agent/feed"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

// mostRequests is how many requests of a cluster may wait for approval before the
// agent makes no more (contract 2.3 b).
const mostRequests = 10

// addonNameLabel is on the requests of add-ons.
const addonNameLabel = "open-cluster-management.io/addon-name"

// lookAnyhow is how often a request is looked at although it is watched.
const lookAnyhow = 30 * time.Second

// errTooMany says that too many requests wait at the hub.
var errTooMany = errors.New("ten certificate requests of this cluster wait at the hub: approve, deny or delete them")

// request asks a hub for a certificate.
type request struct {
	cluster, agent string
	seconds        int32
	// form is what is asked for; nil: a certificate of the agent itself.
	form   *certificateForm
	config *rest.Config
	log    *slog.Logger
	// explain adds what to do about an error; may be nil.
	explain func(error) error
	// trouble is told what the hub says no to; may be nil.
	trouble func(error)
}

// granted is a certificate with its key.
type granted struct{ certPEM, keyPEM []byte }

// get asks until the certificate is there or ctx ends. A request that was denied
// is waited for: somebody may delete it, and then it may be asked again.
func (r *request) get(ctx context.Context) (granted, error) {
	typed, err := kubernetes.NewForConfig(r.config)
	if err != nil {
		return granted{}, fmt.Errorf("client of the hub: %w", err)
	}
	untyped, err := dynamic.NewForConfig(r.config)
	if err != nil {
		return granted{}, fmt.Errorf("client of the hub: %w", err)
	}
	key, keyPEM, err := newKey()
	if err != nil {
		return granted{}, err
	}
	if r.form == nil {
		r.form = agentForm(r.cluster, r.agent)
	}
	body, err := r.form.body(key)
	if err != nil {
		return granted{}, err
	}
	ctx, stop := context.WithCancel(ctx)
	a := &asking{request: r, typed: typed, key: key, body: body, watched: make(chan seenRequest, 64)}
	done := make(chan struct{})
	go func() { defer close(done); a.watch(ctx, untyped) }()
	defer func() { stop(); <-done }()
	certPEM, err := a.run(ctx)
	return granted{certPEM, keyPEM}, err
}

// seenRequest is what a watch tells of a request; a nil one is gone.
type seenRequest struct {
	name    string
	request *certificatesv1.CertificateSigningRequest
}

func (a *asking) watch(ctx context.Context, client dynamic.Interface) {
	tell := func(o *unstructured.Unstructured, there bool) {
		s := seenRequest{name: o.GetName()}
		if there {
			s.request = &certificatesv1.CertificateSigningRequest{}
			if runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, s.request) != nil {
				return
			}
		}
		select {
		case a.watched <- s:
		case <-ctx.Done():
		}
	}
	api := client.Resource(certificatesv1.SchemeGroupVersion.WithResource("certificatesigningrequests"))
	feed.Run(ctx, api, feed.Funcs{
		OnIs:   func(o *unstructured.Unstructured) { tell(o, true) },
		OnGone: func(o *unstructured.Unstructured) { tell(o, false) },
		OnAll: func(all []*unstructured.Unstructured) {
			a.blind.Store(false)
			for _, o := range all {
				tell(o, true)
			}
		},
	}, feed.Options{LabelSelector: ocmv1.ClusterNameLabel + "=" + a.cluster, Failed: func(error) { a.blind.Store(true) }})
}

// asking is one certificate being asked for.
type asking struct {
	*request
	typed   kubernetes.Interface
	key     *ecdsa.PrivateKey
	body    []byte
	watched chan seenRequest
	blind   atomic.Bool // watching fails

	name   string // of the request, "" before it is made
	denied bool
	lost   bool      // the credential that asked is good no more, which was told
	looked time.Time // at the request by name
}

func (a *asking) run(ctx context.Context) ([]byte, error) {
	// Where watching is refused, looking now and then does, too.
	look := time.NewTicker(2 * time.Second)
	a.looked = time.Now()
	defer look.Stop()
	retry := time.NewTimer(0)
	defer retry.Stop()
	pause := pauseFirst
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-retry.C:
			err := a.ask(ctx)
			if err != nil && ctx.Err() == nil {
				a.fail(err)
				retry.Reset(pause)
				pause = min(2*pause, pauseMost)
			}
		case s := <-a.watched:
			if s.name != a.name || a.name == "" {
				continue
			}
			if s.request == nil { // deleted: ask anew
				a.name, a.denied = "", false
				retry.Reset(pauseFirst)
				continue
			}
			if certificate := a.judge(s.request); certificate != nil {
				return certificate, nil
			}
		case <-look.C:
			if a.name == "" || !a.blind.Load() && time.Since(a.looked) < lookAnyhow {
				continue
			}
			a.looked = time.Now()
			current, err := a.typed.CertificatesV1().CertificateSigningRequests().Get(ctx, a.name, metav1.GetOptions{})
			switch {
			case apierrors.IsNotFound(err):
				a.name, a.denied = "", false
				retry.Reset(pauseFirst)
			case apierrors.IsUnauthorized(err) && !a.lost:
				a.lost = true
				a.fail(fmt.Errorf("look at certificate request %s: %w", a.name, err))
			case err == nil:
				a.lost = false
				if certificate := a.judge(current); certificate != nil {
					return certificate, nil
				}
			}
		}
	}
}

func (a *asking) fail(err error) {
	if a.explain != nil {
		err = a.explain(err)
	}
	a.log.Warn("no certificate asked for", "cluster", a.cluster, "error", err)
	if a.trouble != nil {
		a.trouble(err)
	}
}

// judge returns the certificate if the request has got one.
func (a *asking) judge(r *certificatesv1.CertificateSigningRequest) []byte {
	for _, c := range r.Status.Conditions {
		if c.Status == corev1.ConditionFalse || c.Type == certificatesv1.CertificateApproved {
			continue
		}
		if !a.denied { // denied, or not to be signed: somebody has to delete it
			a.denied = true
			a.fail(fmt.Errorf("certificate request %s is %s", r.Name, strings.ToLower(string(c.Type))))
		}
		return nil
	}
	if len(r.Status.Certificate) == 0 || !belongs(r.Status.Certificate, a.key) {
		return nil
	}
	return r.Status.Certificate
}

// ask makes the request, unless too many wait already, or a try whose answer was
// lost has made it: somebody may have approved that one.
func (a *asking) ask(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	api := a.typed.CertificatesV1().CertificateSigningRequests()
	list, err := api.List(within, metav1.ListOptions{LabelSelector: ocmv1.ClusterNameLabel + "=" + a.cluster})
	if err == nil && a.adopt(list.Items) {
		return nil
	}
	if err == nil && pending(list.Items, a.form.labels[addonNameLabel]) >= mostRequests {
		return errTooMany
	}
	ask := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: a.form.prefix, Labels: a.form.labels},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: a.body, SignerName: a.form.signer,
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment, certificatesv1.UsageClientAuth},
		},
	}
	if a.seconds > 0 {
		ask.Spec.ExpirationSeconds = &a.seconds
	}
	made, err := api.Create(within, ask, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create the certificate request: %w", err)
	}
	a.name, a.denied = made.Name, false
	a.log.Info("certificate asked for", "cluster", a.cluster, "request", made.Name, "fingerprint", fingerprint(a.body))
	return nil
}

// adopt goes on with the request of an earlier try, if there is one, and has it
// looked at soon: its events may be over.
func (a *asking) adopt(requests []certificatesv1.CertificateSigningRequest) bool {
	for i := range requests {
		if bytes.Equal(requests[i].Spec.Request, a.body) {
			a.name, a.denied, a.looked = requests[i].Name, false, time.Time{}
			a.log.Info("certificate had been asked for", "cluster", a.cluster, "request", a.name, "fingerprint", fingerprint(a.body))
			return true
		}
	}
	return false
}

// fingerprint is of the public key in a request, as the hub shows it to whoever is
// to approve it.
func fingerprint(request []byte) string {
	block, _ := pem.Decode(request)
	if block == nil {
		return ""
	}
	parsed, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(parsed.RawSubjectPublicKeyInfo)
	return "SHA256:" + hex.EncodeToString(sum[:])
}

// pending counts the requests of an add-on, "": of the agent itself, for which
// somebody has yet to decide.
func pending(requests []certificatesv1.CertificateSigningRequest, addon string) int {
	n := 0
	for i := range requests {
		if len(requests[i].Status.Conditions) == 0 && requests[i].Labels[addonNameLabel] == addon {
			n++
		}
	}
	return n
}
