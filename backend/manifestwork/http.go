package manifestwork

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"muster.dev/muster/backend/httpapi"
)

// Handler serves ManifestWorks.
type Handler struct{ service *Service }

// NewHandler returns the routes of service.
func NewHandler(service *Service) *Handler { return &Handler{service: service} }

// Routes registers the routes, which need a session.
func (h *Handler) Routes(r *gin.RouterGroup) {
	r.GET("/managed-clusters/:name/works", httpapi.Wrap(h.list))
	r.GET("/managed-clusters/:name/works/:work", httpapi.Wrap(h.get))
	r.DELETE("/managed-clusters/:name/works/:work", httpapi.Wrap(h.remove))
}

// RowPage is one page of works. Counts are of all works that fit the text, by
// state.
type RowPage struct {
	Items  []Row          `json:"items"`
	Next   string         `json:"next,omitempty" validate:"optional"`
	Total  int            `json:"total"`
	Epoch  string         `json:"epoch"`
	Seq    uint64         `json:"seq"`
	Counts map[string]int `json:"counts"`
}

var order = httpapi.Order[Row]{
	Key: func(r *Row) string { return r.Name }, Usual: "name",
	By: map[string]func(*Row) httpapi.Position{
		"name":  func(*Row) httpapi.Position { return httpapi.Position{} },
		"state": func(r *Row) httpapi.Position { return httpapi.Position{Text: stateOf(r)} },
		"age":   func(r *Row) httpapi.Position { return httpapi.Position{Number: -r.CreatedAt.Unix()} },
	},
}

// contains says whether a name holds a text, in any case.
func contains(name, text string) bool {
	return strings.Contains(strings.ToLower(name), strings.ToLower(strings.TrimSpace(text)))
}

// list shows the ManifestWorks of a cluster.
//
//	@ID			listManifestWorks
//	@Summary	The ManifestWorks of a managed cluster
//	@Tags		manifestwork
//	@Param		name	path		string		true	"name of the cluster"
//	@Param		q		query		string		false	"a part of the name"
//	@Param		state	query		[]string	false	"any of these states"	Enums(available, applied, failed, pending)
//	@Param		sort	query		string		false	"name, state or age; with - in front descending"
//	@Param		limit	query		int			false	"rows a page, 1 to 500"
//	@Param		cursor	query		string		false	"next of the page before"
//	@Success	200		{object}	RowPage
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/managed-clusters/{name}/works [get]
func (h *Handler) list(c *gin.Context) error {
	limit, err := httpapi.Limit(c)
	if err != nil {
		return err
	}
	query := Query{Text: c.Query("q")}
	for _, text := range c.QueryArray("state") {
		query.States = append(query.States, strings.Split(text, ",")...)
	}
	page := RowPage{}
	page.Epoch, page.Seq = h.service.Live.Seq(Topics + c.Param("name")) // before reading: what comes later is a message
	rows, counts, err := h.service.List(c.Request.Context(), c.Param("name"), query)
	if err != nil {
		return err
	}
	page.Total, page.Counts = len(rows), counts
	if page.Items, page.Next, err = order.Cut(rows, c.Query("sort"), c.Query("cursor"), limit); err != nil {
		return err
	}
	c.JSON(http.StatusOK, page)
	return nil
}

// get shows one ManifestWork.
//
//	@ID			getManifestWork
//	@Summary	One ManifestWork with the conditions and the feedback of each manifest
//	@Tags		manifestwork
//	@Param		name	path		string	true	"name of the cluster"
//	@Param		work	path		string	true	"name of the work"
//	@Success	200		{object}	Detail
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/managed-clusters/{name}/works/{work} [get]
func (h *Handler) get(c *gin.Context) error {
	detail, err := h.service.Get(c.Request.Context(), c.Param("name"), c.Param("work"))
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, detail)
	return nil
}

// Removal confirms that a work goes.
type Removal struct {
	// Confirm repeats the work's name.
	Confirm string `json:"confirm"`
}

// remove deletes a ManifestWork.
//
//	@ID			deleteManifestWork
//	@Summary	Delete a ManifestWork; its delete policy says what becomes of its objects; for operators
//	@Tags		manifestwork
//	@Accept		json
//	@Param		name	path	string	true	"name of the cluster"
//	@Param		work	path	string	true	"name of the work"
//	@Param		body	body	Removal	true	"the confirmation"
//	@Success	204
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/managed-clusters/{name}/works/{work} [delete]
func (h *Handler) remove(c *gin.Context) error {
	var asked Removal
	if err := httpapi.Bind(c, &asked); err != nil {
		return err
	}
	if err := h.service.Delete(c.Request.Context(), c.Param("name"), c.Param("work"), asked.Confirm); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}
