package operator

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"muster.dev/muster/backend/httpapi"
)

// Handler serves the operators' status.
type Handler struct{ service *Service }

// NewHandler returns the routes of service.
func NewHandler(service *Service) *Handler { return &Handler{service: service} }

// Routes registers the routes, which need a session.
func (h *Handler) Routes(r *gin.RouterGroup) { r.GET("/operators", httpapi.Wrap(h.list)) }

// list shows what the operators put where.
//
//	@ID			listOperators
//	@Summary	ClusterManagers and Klusterlets with their conditions and what was applied for them
//	@Tags		operator
//	@Success	200		{object}	Operators
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/operators [get]
func (h *Handler) list(c *gin.Context) error {
	all, err := h.service.List(c.Request.Context())
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, all)
	return nil
}
