package access

import (
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/httpapi"
)

const (
	// cookieName binds the cookie to this host, https and the whole path.
	cookieName = "__Host-muster"
	csrfHeader = "X-CSRF-Token"
)

// Handler serves sessions and users, and guards all other routes.
type Handler struct {
	service *Service
	origins func() []string
}

// NewHandler returns the routes of service. origins are the exact origins that
// the dashboard is reached under.
func NewHandler(service *Service, origins func() []string) *Handler {
	return &Handler{service: service, origins: origins}
}

// Public registers what needs no session.
func (h *Handler) Public(r *gin.RouterGroup) {
	r.POST("/session", httpapi.Wrap(h.login))
}

// Routes registers what is behind Authenticate.
func (h *Handler) Routes(r *gin.RouterGroup) {
	r.GET("/session", httpapi.Wrap(h.session))
	r.DELETE("/session", httpapi.Wrap(h.logout))
	r.POST("/session/password", httpapi.Wrap(h.changePassword))
	r.GET("/sessions", httpapi.Wrap(h.sessions))
	r.DELETE("/sessions/:id", httpapi.Wrap(h.revoke))
	r.GET("/users", httpapi.Wrap(h.users))
	r.POST("/users", httpapi.Wrap(h.createUser))
	r.PATCH("/users/:name", httpapi.Wrap(h.changeUser))
	r.DELETE("/users/:name", httpapi.Wrap(h.deleteUser))
}

// Authenticate lets a request through that carries the cookie of a session and,
// if it is no GET, shows that our own page sent it. The session and its user
// are then in the request's ctx. It is safe to call on each request: the
// session is read from SQL every time, so what was revoked ends at once.
func (h *Handler) Authenticate() gin.HandlerFunc {
	return func(c *gin.Context) {
		if err := h.admit(c); err != nil {
			httpapi.Abort(c, err)
			return
		}
		c.Next()
	}
}

// Identify puts the session, if the request has one, into the ctx of a route
// that anybody may ask.
func (h *Handler) Identify(c *gin.Context) {
	if current, err := h.service.Authenticate(c.Request.Context(), cookieOf(c)); err == nil {
		enter(c, current)
	}
	c.Next()
}

func (h *Handler) admit(c *gin.Context) error {
	current, err := h.service.Authenticate(c.Request.Context(), cookieOf(c))
	if err != nil {
		return err
	}
	if c.Request.Method != http.MethodGet && c.Request.Method != http.MethodHead {
		if err := h.checkOrigin(c.Request); err != nil {
			return err
		}
		if !sameText(c.GetHeader(csrfHeader), current.CSRF) {
			return crossSite("the header " + csrfHeader + " is missing or of another session")
		}
	}
	if current.User.MustChangePassword && !allowedBeforeChange(c) {
		return fault.Forbidden("the password must be changed first").WithCode("must-change-password").WithFix("choose a password of your own")
	}
	enter(c, current)
	return nil
}

func enter(c *gin.Context, current Current) {
	ctx := c.Request.Context()
	ctx = WithSession(ctx, current)
	ctx = WithActor(ctx, Actor{
		Name: current.User.Name, Role: current.User.Role, Source: httpapi.ClientAddress(c), Via: ViaREST, RequestID: httpapi.RequestID(ctx),
	})
	c.Request = c.Request.WithContext(ctx)
}

func cookieOf(c *gin.Context) string {
	value, err := c.Cookie(cookieName)
	if err != nil { // there is none
		return ""
	}
	return value
}

// allowedBeforeChange are the routes open to a password that another has seen.
func allowedBeforeChange(c *gin.Context) bool {
	switch {
	case strings.HasSuffix(c.FullPath(), "/session"):
		return c.Request.Method == http.MethodGet || c.Request.Method == http.MethodDelete
	case strings.HasSuffix(c.FullPath(), "/session/password"):
		return c.Request.Method == http.MethodPost
	}
	return false
}

func crossSite(why string) error {
	return fault.Forbidden("the request may come from another site: %s", why).WithCode("cross-site").
		WithFix("send JSON with the Origin of the dashboard and the header " + csrfHeader + " that GET /session names")
}

// checkOrigin refuses what a page of another site could make a browser send. A
// body that is not there needs its Content-Type all the same: browsers ask first
// before they send one that a form cannot have.
func (h *Handler) checkOrigin(r *http.Request) error {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return crossSite("its Content-Type is not application/json")
	}
	origin, from := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	switch {
	case origin != "" && !slices.Contains(h.origins(), origin):
		return crossSite("its Origin is not the dashboard's")
	case from != "" && from != "same-origin":
		return crossSite("the browser says that another site sent it")
	case origin == "" && from == "":
		return crossSite("it names no Origin")
	}
	return nil
}

// grant sets the cookie of a new session.
func grant(c *gin.Context, token string) { setCookie(c, token, int(absoluteLimit.Seconds())) }

func setCookie(c *gin.Context, value string, maxAge int) {
	http.SetCookie(c.Writer, &http.Cookie{
		Name: cookieName, Value: value, Path: "/", MaxAge: maxAge, Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
}

func clientOf(c *gin.Context) Client {
	return Client{Address: httpapi.ClientAddress(c), Agent: c.Request.UserAgent()}
}
