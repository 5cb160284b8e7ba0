package httpapi

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
)

const (
	noncePlaceholder = "__CSP_NONCE__"
	immutable        = "public, max-age=31536000, immutable"
	html             = "text/html; charset=utf-8"
)

// notBuilt stands in for the dashboard of a binary that was built without it.
const notBuilt = `<!doctype html><html lang="en"><title>Muster</title><p>This binary was built without the dashboard. Build it with <code>make build</code>. The API is at <a href="/api/docs">/api/docs</a>.</p></html>`

// encodings are the precompressed variants the build leaves, best first.
var encodings = []struct{ name, suffix string }{{"br", ".br"}, {"gzip", ".gz"}}

// spa serves the built dashboard: files as they are, and index.html, with the
// request's nonce in it, for every path of the client's router.
type spa struct {
	files fs.FS
	index []byte // nil: not built
}

func newSPA(files fs.FS) *spa {
	index, err := fs.ReadFile(files, "index.html")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		slog.Error("dashboard cannot be read", "error", err)
	}
	return &spa{files: files, index: index}
}

func (s *spa) serve(c *gin.Context) {
	if c.Request.Method != http.MethodGet && c.Request.Method != http.MethodHead {
		c.Header("Allow", "GET, HEAD")
		answer(c, methodNotAllowed(c))
		return
	}
	name := strings.TrimPrefix(path.Clean(c.Request.URL.Path), "/")
	if name != "" && name != "index.html" && s.file(c, name) {
		return
	}
	c.Header("Cache-Control", "no-store")
	switch {
	case strings.HasPrefix(name, "assets/"): // a hashed file of another build
		c.AbortWithStatus(http.StatusNotFound)
	case s.index == nil:
		c.Data(http.StatusServiceUnavailable, html, []byte(notBuilt))
	default:
		c.Data(http.StatusOK, html, bytes.ReplaceAll(s.index, []byte(noncePlaceholder), []byte(nonce(c.Request.Context()))))
	}
}

// file answers with the best variant the client accepts; false if there is no
// such file.
func (s *spa) file(c *gin.Context, name string) bool {
	data, err := fs.ReadFile(s.files, name)
	if err != nil {
		return false
	}
	accepted := acceptedEncodings(c.GetHeader("Accept-Encoding"))
	for _, encoding := range encodings {
		if !accepted[encoding.name] {
			continue
		}
		if small, err := fs.ReadFile(s.files, name+encoding.suffix); err == nil {
			c.Header("Content-Encoding", encoding.name)
			data = small
			break
		}
	}
	c.Header("Vary", "Accept-Encoding")
	c.Header("Cache-Control", "no-cache")
	if strings.HasPrefix(name, "assets/") {
		c.Header("Cache-Control", immutable)
	}
	kind := mime.TypeByExtension(path.Ext(name))
	if kind == "" {
		kind = "application/octet-stream"
	}
	c.Data(http.StatusOK, kind, data)
	return true
}

// acceptedEncodings reads the header Accept-Encoding; weights only tell whether
// an encoding is wanted at all, for ours are ordered by size.
func acceptedEncodings(header string) map[string]bool {
	accepted := map[string]bool{}
	for part := range strings.SplitSeq(header, ",") {
		name, weight, weighted := strings.Cut(part, ";q=")
		value, err := strconv.ParseFloat(strings.TrimSpace(weight), 64)
		accepted[strings.ToLower(strings.TrimSpace(name))] = !weighted || err == nil && value > 0
	}
	return accepted
}
