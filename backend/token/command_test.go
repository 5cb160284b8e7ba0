package token_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/backend/token"
)

// newCA returns a self-signed certificate as PEM and its expected pin.
func newCA(t *testing.T) (caPEM []byte, pin string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	spki, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(spki)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), "sha256:" + hex.EncodeToString(sum[:])
}

func TestCAPins(t *testing.T) {
	first, firstPin := newCA(t)
	second, secondPin := newCA(t)
	pins, err := token.CAPins(append(first, second...))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{firstPin, secondPin}, pins); diff != "" {
		t.Errorf("pins (-want +got):\n%s", diff)
	}
	for name, bad := range map[string]string{"empty": "", "no PEM": "hello", "other block": "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"} {
		if _, err := token.CAPins([]byte(bad)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestCommands(t *testing.T) {
	ca, pin := newCA(t)
	commands, err := token.NewCommands("hub.example:6443", "abcdef.0123456789abcdef", ca, token.Placement{ClusterName: "edge-7", Region: "eu 1; rm -rf /", Zones: []string{"a", "b"}})
	if err != nil {
		t.Fatal(err)
	}
	tail := " register hub.example:6443 --token abcdef.0123456789abcdef --discovery-token-ca-cert-hash " + pin +
		" --cluster-name edge-7 --cluster-region 'eu 1; rm -rf /' --cluster-zones a,b"
	if want := "muster-agent" + tail; commands.Muster != want {
		t.Errorf("muster:\n%s\nwant\n%s", commands.Muster, want)
	}
	if want := "karmadactl" + tail; commands.Karmadactl != want {
		t.Errorf("karmadactl:\n%s\nwant\n%s", commands.Karmadactl, want)
	}
	manifest := commands.Manifest
	if strings.Contains(manifest, "insecure") || !strings.Contains(manifest, "--cacert") || !strings.Contains(manifest, "-H @-") {
		t.Errorf("the manifest command does not verify the hub or hides no token: %s", manifest)
	}
	if _, address, _ := strings.Cut(manifest, "https://"); strings.Contains(address, "0123456789abcdef") {
		t.Errorf("the manifest command has the token in its URL: %s", manifest)
	}
	if got, want := token.RegisterCommand("https://hub.example:6443", "t", []string{"p1", "p2"}), "muster-agent register hub.example:6443 --token t --discovery-token-ca-cert-hash p1,p2"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
