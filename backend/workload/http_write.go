package workload

import (
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/httpapi"
	"muster.dev/muster/backend/workload/author"
)

// writeRoutes registers what makes, changes and removes templates.
func (h *Handler) writeRoutes(r *gin.RouterGroup) {
	r.POST("/workloads", httpapi.Wrap(h.create))
	r.PUT("/workloads/:group/:version/:kind/:namespace/:name", httpapi.Wrap(h.change))
	r.DELETE("/workloads/:group/:version/:kind/:namespace/:name", httpapi.Wrap(h.remove))
}

func dryRunOf(c *gin.Context) (bool, error) {
	dryRun, err := strconv.ParseBool(c.DefaultQuery("dryRun", "false"))
	if err != nil {
		return false, fault.Invalid("dryRun is true or false").WithField("dryRun", "is neither true nor false")
	}
	return dryRun, nil
}

// create makes a template.
//
//	@ID				createWorkload
//	@Summary		Make an object on the hub, for policies to carry, under the user's own rights; for operators
//	@Description	409 with the code exists: the name is taken. 422 with the code invalid-object: fields say what is wrong where.
//	@Tags			workload
//	@Accept			json
//	@Param			dryRun	query		bool		false	"judge it, make nothing"
//	@Param			body	body		author.Made	true	"the object"
//	@Success		200		{object}	author.Written
//	@Failure		default	{object}	httpapi.Problem
//	@Router			/workloads [post]
func (h *Handler) create(c *gin.Context) error {
	dryRun, err := dryRunOf(c)
	if err != nil {
		return err
	}
	var made author.Made
	if err := httpapi.Bind(c, &made); err != nil {
		return err
	}
	written, err := h.service.Create(c.Request.Context(), made, dryRun)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, written)
	return nil
}

// change changes a template.
//
//	@ID				changeWorkload
//	@Summary		Change an object of the hub: what differs between the text and the one that it began with; for operators
//	@Description	409 with the code stale: somebody changed the same fields meanwhile, which are named; force overwrites them. 422 with the code invalid-object: fields say what is wrong where.
//	@Tags			workload
//	@Accept			json
//	@Param			group		path		string			true	"API group; core for the one without a name"
//	@Param			version		path		string			true	"API version"
//	@Param			kind		path		string			true	"kind"
//	@Param			namespace	path		string			true	"namespace; - for none"
//	@Param			name		path		string			true	"name"
//	@Param			dryRun		query		bool			false	"judge it, write nothing"
//	@Param			body		body		author.Changed	true	"the object"
//	@Success		200			{object}	author.Written
//	@Failure		default		{object}	httpapi.Problem
//	@Router			/workloads/{group}/{version}/{kind}/{namespace}/{name} [put]
func (h *Handler) change(c *gin.Context) error {
	dryRun, err := dryRunOf(c)
	if err != nil {
		return err
	}
	var changed author.Changed
	if err := httpapi.Bind(c, &changed); err != nil {
		return err
	}
	written, err := h.service.Change(c.Request.Context(), keyOf(c), changed, dryRun)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, written)
	return nil
}

// Removal confirms that a template goes.
type Removal struct {
	// Confirm repeats the object's name.
	Confirm string `json:"confirm"`
}

// remove takes a template away.
//
//	@ID			deleteWorkload
//	@Summary	Delete an object of the hub, and with it what a policy carried to clusters unless the policy keeps it; for operators
//	@Tags		workload
//	@Accept		json
//	@Param		group		path	string	true	"API group; core for the one without a name"
//	@Param		version		path	string	true	"API version"
//	@Param		kind		path	string	true	"kind"
//	@Param		namespace	path	string	true	"namespace; - for none"
//	@Param		name		path	string	true	"name"
//	@Param		body		body	Removal	true	"the confirmation"
//	@Success	204
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/workloads/{group}/{version}/{kind}/{namespace}/{name} [delete]
func (h *Handler) remove(c *gin.Context) error {
	var asked Removal
	if err := httpapi.Bind(c, &asked); err != nil {
		return err
	}
	if err := h.service.Delete(c.Request.Context(), keyOf(c), asked.Confirm); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}
