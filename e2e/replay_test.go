package e2e_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"muster.dev/muster/backend/controlplane/controlplanetest"
)

// replayPatience is how long an answer that depends on the hub's controllers
// may take. The recorded clients polled longer.
const replayPatience = time.Minute

// replay is one life of a hub with three members, into which the scenarios are
// played one after another.
type replay struct {
	*identities
	deviations []*deviation
	hub        *hub
	members    map[string]*controlplanetest.Member
	ids        map[string]string            // member → UID of its kube-system
	secrets    map[string]map[string]string // hub Secret → key → value, as the client would have read it
	uids       map[string]string            // recorded UID → ours
	propagates bool                         // what members hold and tables show is the hub's doing, and compared
}

// TestReplay plays what unmodified clients sent to the original hub against
// ours: same status codes, at least the same fields.
func TestReplay(t *testing.T) {
	r := startReplay(t)
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			if s.prepare != nil {
				s.prepare(t, r)
			}
			lines := readRecording(t, s.name)
			r.createWorks(t, lines)
			for number, l := range lines {
				r.play(t, s.name, number+1, l)
			}
		})
	}
	demandAll(t, r.deviations)
}

func readRecording(t *testing.T, name string) []line {
	t.Helper()
	file, err := os.Open(filepath.Join("wire", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var lines []line
	in := bufio.NewScanner(file)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var l line
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		lines = append(lines, l)
	}
	return lines
}

// play sends one recorded request and compares the answer. An answer that waits
// for the hub's controllers is asked for again, as the clients did.
func (r *replay) play(t *testing.T, scenario string, number int, l line) {
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
	var got answer
	var complaints []string
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, replayPatience, true, func(ctx context.Context) (bool, error) {
		var err error
		if got, err = r.once(ctx, t, l); err != nil {
			return false, err
		}
		complaints = r.judge(l, want, got, d)
		// A write that met one of the hub's own is based on a newer version.
		repeats := l.Method == http.MethodGet || want == http.StatusNotFound || got.code == http.StatusConflict && want != http.StatusConflict
		return len(complaints) == 0 || !repeats, nil
	})
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		complaints = append(complaints, err.Error())
	}
	if csr, ok := got.body.(map[string]any); ok && csr["kind"] == "CertificateSigningRequest" {
		if err := r.learn(csr); err != nil {
			t.Error(err)
		}
	}
	if len(complaints) > 0 {
		t.Errorf("line %d, %s: %s %s:\n  %s", number, l.User, l.Method, l.URI, strings.Join(complaints, "\n  "))
	}
}

func (r *replay) once(ctx context.Context, t *testing.T, l line) (answer, error) {
	body, err := r.fill(t, l)
	if err != nil {
		return answer{}, err
	}
	asked, uri := r.direct(l)
	got, err := r.send(ctx, asked, uri, body)
	if err == nil {
		r.meet(l.Resp, got.body)
	}
	return got, err
}

// meet notes which object of ours a recorded one stands for.
func (r *replay) meet(recorded, own any) {
	if was, is := dig(recorded, "metadata", "uid"), dig(own, "metadata", "uid"); was != nil && is != nil {
		r.uids[was.(string)] = is.(string)
	}
	if r.propagates {
		r.meetIDs(recorded, own)
	}
	for _, key := range []string{"items", "rows"} {
		for _, item := range asList(dig(recorded, key)) {
			label, named := identity(item)
			for _, other := range asList(dig(own, key)) {
				if same, _ := identity(other); named && same == label {
					r.meet(item, other)
					r.meet(dig(item, "object"), dig(other, "object"))
				}
			}
		}
	}
}

// ours puts the UIDs of our objects in place of the recorded ones.
func (r *replay) ours(uri string) string {
	for was, is := range r.uids {
		uri = strings.ReplaceAll(uri, was, is)
	}
	return uri
}

func (r *replay) judge(l line, want int, got answer, d *deviation) []string {
	if got.code != want {
		text, _ := json.Marshal(got.body)
		return []string{fmt.Sprintf("answered %d, recorded %d: %.300s", got.code, want, text)}
	}
	if l.Events != nil {
		if slices.Contains(l.Events, "BOOKMARK") && l.T >= 0 && !strings.Contains(l.Accept, protobufType) && !slices.Contains(got.seen, "BOOKMARK") {
			return []string{fmt.Sprintf("no bookmark after the initial events, only %v", got.seen)}
		}
		return nil
	}
	if want != l.Code || l.Resp == nil {
		return nil // another outcome by design; its body is not the recorded one
	}
	recorded := l.Resp
	if strings.Contains(l.URI, "/proxy/") && l.Code < 300 && (!r.propagates || ofMember(l.URI)) {
		// What a member holds is its own; that its answer comes through is ours.
		recorded = map[string]any{"kind": dig(recorded, "kind"), "apiVersion": dig(recorded, "apiVersion")}
	}
	if r.propagates {
		var err error
		if recorded, err = r.withOurs(recorded); err != nil {
			return []string{err.Error()}
		}
	}
	complaints := missing(recorded, got.body, got.sent, "")
	if r.propagates {
		complaints = append(complaints, unlike(recorded, got.body, "")...)
	}
	if d != nil {
		complaints = slices.DeleteFunc(complaints, func(c string) bool {
			return slices.ContainsFunc(d.fields, func(f string) bool { return strings.Contains(c, f) })
		})
	}
	slices.Sort(complaints)
	return complaints
}

// fill makes the recorded body what the client would send to this hub: its own
// ids, addresses, secrets and certificate requests instead of the recorded ones.
func (r *replay) fill(t *testing.T, l line) (any, error) {
	body, ok := clone(l.Req).(map[string]any)
	if !ok {
		return l.Req, nil
	}
	delete(body, "$decoded")
	if r.propagates {
		out, err := r.withOurs(body)
		return prune(out), err
	}
	switch body["kind"] {
	case "Secret":
		return body, r.fillSecret(body)
	case "CertificateSigningRequest":
		spec := body["spec"].(map[string]any)
		request, err := r.request(dig(body, "metadata", "name").(string), spec["request"].(string))
		spec["request"] = request
		return body, err
	case "Cluster":
		r.fillCluster(body)
	}
	for _, reference := range append(asList(dig(body, "metadata", "ownerReferences")), body["involvedObject"]) {
		if object, ok := reference.(map[string]any); ok && object["uid"] != nil {
			object["uid"] = r.ours(object["uid"].(string))
		}
	}
	if l.Method == http.MethodPut {
		r.fillUpdate(t, l, body)
	}
	return prune(body), nil
}

// fillUpdate bases a PUT on the object as our hub has it: what the client had
// read before, changed in what the client changes.
func (r *replay) fillUpdate(t *testing.T, l line, body map[string]any) {
	path, ofStatus := strings.CutSuffix(l.path(), "/status")
	current := r.fetchPlain(t, path)
	if current == nil {
		return
	}
	if dig(body, "metadata", "deletionTimestamp") != nil && dig(current, "metadata", "deletionTimestamp") == nil {
		// The recorded scheduler had withdrawn it meanwhile.
		if _, err := r.send(t.Context(), line{User: "system:admin", Method: http.MethodDelete, Accept: "application/json"}, path, nil); err != nil {
			t.Error(err)
		}
		current = r.fetchPlain(t, path)
	}
	metadata := current["metadata"].(map[string]any)
	if !ofStatus {
		delete(metadata, "finalizers")
		if finalizers := dig(body, "metadata", "finalizers"); finalizers != nil {
			metadata["finalizers"] = finalizers
		}
	}
	if l.Code == http.StatusConflict {
		metadata["resourceVersion"] = "1"
	}
	body["metadata"] = metadata
	if ofStatus {
		body["spec"] = current["spec"]
	}
}

func (r *replay) fillCluster(body map[string]any) {
	spec, _ := body["spec"].(map[string]any)
	if spec == nil {
		return
	}
	name, _ := dig(body, "metadata", "name").(string)
	if m := r.members[name]; m != nil {
		spec["id"], spec["apiEndpoint"] = r.ids[name], m.Server
	}
}

// fillSecret puts real values in place of what the recording hides.
func (r *replay) fillSecret(body map[string]any) error {
	name, _ := dig(body, "metadata", "name").(string)
	data := body["data"].(map[string]any)
	if id, isToken := strings.CutPrefix(name, "bootstrap-token-"); isToken {
		r.fillToken(id, data)
		return nil
	}
	for key := range data {
		value, ok := r.secrets[name][key]
		if !ok {
			return fmt.Errorf("no %s for secret %s", key, name)
		}
		data[key] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	return nil
}

func (r *replay) fillToken(id string, data map[string]any) {
	secret := strings.Repeat(id, 3)[:16]
	r.tokens[id] = id + "." + secret
	data["token-secret"] = base64.StdEncoding.EncodeToString([]byte(secret))
	if data["expiration"] != nil {
		data["expiration"] = base64.StdEncoding.EncodeToString([]byte(time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339)))
	}
}

var workPathRE = regexp.MustCompile(`^/apis/work\.karmada\.io/v1alpha1/namespaces/(karmada-es-[^/]+)/works/([^/]+)`)

// createWorks makes the Works that the recorded scheduler had made for the
// objects of its users. Those of the proxy's rights are our own hub's to make.
func (r *replay) createWorks(t *testing.T, lines []line) {
	t.Helper()
	for _, l := range lines {
		found := workPathRE.FindStringSubmatch(l.path())
		if found == nil || strings.HasPrefix(found[2], "karmada-impersonator") || l.Code >= 300 {
			continue
		}
		from, _ := l.Req.(map[string]any)
		if from == nil || from["spec"] == nil {
			from, _ = l.Resp.(map[string]any)
		}
		if from == nil || from["kind"] != "Work" || r.fetchPlain(t, found[0]) != nil {
			continue
		}
		metadata := map[string]any{"name": found[2], "namespace": found[1], "finalizers": []any{"karmada.io/execution-controller"}}
		for _, key := range []string{"labels", "annotations"} {
			if value := dig(from, "metadata", key); value != nil {
				metadata[key] = value
			}
		}
		work := map[string]any{"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work", "metadata": metadata, "spec": prune(clone(from["spec"]))}
		r.mustPost(t, "/apis/work.karmada.io/v1alpha1/namespaces/"+found[1]+"/works", work)
		if recorded, _ := l.Resp.(map[string]any); recorded["status"] != nil && found[1] == "karmada-es-member3" {
			r.reportWork(t, found[0], recorded["status"])
		}
	}
}

// reportWork writes a Work's status, as the agent that is not there had done.
func (r *replay) reportWork(t *testing.T, path string, status any) {
	t.Helper()
	work := r.fetchPlain(t, path)
	if work == nil || status == "$sameAsRequest" {
		return
	}
	work["status"] = status
	got, err := r.send(t.Context(), line{User: "system:admin", Method: http.MethodPut, Accept: "application/json", Type: "application/json"}, path+"/status", work)
	if err != nil || got.code != http.StatusOK {
		t.Fatalf("report %s: %d %v %v", path, got.code, got.body, err)
	}
}

func (r *replay) mustPost(t *testing.T, path string, body any) {
	t.Helper()
	got, err := r.send(t.Context(), line{User: "system:admin", Method: http.MethodPost, Accept: "application/json", Type: "application/json"}, path, body)
	if err != nil {
		t.Fatal(err)
	}
	if got.code >= 300 && got.code != http.StatusConflict {
		t.Fatalf("create %s: %d %v", path, got.code, got.body)
	}
}

func asList(value any) []any {
	list, _ := value.([]any)
	return list
}

func clone(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := maps.Clone(v)
		for key := range out {
			out[key] = clone(out[key])
		}
		return out
	case []any:
		out := slices.Clone(v)
		for i := range out {
			out[i] = clone(out[i])
		}
		return out
	}
	return value
}

// prune drops the marks of what was cut from a body that is to be sent.
func prune(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = prune(v[key])
		}
	case []any:
		v = slices.DeleteFunc(v, func(item any) bool { return dig(item, "$omitted") != nil })
		for i := range v {
			v[i] = prune(v[i])
		}
		return v
	}
	return value
}
