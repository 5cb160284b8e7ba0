package e2e_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

const protobufType = "application/vnd.kubernetes.protobuf"

// line is one recorded request with its answer; see wire/README.md.
type line struct {
	T      int      `json:"t"`
	Client string   `json:"client"`
	User   string   `json:"user"`
	As     string   `json:"as"`
	Bearer bool     `json:"bearer"`
	Method string   `json:"method"`
	URI    string   `json:"uri"`
	Accept string   `json:"accept"`
	Type   string   `json:"type"`
	Code   int      `json:"code"`
	Req    any      `json:"req"`
	Resp   any      `json:"resp"`
	Events []string `json:"events"`
}

func (l line) path() string {
	path, _, _ := strings.Cut(l.URI, "?")
	return path
}

// answer is what our hub said to a replayed request.
type answer struct {
	code int
	body any      // decoded JSON; text when it was not JSON
	sent any      // the request's body as it was sent, secrets and ids filled in
	seen []string // types of a watch's first events
}

// identities are the clients of a replay, by the name the hub knows them under.
type identities struct {
	admin   *rest.Config
	tokens  map[string]string          // bootstrap token id → token
	keys    map[string]*rsa.PrivateKey // CSR name → key
	configs map[string]*rest.Config    // user → configuration
}

func newIdentities(admin *rest.Config) *identities {
	return &identities{admin: admin, tokens: map[string]string{}, keys: map[string]*rsa.PrivateKey{}, configs: map[string]*rest.Config{}}
}

// config is the client configuration of a user; anonymous when it has none.
func (i *identities) config(user string) (*rest.Config, error) {
	switch id, isToken := strings.CutPrefix(user, "system:bootstrap:"); {
	case user == "system:admin":
		return rest.CopyConfig(i.admin), nil
	case user == "system:anonymous":
		return rest.AnonymousClientConfig(i.admin), nil
	case isToken:
		config := rest.AnonymousClientConfig(i.admin)
		config.BearerToken = i.tokens[id]
		return config, nil
	case i.configs[user] != nil:
		return rest.CopyConfig(i.configs[user]), nil
	}
	return nil, fmt.Errorf("user %s has no credential in this replay", user)
}

var subjectRE = regexp.MustCompile(`subject O = ([^,]+), CN = ([^;]+);`)

// request makes a certificate request for the subject a recording names and
// keeps its key under the CSR's name.
func (i *identities) request(csr, redacted string) (string, error) {
	found := subjectRE.FindStringSubmatch(redacted)
	if found == nil {
		return "", fmt.Errorf("no subject in %q", redacted)
	}
	key, err := rsa.GenerateKey(rand.Reader, 3072)
	if err != nil {
		return "", fmt.Errorf("generate key: %w", err)
	}
	subject := pkix.Name{Organization: []string{strings.TrimSpace(found[1])}, CommonName: strings.TrimSpace(found[2])}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: subject}, key)
	if err != nil {
		return "", fmt.Errorf("sign certificate request: %w", err)
	}
	i.keys[csr] = key
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})), nil
}

// learn takes the certificate out of an issued CSR: its user acts with it from
// then on.
func (i *identities) learn(csr map[string]any) error {
	name, _ := dig(csr, "metadata", "name").(string)
	encoded, _ := dig(csr, "status", "certificate").(string)
	key := i.keys[name]
	if key == nil || encoded == "" {
		return nil
	}
	certPEM, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return fmt.Errorf("decode certificate: %w", err)
	}
	block, _ := pem.Decode(certPEM)
	if block == nil {
		return errors.New("the issued certificate is not PEM")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return fmt.Errorf("parse certificate: %w", err)
	}
	config := rest.AnonymousClientConfig(i.admin)
	config.CertData = certPEM
	config.KeyData = pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	i.configs[cert.Subject.CommonName] = config
	return nil
}

// send plays one request and reads the answer, of a watch its first events.
func (i *identities) send(ctx context.Context, l line, uri string, body any) (answer, error) {
	config, err := i.config(l.User)
	if err != nil {
		return answer{}, err
	}
	roundTripper, err := rest.TransportFor(config)
	if err != nil {
		return answer{}, fmt.Errorf("make transport: %w", err)
	}
	if l.As != "" {
		roundTripper = transport.NewImpersonatingRoundTripper(transport.ImpersonationConfig{UserName: l.As, Groups: []string{"system:authenticated"}}, roundTripper)
	}
	data, err := encode(body, l.Type)
	if err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, l.Method, config.Host+uri, bytes.NewReader(data))
	if err != nil {
		return answer{}, fmt.Errorf("make request: %w", err)
	}
	request.Header.Set("Accept", l.Accept)
	if l.Type != "" {
		request.Header.Set("Content-Type", l.Type)
	}
	client := &http.Client{Transport: roundTripper}
	if l.Code == http.StatusNotModified {
		// The client had the document in its cache: get it there first.
		response, err := client.Do(request)
		if err != nil {
			return answer{}, fmt.Errorf("%s %s: %w", l.Method, uri, err)
		}
		_ = response.Body.Close()
		request.Header.Set("If-None-Match", response.Header.Get("Etag"))
	}
	response, err := client.Do(request)
	if err != nil {
		return answer{}, fmt.Errorf("%s %s: %w", l.Method, uri, err)
	}
	defer response.Body.Close()
	out := answer{code: response.StatusCode, sent: body}
	if l.Events != nil && response.StatusCode == http.StatusOK {
		out.seen, err = readWatch(response, strings.Contains(uri, "sendInitialEvents=true"))
		return out, err
	}
	raw, err := io.ReadAll(io.LimitReader(response.Body, 16<<20))
	if err != nil {
		return out, fmt.Errorf("read answer: %w", err)
	}
	out.body, err = decode(raw, response.Header.Get("Content-Type"))
	return out, err
}

// readWatch reads until the bookmark that ends the initial events. A watch that
// was not asked for those is only seen to open.
func readWatch(response *http.Response, initial bool) ([]string, error) {
	if !initial || strings.Contains(response.Header.Get("Content-Type"), "protobuf") {
		return nil, nil
	}
	var seen []string
	for in := json.NewDecoder(response.Body); ; {
		var event struct {
			Type   string         `json:"type"`
			Object map[string]any `json:"object"`
		}
		if err := in.Decode(&event); err != nil {
			return seen, fmt.Errorf("watch ended before its initial events did: %w", err)
		}
		seen = append(seen, event.Type)
		if event.Type == "BOOKMARK" && dig(event.Object, "metadata", "annotations", "k8s.io/initial-events-end") == "true" {
			return seen, nil
		}
	}
}

// encode writes a body in the content type it was recorded with.
func encode(body any, contentType string) ([]byte, error) {
	if body == nil {
		return nil, nil
	}
	data, err := json.Marshal(body)
	if err != nil || contentType != protobufType {
		return data, err
	}
	codec := scheme.Codecs.UniversalDeserializer()
	if kind, _ := dig(body, "kind").(string); kind == "DeleteOptions" {
		// Registered in every group; the one of meta encodes as all of them do.
		fields := body.(map[string]any)
		fields["apiVersion"] = "v1"
		if data, err = json.Marshal(fields); err != nil {
			return nil, err
		}
	}
	object, _, err := codec.Decode(data, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", data, err)
	}
	var out bytes.Buffer
	err = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(object, &out)
	return out.Bytes(), err
}

// decode reads a JSON or protobuf body into plain JSON values.
func decode(raw []byte, contentType string) (any, error) {
	if strings.HasPrefix(contentType, protobufType) {
		serializer := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
		object, kind, err := serializer.Decode(raw, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("decode protobuf answer: %w", err)
		}
		return plain(object, kind)
	}
	var out any
	if json.Unmarshal(raw, &out) != nil {
		return map[string]any{"$text": string(raw)}, nil
	}
	return out, nil
}

func plain(object runtime.Object, kind *schema.GroupVersionKind) (any, error) {
	object.GetObjectKind().SetGroupVersionKind(*kind)
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var out any
	return out, json.Unmarshal(data, &out)
}

// dig follows keys into nested JSON objects; nil when one is missing.
func dig(value any, keys ...string) any {
	for _, key := range keys {
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = object[key]
	}
	return value
}

// fetchPlain reads an object as the administrator; nil when there is none.
func (i *identities) fetchPlain(t *testing.T, path string) map[string]any {
	t.Helper()
	got, err := i.send(t.Context(), line{User: "system:admin", Method: http.MethodGet, Accept: "application/json"}, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	object, _ := got.body.(map[string]any)
	if got.code != http.StatusOK {
		return nil
	}
	return object
}
