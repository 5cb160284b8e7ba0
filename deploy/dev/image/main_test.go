package main

import (
	"archive/tar"
	"bytes"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func packed(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	for file, text := range map[string]string{"muster-agent": "program", "ca.crt": "certificates"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "image.tar")
	if err := pack(options{out: out, tag: name, ca: filepath.Join(dir, "ca.crt"), arch: "arm64", binary: filepath.Join(dir, "muster-agent")}); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestPack(t *testing.T) {
	out := packed(t, "muster-agent:v1")
	manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(out) })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"muster-agent:v1"}, manifest[0].RepoTags); diff != "" {
		t.Error(diff)
	}
	image, err := tarball.ImageFromPath(out, nil)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Architecture != "arm64" || config.OS != "linux" || config.Config.User != "65532:65532" || config.Config.Entrypoint[0] != "/muster-agent" {
		t.Errorf("config %+v", config)
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatal(len(layers), err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for r := tar.NewReader(content); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, _ := io.ReadAll(r)
		got[h.Name] = string(data)
	}
	want := map[string]string{"muster-agent": "program", "etc/": "", "etc/ssl/": "", "etc/ssl/certs/": "", "etc/ssl/certs/ca-certificates.crt": "certificates"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPackIsReproducible(t *testing.T) {
	first, err := os.ReadFile(packed(t, "muster-agent:v1"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := os.ReadFile(packed(t, "muster-agent:v1"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, second) {
		t.Error("the same input gives other bytes")
	}
}

func TestPackRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, o := range map[string]options{
		"no binary":    {out: filepath.Join(dir, "a"), tag: "a:b"},
		"bad tag":      {out: filepath.Join(dir, "a"), tag: "A B", binary: "x"},
		"no such file": {out: filepath.Join(dir, "a"), tag: "a:b", binary: filepath.Join(dir, "none")},
	} {
		if err := pack(o); err == nil {
			t.Errorf("%s: packed", name)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s: left %v", name, left)
		}
	}
}

func TestPush(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	image := strings.TrimPrefix(server.URL, "http://") + "/team/muster-agent:v1"
	dir := t.TempDir()
	for _, file := range []string{"muster-agent", "ca.crt"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(file), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	o := options{out: filepath.Join(dir, "image.tar"), tag: image, ca: filepath.Join(dir, "ca.crt"), arch: "amd64", binary: filepath.Join(dir, "muster-agent"), push: true}
	if err := pack(o); err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag(image)
	if err != nil {
		t.Fatal(err)
	}
	pushed, err := remote.Image(tag)
	if err != nil {
		t.Fatal(err)
	}
	if config, err := pushed.ConfigFile(); err != nil || config.Architecture != "amd64" {
		t.Errorf("pushed %+v, %v", config, err)
	}
}
