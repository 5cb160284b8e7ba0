package httpapi

import (
	"bytes"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"

	"github.com/gin-gonic/gin"
)

const (
	noncePlaceholder = "__CSP_NONCE__"
	immutable        = "public, max-age=31536000, immutable"
)

// encodings are the precompressed variants the build leaves, best first.
var encodings = []struct{ name, suffix string }{{"br", ".br"}, {"gzip", ".gz"}}

// spa serves the built dashboard: files as they are, and index.html, with the
// request's nonce in it, for every path of the client's router.
type spa struct {
	files fs.FS
	index []byte
}

func newSPA(files fs.FS) (*spa, error) {
	index, err := fs.ReadFile(files, "index.html")
	if err != nil {
		return nil, fmt.Errorf("read the dashboard's index.html: %w", err)
	}
	return &spa{files: files, index: index}, nil
}

func (s *spa) serve(c *gin.Context) {
	if c.Request.Method != http.MethodGet && c.Request.Method != http.MethodHead {
		c.AbortWithStatus(http.StatusMethodNotAllowed)
		return
	}
	name := strings.TrimPrefix(path.Clean(c.Request.URL.Path), "/")
	if name != "" && name != "index.html" && s.file(c, name) {
		return
	}
	if strings.HasPrefix(name, "assets/") { // a hashed file of another build
		c.AbortWithStatus(http.StatusNotFound)
		return
	}
	c.Header("Cache-Control", "no-store")
	page := bytes.ReplaceAll(s.index, []byte(noncePlaceholder), []byte(nonce(c.Request.Context())))
	c.Data(http.StatusOK, "text/html; charset=utf-8", page)
}

// file answers with the best variant the client accepts; false if there is no
// such file.
func (s *spa) file(c *gin.Context, name string) bool {
	info, err := fs.Stat(s.files, name)
	if err != nil || info.IsDir() {
		return false
	}
	chosen := name
	c.Header("Vary", "Accept-Encoding")
	for _, encoding := range encodings {
		if !strings.Contains(c.GetHeader("Accept-Encoding"), encoding.name) {
			continue
		}
		if _, err := fs.Stat(s.files, name+encoding.suffix); err == nil {
			chosen = name + encoding.suffix
			c.Header("Content-Encoding", encoding.name)
			break
		}
	}
	data, err := fs.ReadFile(s.files, chosen)
	if err != nil {
		return false
	}
	if strings.HasPrefix(name, "assets/") {
		c.Header("Cache-Control", immutable)
	} else {
		c.Header("Cache-Control", "no-cache")
	}
	kind := mime.TypeByExtension(path.Ext(name))
	if kind == "" {
		kind = "application/octet-stream"
	}
	c.Data(http.StatusOK, kind, data)
	return true
}
