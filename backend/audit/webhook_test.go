package audit_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"muster.dev/muster/backend/access"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/database"
	"muster.dev/muster/backend/database/databasetest"
)

const receiverToken = "0123456789abcdef0123456789abcdef"

var received = time.Date(2026, 11, 21, 9, 0, 0, 123456000, time.UTC)

// told is an event as an API server sends it once a request has ended.
func told(id, user, verb, group, resource, name string, status int32) auditv1.Event {
	return auditv1.Event{
		Level: auditv1.LevelMetadata, AuditID: types.UID(id), Stage: auditv1.StageResponseComplete, Verb: verb,
		RequestURI: "/apis/" + group + "/v1/" + resource + "/" + name + "?fieldManager=hunter2", UserAgent: "kubectl/v1.36.3 (linux)", SourceIPs: []string{"203.0.113.9", "192.0.2.7"},
		User:                     authenticationv1.UserInfo{Username: user},
		ObjectRef:                &auditv1.ObjectReference{APIGroup: group, APIVersion: "v1", Resource: resource, Name: name},
		ResponseStatus:           &metav1.Status{Code: status},
		RequestReceivedTimestamp: metav1.NewMicroTime(received), StageTimestamp: metav1.NewMicroTime(received.Add(30 * time.Millisecond)),
	}
}

func batch(t *testing.T, events ...auditv1.Event) []byte {
	t.Helper()
	data, err := json.Marshal(auditv1.EventList{TypeMeta: metav1.TypeMeta{APIVersion: "audit.k8s.io/v1", Kind: "EventList"}, Items: events})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func newReceiver(t *testing.T, service *audit.Service) *audit.Receiver {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(receiverToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	receiver, err := audit.NewReceiver(service, audit.ReceiverOptions{TokenFile: file, Self: func() string { return "system:serviceaccount:muster:hub" }})
	if err != nil {
		t.Fatal(err)
	}
	return receiver
}

func post(t *testing.T, handler http.Handler, token string, body []byte) int {
	t.Helper()
	request := httptest.NewRequest(http.MethodPost, "/audit", bytes.NewReader(body))
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	return answer.Code
}

func TestReceiverRecords(t *testing.T) {
	const clusters, work = "cluster.open-cluster-management.io", "work.open-cluster-management.io"
	agent := "system:open-cluster-management:c1:abcde"
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		service := audit.NewService(db, &feed{})
		receiver := newReceiver(t, service)
		impersonated := told("i", "root", "delete", clusters, "managedclusters", "c5", 200)
		impersonated.ImpersonatedUser = &authenticationv1.UserInfo{Username: "carol"}
		ours := told("j", "system:serviceaccount:muster:hub", "patch", clusters, "managedclusters", "c6", 200)
		ours.ImpersonatedUser = &authenticationv1.UserInfo{Username: "muster:user:ann"}
		begun := told("k", "ann", "delete", clusters, "managedclusters", "c7", 0)
		begun.Stage = auditv1.StageRequestReceived
		broke := told("l", "ann", "update", clusters, "managedclusters", "c8", 500)
		broke.Stage = auditv1.StagePanic
		sent := batch(t,
			told("a", "ann", "patch", clusters, "managedclusters", "c1", 200),
			told("b", "ann", "get", clusters, "managedclusters", "c1", 200),
			told("c", agent, "patch", clusters, "managedclusters", "c1", 403),
			withSubresource(told("d", agent, "patch", clusters, "managedclusters", "c1", 200), "status"),
			withSubresource(told("e", agent, "patch", clusters, "managedclusters", "c2", 403), "status"),
			told("f", agent, "update", "coordination.k8s.io", "leases", "managed-cluster-lease", 200),
			told("g", "system:node:worker-1", "update", "", "nodes", "worker-1", 200),
			told("h", "system:serviceaccount:kube-system:deployment-controller", "create", "apps", "replicasets", "r", 201),
			impersonated, ours, begun, broke,
			told("m", "ann", "create", work, "manifestworks", "abcdef.0123456789abcdef", 201),
		)
		for range 2 { // an API server that got no answer sends the batch again
			if code := post(t, receiver, receiverToken, sent); code != http.StatusOK {
				t.Fatalf("answered %d", code)
			}
		}
		entry := func(verb, kind, name, actor string, outcome audit.Outcome, code string, more map[string]string) audit.Entry {
			detail := map[string]string{"client": "kubectl/v1.36.3", "received": "audit-webhook"}
			for key, value := range more {
				detail[key] = value
			}
			return audit.Entry{Verb: verb, Kind: kind, Name: name, Actor: actor, Outcome: outcome, Code: code, Detail: detail, Via: access.ViaHubAPI, Source: "192.0.2.7"}
		}
		got := map[string]audit.Entry{}
		for _, one := range list(t, service, audit.Filter{}) {
			id := one.RequestID
			if !one.At.Equal(received) || one.DurationMillis == nil || *one.DurationMillis != 30 {
				t.Errorf("%s: at %s for %v", id, one.At, one.DurationMillis)
			}
			one.RequestID = ""
			delete(one.Detail, "group") // of kinds that have no name of their own
			got[id] = one
		}
		kind, workKind := got["a"].Kind, got["m"].Kind
		want := map[string]audit.Entry{
			"a": entry("patch", kind, "c1", "ann", audit.OK, "", nil),
			"c": entry("patch", kind, "c1", agent, audit.Denied, "403", nil),
			"e": entry("patch", kind, "c2", agent, audit.Denied, "403", map[string]string{"subresource": "status"}),
			"i": entry("delete", kind, "c5", "carol", audit.OK, "", map[string]string{"impersonator": "root"}),
			"l": entry("update", kind, "c8", "ann", audit.Unknown, "panic", nil),
			"m": entry("create", workKind, "(masked)", "ann", audit.OK, "", nil),
		}
		if diff := cmp.Diff(want, got, uncertain); diff != "" {
			t.Errorf("record (-want +got):\n%s", diff)
		}
	})
}

func withSubresource(event auditv1.Event, name string) auditv1.Event {
	event.ObjectRef.Subresource = name
	return event
}

// TestReceiverTellsApart has two requests under one Audit-ID, which clients may choose.
func TestReceiverTellsApart(t *testing.T) {
	db := databasetest.Open(t)
	service := audit.NewService(db, &feed{})
	receiver := newReceiver(t, service)
	first, second := told("same", "ann", "delete", "", "configmaps", "a", 200), told("same", "ann", "delete", "", "configmaps", "b", 200)
	if code := post(t, receiver, receiverToken, batch(t, first, second)); code != http.StatusOK {
		t.Fatalf("answered %d", code)
	}
	if got := list(t, service, audit.Filter{}); len(got) != 2 {
		t.Errorf("%d entries, want 2", len(got))
	}
}

func TestReceiverRefuses(t *testing.T) {
	service := audit.NewService(databasetest.Open(t), &feed{})
	receiver := newReceiver(t, service)
	good := batch(t, told("a", "ann", "patch", "", "configmaps", "c", 200))
	for name, test := range map[string]struct {
		token string
		body  []byte
		want  int
	}{
		"nobody":      {"", good, http.StatusUnauthorized},
		"wrong token": {receiverToken + "x", good, http.StatusUnauthorized},
		"no list":     {receiverToken, []byte("{"), http.StatusBadRequest},
		"other list":  {receiverToken, []byte(`{"apiVersion":"v1","kind":"List"}`), http.StatusBadRequest},
		"too large":   {receiverToken, []byte(fmt.Sprintf(`{"apiVersion":"audit.k8s.io/v1","x":%q}`, strings.Repeat("x", 33<<20))), http.StatusRequestEntityTooLarge},
	} {
		if got := post(t, receiver, test.token, test.body); got != test.want {
			t.Errorf("%s: answered %d, want %d", name, got, test.want)
		}
	}
	if got := list(t, service, audit.Filter{}); len(got) != 0 {
		t.Errorf("%d entries, want none", len(got))
	}
	short := filepath.Join(t.TempDir(), "short")
	if err := os.WriteFile(short, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := audit.NewReceiver(service, audit.ReceiverOptions{TokenFile: short}); err == nil {
		t.Error("a short token is taken")
	}
}

// TestReceiverTrustsVerifiedCertificates has no token: the listener has verified the sender.
func TestReceiverTrustsVerifiedCertificates(t *testing.T) {
	service := audit.NewService(databasetest.Open(t), &feed{})
	receiver, err := audit.NewReceiver(service, audit.ReceiverOptions{Self: func() string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		chains [][]*x509.Certificate
		want   int
	}{"verified": {[][]*x509.Certificate{{{}}}, http.StatusOK}, "none": {nil, http.StatusUnauthorized}} {
		request := httptest.NewRequest(http.MethodPost, "/audit", bytes.NewReader(batch(t)))
		request.TLS = &tls.ConnectionState{VerifiedChains: test.chains}
		answer := httptest.NewRecorder()
		receiver.ServeHTTP(answer, request)
		if answer.Code != test.want {
			t.Errorf("%s: answered %d, want %d", name, answer.Code, test.want)
		}
	}
}

// TestMarkStaleUnknown leaves what another hub on the same database has under way.
func TestMarkStaleUnknown(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		one, other := audit.NewService(db, &feed{}), audit.NewService(db, &feed{})
		ctx := as(t.Context(), "ann", access.RoleAdmin)
		err := one.Do(ctx, audit.Action{Verb: "delete", Kind: "Cluster", Name: "edge-7"}, func(context.Context) error {
			closed, err := other.MarkStaleUnknown(t.Context())
			if closed != 0 {
				t.Errorf("closed %d that are under way", closed)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := one.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := list(t, other, audit.Filter{}); len(got) != 1 || got[0].Outcome != audit.OK {
			t.Errorf("got %+v", got)
		}
	})
}
