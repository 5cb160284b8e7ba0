package token

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"muster.dev/muster/backend/httpapi"
)

// Handler serves join tokens.
type Handler struct {
	service *Service
	live    Publisher
}

// NewHandler returns the routes of service.
func NewHandler(service *Service, live Publisher) *Handler {
	return &Handler{service: service, live: live}
}

// Routes registers the routes, which need a session.
func (h *Handler) Routes(r *gin.RouterGroup) {
	r.GET("/tokens", httpapi.Wrap(h.list))
	r.POST("/tokens", httpapi.Wrap(h.create))
	r.DELETE("/tokens/:id", httpapi.Wrap(h.revoke))
}

// NewToken is a token to make.
type NewToken struct {
	Description string `json:"description,omitempty" validate:"optional"`
	// TTLSeconds is how long it lives, 24 hours by default; 0 is for ever and
	// needs an administrator.
	TTLSeconds *int64 `json:"ttlSeconds,omitempty" validate:"optional"`
	// ClusterName binds it to one name.
	ClusterName string `json:"clusterName,omitempty" validate:"optional"`
	// MaxClusters bounds how many clusters it registers, 1 by default; 0 is no
	// limit.
	MaxClusters *int `json:"maxClusters,omitempty" validate:"optional"`
}

func (n NewToken) spec() Spec {
	spec := Spec{Description: n.Description, TTL: DefaultTTL, ClusterName: n.ClusterName, MaxClusters: 1}
	if n.TTLSeconds != nil {
		spec.TTL = Seconds(*n.TTLSeconds)
	}
	if n.MaxClusters != nil {
		spec.MaxClusters = *n.MaxClusters
	}
	return spec
}

// Seconds is a duration that does not overflow, so that a huge number stays one.
func Seconds(n int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Second)
	return time.Duration(min(max(n, -most), most)) * time.Second
}

// list shows the tokens.
//
//	@ID			listTokens
//	@Summary	Join tokens, newest first, without their secret half; for operators
//	@Tags		token
//	@Success	200		{object}	httpapi.Page[Token]
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/tokens [get]
func (h *Handler) list(c *gin.Context) error {
	epoch, seq := h.live.Seq(Topic) // before reading: what comes later is a message
	tokens, err := h.service.List(c.Request.Context())
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, httpapi.Page[Token]{Items: tokens, Total: len(tokens), Epoch: epoch, Seq: seq})
	return nil
}

// create makes a token.
//
//	@ID			createToken
//	@Summary	Make a join token; its secret half is in this answer and never shown again
//	@Tags		token
//	@Accept		json
//	@Param		body	body		NewToken	true	"the token"
//	@Success	201		{object}	Created
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/tokens [post]
func (h *Handler) create(c *gin.Context) error {
	var asked NewToken
	if err := httpapi.Bind(c, &asked); err != nil {
		return err
	}
	created, err := h.service.Create(c.Request.Context(), asked.spec(), Placement{ClusterName: asked.ClusterName})
	if err != nil {
		return err
	}
	c.JSON(http.StatusCreated, created)
	return nil
}

// revoke deletes a token.
//
//	@ID			revokeToken
//	@Summary	Revoke a join token; clusters that joined with it stay
//	@Tags		token
//	@Param		id	path	string	true	"the six characters before the dot"
//	@Success	204
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/tokens/{id} [delete]
func (h *Handler) revoke(c *gin.Context) error {
	if err := h.service.Delete(c.Request.Context(), c.Param("id")); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}
