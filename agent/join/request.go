package join

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"muster.dev/muster/backend/agentapi"
	"muster.dev/muster/backend/apis"
)

const (
	// waitingAnnotation is where the hub says why it has not approved a request.
	waitingAnnotation = "muster.dev/waiting"

	pollFirst = 100 * time.Millisecond
	pollMost  = time.Second
)

// request asks the hub for an agent's certificate.
type request struct {
	cluster string
	seconds int32 // asked lifetime; 0: the hub's choice
	// waiting is told once why the hub leaves the request pending.
	waiting func(name, why string)
}

// send makes a key, creates the certificate request as the user of config, and
// waits for the certificate until ctx ends. Errors are *Failure where the hub
// has answered.
func (r *request) send(ctx context.Context, config *rest.Config) (certPEM, keyPEM []byte, err error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("client of the hub: %w", err)
	}
	key, keyPEM, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: apis.AgentUserPrefix + r.cluster, Organization: []string{apis.AgentGroup}},
	}, key)
	if err != nil {
		return nil, nil, fmt.Errorf("make a certificate request: %w", err)
	}
	csr := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: r.cluster + "-" + randomText(5), Labels: map[string]string{apis.SystemLabel: apis.LabelTrue}},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			SignerName: agentapi.SignerName,
			Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment, certificatesv1.UsageClientAuth},
		},
	}
	if r.seconds > 0 {
		csr.Spec.ExpirationSeconds = ptr.To(r.seconds)
	}
	created, err := client.CertificatesV1().CertificateSigningRequests().Create(ctx, csr, metav1.CreateOptions{})
	if err != nil {
		return nil, nil, r.failure(err)
	}
	certPEM, err = r.await(ctx, client, created.Name)
	return certPEM, keyPEM, err
}

// await polls the request: a token may get its own, but not watch.
func (r *request) await(ctx context.Context, client kubernetes.Interface, name string) ([]byte, error) {
	told := ""
	for pause := pollFirst / 10; ; pause = min(pause*2, pollMost) {
		csr, err := client.CertificatesV1().CertificateSigningRequests().Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil, &Failure{Code: CodeCSRRefused, Message: "the certificate request " + name + " was deleted on the hub", Fix: "register again"}
		case apierrors.IsUnauthorized(err), apierrors.IsForbidden(err):
			return nil, r.failure(err)
		case err == nil:
			if done, err := outcome(csr); done || err != nil {
				return csr.Status.Certificate, err
			}
			if why := csr.Annotations[waitingAnnotation]; why != "" && why != told {
				told = why
				if err := r.pending(name, why); err != nil {
					return nil, err
				}
			}
		}
		if !sleep(ctx, pause) {
			return nil, &Failure{Code: CodeCSRRefused, Message: "the certificate request " + name + " was not approved in time", Err: err,
				Cause: told, Fix: "on the hub: kubectl get csr " + name + "; kubectl certificate approve " + name + "; then register again"}
		}
	}
}

// outcome says whether a request has come to its end.
func outcome(csr *certificatesv1.CertificateSigningRequest) (bool, error) {
	for _, c := range csr.Status.Conditions {
		if c.Status == corev1.ConditionFalse {
			continue
		}
		switch c.Type {
		case certificatesv1.CertificateDenied:
			return false, hubFailure(CodeCSRRefused, "the certificate request "+csr.Name+" was denied: "+c.Message, nil)
		case certificatesv1.CertificateFailed:
			return false, hubFailure(CodeCSRRefused, "the certificate could not be issued: "+c.Message, nil)
		}
	}
	return len(csr.Status.Certificate) > 0, nil
}

// pending judges why the hub leaves a request alone. A name that is taken or a
// token that is for another cluster does not become right by waiting; all else
// an administrator may still approve.
func (r *request) pending(name, why string) error {
	f := hubFailure(CodeCSRRefused, why, nil)
	switch f.Code {
	case CodeCSRRefused:
		if r.waiting != nil {
			r.waiting(name, why)
		}
		return nil
	default:
		return f
	}
}

// failure words an error of the hub's API.
func (r *request) failure(err error) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return unreachable(r.cluster, err)
	}
	text := status.Status().Message
	switch {
	case apierrors.IsUnauthorized(err):
		return &Failure{Code: CodeTokenUnknown, Message: "the hub does not accept the credential", Cause: "the token is unknown, wrong or expired", Fix: newToken}
	case apierrors.IsForbidden(err):
		return hubFailure(CodeTokenBound, text, nil)
	}
	return hubFailure(CodeCSRRefused, text, nil)
}

// randomText returns n characters for the end of a name.
func randomText(n int) string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	var b strings.Builder
	for range n {
		i, err := rand.Int(rand.Reader, big.NewInt(int64(len(letters))))
		if err != nil {
			panic(err) // the system has no randomness
		}
		b.WriteByte(letters[i.Int64()])
	}
	return b.String()
}
