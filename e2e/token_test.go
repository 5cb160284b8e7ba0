package e2e_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

var (
	tokenRE = regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b`)
	pinRE   = regexp.MustCompile(`sha256:[0-9a-f]{64}`)
)

func TestTokens(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	token := createToken(t, h, "--ttl", "1h", "--description", "for the east")
	id, secret, _ := strings.Cut(token, ".")

	object, err := h.client.CoreV1().Secrets("kube-system").Get(t.Context(), "bootstrap-token-"+id, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if object.Type != "bootstrap.kubernetes.io/token" || string(object.Data["token-secret"]) != secret || string(object.Data["description"]) != "for the east" {
		t.Errorf("the token's Secret is of type %s with keys %v", object.Type, object.Data)
	}
	expiration, err := time.Parse(time.RFC3339, string(object.Data["expiration"]))
	if err != nil || time.Until(expiration) > time.Hour || time.Until(expiration) < 50*time.Minute {
		t.Errorf("expiration %s (%v), want one in an hour", object.Data["expiration"], err)
	}
	eventually(t, "cluster-info is signed for the token", func(ctx context.Context) bool {
		info, err := h.client.CoreV1().ConfigMaps("kube-public").Get(ctx, "cluster-info", metav1.GetOptions{})
		return err == nil && info.Data["jws-kubeconfig-"+id] != ""
	})

	list := mustRun(t, "muster", "token", "list", "--kubeconfig", h.Kubeconfig).stdout
	if !strings.Contains(list, id) || !strings.Contains(list, "for the east") {
		t.Errorf("muster token list prints\n%s", list)
	}
	command := mustRun(t, "muster", "token", "create", "--kubeconfig", h.Kubeconfig, "--print-register-command").stdout
	for what, re := range map[string]*regexp.Regexp{"token": tokenRE, "pin": pinRE, "address": regexp.MustCompile(regexp.QuoteMeta(h.Address))} {
		if !re.MatchString(command) {
			t.Errorf("the register command has no %s:\n%s", what, command)
		}
	}
	mustRun(t, "muster", "token", "delete", id, "--kubeconfig", h.Kubeconfig)
	if _, err := h.client.CoreV1().Secrets("kube-system").Get(t.Context(), "bootstrap-token-"+id, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the deleted token's Secret: %v, want not found", err)
	}
	awaitUnauthorized(t, h, token, "late")
}

// awaitUnauthorized waits until a token is none any more: whoever checks tokens is
// told of each change a moment later.
func awaitUnauthorized(t testing.TB, h *hub, token, cluster string) {
	t.Helper()
	eventually(t, "the token for "+cluster+" to be answered 401", func(ctx context.Context) bool {
		_, err := requestCertificate(ctx, bootstrapConfig(t, h, token), cluster+"-abcde", "system:karmada:agent:"+cluster)
		if err == nil {
			_ = h.client.CertificatesV1().CertificateSigningRequests().Delete(ctx, cluster+"-abcde", metav1.DeleteOptions{})
		}
		return apierrors.IsUnauthorized(err)
	})
}

func TestWrongAndExpiredTokens(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	token := createToken(t, h)
	id, _, _ := strings.Cut(token, ".")
	expired := createToken(t, h, "--ttl", "2s")
	awaitUnauthorized(t, h, expired, "expired")
	for what, wrong := range map[string]string{
		"an unknown id":  "aaaaaa." + token[7:],
		"a wrong secret": id + ".aaaaaaaaaaaaaaaa",
		"no secret":      id + ".",
	} {
		_, err := requestCertificate(t.Context(), bootstrapConfig(t, h, wrong), "wrong-abcde", "system:karmada:agent:wrong")
		if !apierrors.IsUnauthorized(err) && !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v, want a refusal", what, err)
		}
	}
}

// pullToken creates a pull registration through REST and returns its token.
func pullToken(t testing.TB, h *hub, clusterName string) string {
	t.Helper()
	var created struct {
		Secret string `json:"secret"`
	}
	must(t, admin(t, h), "POST", "/api/v1/registrations", map[string]any{"flavour": "pull", "clusterName": clusterName}, &created)
	if !tokenRE.MatchString(created.Secret) {
		t.Fatalf("the registration's secret %q is no token", created.Secret)
	}
	return created.Secret
}

func TestOneClusterToken(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	token := pullToken(t, h, "first")

	bootstrap(t, h, token, "first-abcde", "system:karmada:agent:first")
	bootstrap(t, h, token, "first-retry", "system:karmada:agent:first") // a retry by the same cluster

	_, err := requestCertificate(t.Context(), bootstrapConfig(t, h, token), "second-abcde", "system:karmada:agent:second")
	if !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) && !apierrors.IsConflict(err) {
		t.Errorf("a token bound to first asks for second: %v, want a refusal", err)
	}
	unbound := createToken(t, h)
	bootstrap(t, h, unbound, "third-abcde", "system:karmada:agent:third")
	bootstrap(t, h, unbound, "fourth-abcde", "system:karmada:agent:fourth")

	// What a token may: create and read its own CSRs, nothing else.
	client := kubernetes.NewForConfigOrDie(bootstrapConfig(t, h, token))
	if _, err := client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a token lists namespaces: %v, want forbidden", err)
	}
	if _, err := client.CertificatesV1().CertificateSigningRequests().Get(t.Context(), "third-abcde", metav1.GetOptions{}); !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) {
		t.Errorf("a token reads another's CSR: %v, want a refusal", err)
	}
}
