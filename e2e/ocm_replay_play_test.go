package e2e_test

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"muster.dev/muster/backend/controlplane/controlplanetest"
)

// ocmPatience is how long an answer that depends on the hub's controllers may take.
const ocmPatience = time.Minute

// The definitions of kinds come in protobuf as well.
var _ = apiextensionsv1.AddToScheme(scheme.Scheme)

// ocmReplay is one life of a hub into which the scenarios of Open Cluster
// Management are played one after another.
type ocmReplay struct {
	*identities
	deviations []*deviation
	hub        *hub
	swap       map[string]string // recorded UID or generated name → ours
	keys       map[string][]byte // agent's user → private key
	requests   map[string]string // agent's user → its certificate request
}

// TestOCMReplay plays what unmodified clients and agents of Open Cluster
// Management sent to the original hub against ours: same status codes, at least
// the same fields.
func TestOCMReplay(t *testing.T) {
	t.Parallel()
	for _, life := range ocmLives {
		t.Run(life.name, func(t *testing.T) {
			t.Parallel()
			life.play(t)
		})
	}
}

// play plays the scenarios of one life of a hub.
func (life ocmLife) play(t *testing.T) {
	t.Helper()
	h := startHub(t, life.flags...)
	concerned := slices.DeleteFunc(fresh(ocmDeviations), func(d *deviation) bool { return d.scenario != "" && !life.has(d.scenario) })
	r := &ocmReplay{
		identities: newIdentities(h.admin(t)), hub: h, deviations: concerned,
		swap: map[string]string{}, keys: map[string][]byte{}, requests: map[string]string{},
	}
	for _, s := range life.scenarios {
		t.Run(s.name, func(t *testing.T) {
			lines := readRecording(t, "ocm/"+s.name)
			if s.prepare != nil {
				s.prepare(t, r, lines)
			}
			for number, l := range lines {
				r.play(t, s.name, number+1, l)
			}
			if s.check != nil {
				s.check(t, r)
			}
		})
	}
	demandAll(t, r.deviations)
}

// TestOCMRecordings: each recording that is kept is played; of those that were made
// and are not kept, ocmUnplayed says why.
func TestOCMRecordings(t *testing.T) {
	t.Parallel()
	kept := map[string]bool{}
	for _, life := range ocmLives {
		for _, s := range life.scenarios {
			kept[s.name] = true
			if ocmUnplayed[s.name] != "" {
				t.Errorf("recording %s is played, and said not to be", s.name)
			}
		}
	}
	here := recordings(t, filepath.Join("wire", "ocm"))
	for _, name := range here {
		if !kept[name] {
			t.Errorf("recording %s is kept, and never played", name)
		}
	}
	if len(here) != len(kept) {
		t.Errorf("%d recordings are played, %d are kept", len(kept), len(here))
	}
}

// recordings are the names of those in a folder; none where there is no folder.
func recordings(t *testing.T, folder string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".jsonl"))
	}
	return names
}

// play sends one recorded request and compares the answer. What depends on the
// hub's controllers is asked for again, and so is a write that met another one, as
// the clients did.
func (r *ocmReplay) play(t *testing.T, scenario string, number int, l line) {
	t.Helper()
	want, d := l.Code, deviationOf(r.deviations, scenario, l)
	if d != nil {
		if d.skip {
			return
		}
		if d.code != 0 {
			want = d.code
		}
	}
	r.signIn(t, l.User)
	r.awaitMarks(t, l)
	var got answer
	var complaints []string
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, ocmPatience, true, func(ctx context.Context) (bool, error) {
		own := l
		own.URI = r.ours(l.URI)
		own.Resp = rewrite(clone(l.Resp), r.ours)
		body, err := r.fill(t, own)
		if err != nil {
			return false, err
		}
		if got, err = r.send(ctx, own, own.URI, body); err != nil {
			return false, err
		}
		r.meet(l.Resp, got.body)
		own.Resp = rewrite(clone(l.Resp), r.ours)
		complaints = (&replay{}).judge(own, want, got, d)
		again := l.Method == http.MethodGet || got.code == http.StatusConflict && want != http.StatusConflict
		return len(complaints) == 0 || !again, nil
	})
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		complaints = append(complaints, err.Error())
	}
	r.forget(l)
	if len(complaints) > 0 {
		t.Errorf("line %d, %s: %s %s:\n  %s", number, l.User, l.Method, l.URI, strings.Join(complaints, "\n  "))
	}
}

// signIn gets a recorded user the credential of it at this hub.
func (r *ocmReplay) signIn(t *testing.T, user string) {
	t.Helper()
	switch {
	case r.configs[user] != nil:
	case user == ocmAccountUser:
		r.configs[user] = bootstrapConfig(t, r.hub, ocmToken(t, r.hub))
	case r.requests[user] != "":
		config := rest.AnonymousClientConfig(r.admin)
		config.CertData, config.KeyData = r.hub.awaitIssued(t, r.requests[user]), r.keys[user]
		r.configs[user] = config
	}
}

// meet notes which object of ours a recorded one stands for.
func (r *ocmReplay) meet(recorded, own any) {
	for _, keys := range [][]string{{"metadata", "uid"}, {"metadata", "name"}} {
		was, _ := dig(recorded, keys...).(string)
		is, _ := dig(own, keys...).(string)
		if generated := dig(recorded, "metadata", "generateName") != nil; was != "" && is != "" && was != is && (keys[1] == "uid" || generated) {
			r.swap[was] = is
		}
	}
	if name, user := dig(own, "metadata", "name"), requestedUser(recorded); user != "" && name != nil && r.requests[user] == "" {
		r.requests[user] = name.(string)
	}
}

// hubsMarks are what the hub puts on objects by itself, a while after their making.
var hubsMarks = [][]string{
	{"metadata", "deletionTimestamp"},
	{"metadata", "annotations", "open-cluster-management.io/automatically-accepted-on"},
}

// awaitMarks waits for what the hub had done to an object by the time that it was
// changed, as the recorded client did.
func (r *ocmReplay) awaitMarks(t *testing.T, l line) {
	t.Helper()
	if l.Method != http.MethodPut && l.Method != http.MethodPatch {
		return
	}
	path := strings.TrimSuffix(r.ours(l.path()), "/status")
	for _, mark := range hubsMarks {
		if dig(l.Resp, mark...) == nil {
			continue
		}
		eventually(t, path+" has "+strings.Join(mark, "."), func(context.Context) bool {
			return dig(r.fetchPlain(t, path), mark...) != nil
		})
	}
}

// forget: who has no certificate yet gets none from a request that was deleted.
func (r *ocmReplay) forget(l line) {
	path := r.ours(l.path())
	for user, name := range r.requests {
		if l.Method == http.MethodDelete && path == requestsPath+"/"+name && r.configs[user] == nil {
			delete(r.requests, user)
			delete(r.keys, user)
		}
	}
}

func (r *ocmReplay) ours(text string) string {
	for was, is := range r.swap {
		text = strings.ReplaceAll(text, was, is)
	}
	return text
}

// rewrite changes all strings in a JSON value.
func rewrite(value any, change func(string) string) any {
	switch v := value.(type) {
	case string:
		return change(v)
	case map[string]any:
		for key := range v {
			v[key] = rewrite(v[key], change)
		}
	case []any:
		for i := range v {
			v[i] = rewrite(v[i], change)
		}
	}
	return value
}

// fill makes the recorded body what the client would send to this hub.
func (r *ocmReplay) fill(t *testing.T, l line) (any, error) {
	t.Helper()
	body, ok := rewrite(clone(l.Req), func(text string) string { return unredacted(r.ours(text)) }).(map[string]any)
	if !ok {
		return l.Req, nil
	}
	path, approval := strings.CutSuffix(l.path(), "/approval")
	path = strings.TrimSuffix(path, "/status")
	switch {
	case approval: // based on what the client had read
		current := r.fetchPlain(t, path)
		if current == nil {
			return nil, fmt.Errorf("%s is not there", path)
		}
		current["status"] = body["status"]
		for _, condition := range asList(dig(body, "status", "conditions")) {
			condition.(map[string]any)["lastUpdateTime"] = time.Now().UTC().Format(time.RFC3339) // a denial of yesterday has been cleaned up
		}
		return current, nil
	case body["kind"] == "CertificateSigningRequest":
		return body, r.fillRequest(body)
	case body["kind"] == "Lease":
		body["spec"].(map[string]any)["renewTime"] = time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")
	}
	if l.Method == http.MethodPut || l.Method == http.MethodPatch {
		r.fillChange(t, l, path, body)
	}
	return body, nil
}

// ocmTokenSecret is the second half of the bootstrap token ocmhub.
const ocmTokenSecret = "0123456789abcdef"

// unredacted puts something of the kind into what was cut out of a recording. What
// was said of a request is not read: fillRequest makes a new one.
func unredacted(text string) string {
	switch {
	case strings.HasPrefix(text, "<redacted: token-secret"):
		return ocmTokenSecret
	case strings.HasPrefix(text, "<redacted: CA"):
		return base64.StdEncoding.EncodeToString([]byte("ca"))
	case strings.HasPrefix(text, "<plain: \ufffd"):
		return "true"
	case strings.HasPrefix(text, "<plain: "):
		return strings.TrimSuffix(strings.TrimPrefix(text, "<plain: "), ">")
	}
	return text
}

// fillChange bases a change on the object as our hub has it.
func (r *ocmReplay) fillChange(t *testing.T, l line, path string, body map[string]any) {
	t.Helper()
	metadata, _ := body["metadata"].(map[string]any)
	taints := asList(dig(body, "spec", "taints"))
	if metadata["resourceVersion"] == nil && len(taints) == 0 {
		return
	}
	current := r.fetchPlain(t, path)
	if current == nil {
		return
	}
	if metadata["resourceVersion"] != nil {
		metadata["resourceVersion"], metadata["uid"] = dig(current, "metadata", "resourceVersion"), dig(current, "metadata", "uid")
	}
	if l.Code == http.StatusConflict {
		metadata["resourceVersion"] = "1"
	}
	for _, taint := range taints {
		for _, known := range asList(dig(current, "spec", "taints")) {
			if dig(taint, "timeAdded") != nil && dig(taint, "key") == dig(known, "key") {
				taint.(map[string]any)["timeAdded"] = dig(known, "timeAdded")
			}
		}
	}
}

var ocmSubjectRE = regexp.MustCompile(`^<redacted: certificate request, CN=(\S+) O=\[(.*?)\] `)

// requestedUser is whom a recorded certificate request is for.
func requestedUser(csr any) string {
	redacted, _ := dig(csr, "spec", "request").(string)
	if found := ocmSubjectRE.FindStringSubmatch(redacted); found != nil {
		return found[1]
	}
	return ""
}

// fillRequest puts a certificate request for the recorded subject into a body. The
// first key of a user is the one that it signs in with.
func (r *ocmReplay) fillRequest(body map[string]any) error {
	spec := body["spec"].(map[string]any)
	redacted, _ := spec["request"].(string)
	found := ocmSubjectRE.FindStringSubmatch(redacted)
	if found == nil {
		return fmt.Errorf("no subject in %q", redacted)
	}
	key, keyPEM, err := controlplanetest.NewKey()
	if err != nil {
		return err
	}
	subject := pkix.Name{CommonName: found[1]}
	for organization := range strings.FieldsSeq(found[2]) {
		subject.Organization = append(subject.Organization, strings.Trim(organization, `"`))
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: subject}, key)
	if err != nil {
		return fmt.Errorf("sign certificate request: %w", err)
	}
	if r.keys[found[1]] == nil {
		r.keys[found[1]] = keyPEM
	}
	spec["request"] = base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
	return nil
}

// mustCreate creates an object as the administrator, for a recorded one.
func (r *ocmReplay) mustCreate(t *testing.T, path string, body, recorded any) {
	t.Helper()
	create := line{User: "system:admin", Method: http.MethodPost, Accept: "application/json", Type: "application/json"}
	got, err := r.send(t.Context(), create, path, body)
	if err != nil || got.code != http.StatusCreated {
		t.Fatalf("create at %s: %d %v %v", path, got.code, got.body, err)
	}
	r.meet(recorded, got.body)
}

// mustPatch merges into an object as the administrator.
func (r *ocmReplay) mustPatch(t *testing.T, path string, body any) {
	t.Helper()
	patch := line{User: "system:admin", Method: http.MethodPatch, Accept: "application/json", Type: string(types.MergePatchType)}
	if got, err := r.send(t.Context(), patch, path, body); err != nil || got.code != http.StatusOK {
		t.Fatalf("patch %s: %d %v %v", path, got.code, got.body, err)
	}
}
