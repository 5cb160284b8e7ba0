// Command image packs one static binary into an image archive, without a
// container engine: FROM scratch, with a bundle of CA certificates (for forward
// proxies that speak TLS; the hub itself is pinned) and a numeric user. The
// archive is what `docker save` writes; containerd, docker and skopeo load it.
// The same input gives the same bytes.
//
//	go run ./deploy/dev/image -o bin/muster-agent.tar -t muster-agent:v1 bin/muster-agent
package main

import (
	"archive/tar"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

const (
	user     = "65532:65532"
	caInside = "etc/ssl/certs/ca-certificates.crt"
)

// options are the command line.
type options struct {
	out, tag, ca, arch, binary string
	push                       bool
}

func main() {
	var o options
	flag.StringVar(&o.out, "o", "image.tar", "archive to write")
	flag.StringVar(&o.tag, "t", "", "NAME:TAG of the image (required)")
	flag.StringVar(&o.ca, "ca", "/etc/ssl/certs/ca-certificates.crt", "bundle of CA certificates to put in")
	flag.StringVar(&o.arch, "arch", runtime.GOARCH, "architecture of the binary")
	flag.BoolVar(&o.push, "push", false, "also push the image to the registry of its name, signed in as docker or podman would be")
	flag.Parse()
	o.binary = flag.Arg(0)
	if err := pack(o); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// pack writes the archive, whole or not at all.
func pack(o options) error {
	if o.binary == "" || o.tag == "" {
		return fmt.Errorf("usage: image -o FILE -t NAME:TAG BINARY")
	}
	tag, err := name.NewTag(o.tag, name.WithDefaultRegistry(""))
	if err != nil {
		return fmt.Errorf("read the tag: %w", err)
	}
	image, err := build(o)
	if err != nil {
		return err
	}
	partial := o.out + ".partial"
	if err := tarball.WriteToFile(partial, tag, image); err != nil {
		return fmt.Errorf("write %s: %w", o.out, err)
	}
	if err := os.Rename(partial, o.out); err != nil || !o.push {
		return err
	}
	if err := remote.Write(tag, image, remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return fmt.Errorf("push %s: %w", tag, err)
	}
	return nil
}

func build(o options) (v1.Image, error) {
	program, err := os.ReadFile(o.binary)
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(o.ca)
	if err != nil {
		return nil, fmt.Errorf("%w (install the package ca-certificates, or give -ca)", err)
	}
	entry := filepath.Base(o.binary)
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		data, err := archive([]file{{entry, program, 0o755}, {caInside, ca, 0o644}})
		return io.NopCloser(bytes.NewReader(data)), err
	}, tarball.WithCompressedCaching)
	if err != nil {
		return nil, fmt.Errorf("pack the layer: %w", err)
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, fmt.Errorf("pack the image: %w", err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("pack the image: %w", err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", o.arch
	config.Created = v1.Time{Time: time.Unix(0, 0).UTC()}
	config.Config = v1.Config{Entrypoint: []string{"/" + entry}, User: user, WorkingDir: "/", Env: []string{"PATH=/", "SSL_CERT_FILE=/" + caInside}}
	return mutate.ConfigFile(image, config)
}

type file struct {
	name string
	data []byte
	mode int64
}

// archive writes files, and the folders above them, without times and owners.
func archive(files []file) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	made := map[string]bool{".": true}
	var folder func(dir string) error
	folder = func(dir string) error {
		if made[dir] {
			return nil
		}
		if err := folder(filepath.Dir(dir)); err != nil {
			return err
		}
		made[dir] = true
		return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, ModTime: time.Unix(0, 0)})
	}
	for _, f := range files {
		if err := folder(filepath.Dir(f.name)); err != nil {
			return nil, err
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: time.Unix(0, 0)}); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}
