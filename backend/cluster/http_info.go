package cluster

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"muster.dev/muster/backend/access"
	"muster.dev/muster/backend/httpapi"
)

// About is what the hub says about itself.
type About struct {
	Version string
	// HubAddress is the host:port that agents reach the hub API at.
	HubAddress string
	CAPins     []string
	AgentImage string
	// Dialects are those that the hub carries.
	Dialects []string
	// FirstRun says whether nobody has signed in with a password of their own yet.
	FirstRun func(ctx context.Context) bool
}

// The dialects of member clusters.
const (
	DialectKarmada = "karmada"
	DialectOCM     = "ocm"
)

// Info is what the hub says about itself. Who is not signed in sees version,
// dialects and firstRun only.
type Info struct {
	Version string `json:"version"`
	// Dialects are how members may speak to this hub: a hub on an existing
	// Kubernetes API has no Karmada kinds.
	Dialects   []string `json:"dialects" enums:"karmada,ocm"`
	HubAddress string   `json:"hubAddress,omitempty" validate:"optional"`
	CAPins     []string `json:"caPins,omitempty" validate:"optional"`
	FirstRun   bool     `json:"firstRun"`
	AgentImage string   `json:"agentImage,omitempty" validate:"optional"`
}

// Public registers what needs no session. It belongs behind a handler that puts
// the actor, if there is one, into the request's ctx.
func (h *Handler) Public(r *gin.RouterGroup) { r.GET("/info", httpapi.Wrap(h.info)) }

// info shows what the hub is.
//
//	@ID			getInfo
//	@Summary	What this hub is; without a session only version, dialects and firstRun
//	@Tags		info
//	@Success	200		{object}	Info
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/info [get]
func (h *Handler) info(c *gin.Context) error {
	info := Info{Version: h.about.Version, Dialects: h.about.Dialects, FirstRun: h.about.FirstRun != nil && h.about.FirstRun(c.Request.Context())}
	if _, signedIn := access.ActorFrom(c.Request.Context()); signedIn {
		info.HubAddress, info.CAPins, info.AgentImage = h.about.HubAddress, h.about.CAPins, h.about.AgentImage
	}
	c.JSON(http.StatusOK, info)
	return nil
}
