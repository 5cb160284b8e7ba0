package cluster

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// WriteImage wraps one static binary into an image archive with that binary as
// entry point and nothing else in it, to run as an unprivileged user. The layout
// is docker-save's, which containerd, docker and skopeo read. The same binary
// gives the same bytes.
func WriteImage(w io.Writer, name, binary string) error {
	program, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	entry := filepath.Base(binary)
	layer, err := archive(map[string][]byte{entry: program}, entry)
	if err != nil {
		return err
	}
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Entrypoint": []string{"/" + entry}, "User": "65532:65532", "Env": []string{"PATH=/"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + sum(layer)}},
	})
	if err != nil {
		return err
	}
	configName := sum(config) + ".json"
	manifest, err := json.Marshal([]map[string]any{{"Config": configName, "RepoTags": []string{name}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return err
	}
	image, err := archive(map[string][]byte{configName: config, "layer.tar": layer, "manifest.json": manifest},
		configName, "layer.tar", "manifest.json")
	if err != nil {
		return err
	}
	_, err = w.Write(image)
	return err
}

func archive(files map[string][]byte, order ...string) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, name := range order {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(files[name]))}); err != nil {
			return nil, fmt.Errorf("archive %s: %w", name, err)
		}
		if _, err := w.Write(files[name]); err != nil {
			return nil, fmt.Errorf("archive %s: %w", name, err)
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}
