package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
)

const (
	ownID   = "11111111-2222-4333-8444-555555555555"
	otherID = "99999999-2222-4333-8444-555555555555"
)

// kept are the objects of a hub with one cluster.
var kept = map[string]string{
	"/registry/namespaces/es-c-00":    `{"name":"es-c-00","uid":"` + ownID + `"}`,
	"/registry/works/es-c-00/w":       `{"name":"w","namespace":"es-c-00","owner":"` + ownID + `","hub":"` + otherID + `"}`,
	"/registry/namespaces/kube":       `{"uid":"` + otherID + `"}`,
	"/registry/events/es-c-00/e":      `{"about":"` + ownID + `"}`,
	"/registry/configmaps/kube/names": `["c-00"]`,
}

func TestFill(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "etcd")
	if _, err := fill(t.Context(), dir, "c-00", 3); err == nil {
		t.Error("a hub that is not there was filled")
	}
	stored := storage(t, dir, kept)
	if len(stored) != len(kept) {
		t.Fatalf("%d objects stored", len(stored))
	}
	written, err := fill(t.Context(), dir, "c-00", 3)
	if err != nil || written != 4 {
		t.Fatalf("%d objects written, %v; want the 2 of the cluster twice", written, err)
	}
	stored = storage(t, dir, nil)
	if len(stored) != len(kept)+4 {
		t.Errorf("stored: %v", stored)
	}
	ids := map[string]bool{}
	for _, name := range []string{"c-00", "c-01", "c-02"} {
		space, work := stored["/registry/namespaces/es-"+name], stored["/registry/works/es-"+name+"/w"]
		found := uids.FindAllString(space+work, -1)
		if len(found) != 3 || found[0] != found[1] || found[2] != otherID || strings.Count(space+work, name) != 2 {
			t.Errorf("%s: %s %s", name, space, work)
			continue
		}
		ids[found[0]] = true
	}
	if len(ids) != 3 {
		t.Errorf("identities: %v, want three", ids)
	}
}

func TestFillRefuses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "etcd")
	storage(t, dir, kept)
	for _, c := range []struct {
		cluster string
		until   int
	}{{"d-00", 3}, {"kube", 3}, {"c-00", 101}} {
		if _, err := fill(t.Context(), dir, c.cluster, c.until); err == nil {
			t.Errorf("%d copies of %s were made", c.until, c.cluster)
		}
	}
}

// storage writes to a storage that it makes if there is none, and returns all that is
// in it.
func storage(t *testing.T, dir string, write map[string]string) map[string]string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	server, err := open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	client := v3client.New(server.Server)
	for key, value := range write {
		if _, err := client.Put(t.Context(), key, value); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := client.Get(t.Context(), "/registry/", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, kv := range stored.Kvs {
		all[string(kv.Key)] = string(kv.Value)
	}
	return all
}
