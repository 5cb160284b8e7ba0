package placement

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"muster.dev/muster/backend/httpapi"
)

// Handler serves sets and placements.
type Handler struct{ service *Service }

// NewHandler returns the routes of service.
func NewHandler(service *Service) *Handler { return &Handler{service: service} }

// Routes registers the routes, which need a session.
func (h *Handler) Routes(r *gin.RouterGroup) {
	r.GET("/cluster-sets", httpapi.Wrap(h.sets))
	r.POST("/cluster-sets", httpapi.Wrap(h.createSet))
	r.DELETE("/cluster-sets/:name", httpapi.Wrap(h.removeSet))
	r.PUT("/cluster-sets/:name/bindings/:namespace", httpapi.Wrap(h.bind))
	r.DELETE("/cluster-sets/:name/bindings/:namespace", httpapi.Wrap(h.unbind))
	r.GET("/placements", httpapi.Wrap(h.list))
	r.GET("/placements/:namespace/:name", httpapi.Wrap(h.get))
}

var setOrder = httpapi.Order[SetRow]{
	Key: func(r *SetRow) string { return r.Name }, Usual: "name",
	By: map[string]func(*SetRow) httpapi.Position{
		"name":     func(*SetRow) httpapi.Position { return httpapi.Position{} },
		"clusters": func(r *SetRow) httpapi.Position { return httpapi.Position{Number: int64(r.Clusters)} },
		"age":      func(r *SetRow) httpapi.Position { return httpapi.Position{Number: -r.CreatedAt.Unix()} },
	},
}

var order = httpapi.Order[Row]{
	Key: func(r *Row) string { return r.Key() }, Usual: "name",
	By: map[string]func(*Row) httpapi.Position{
		"name":      func(r *Row) httpapi.Position { return httpapi.Position{Text: r.Name} },
		"namespace": func(r *Row) httpapi.Position { return httpapi.Position{Text: r.Namespace} },
		"selected":  func(r *Row) httpapi.Position { return httpapi.Position{Number: int64(r.Selected)} },
		"state":     func(r *Row) httpapi.Position { return httpapi.Position{Text: r.State} },
		"age":       func(r *Row) httpapi.Position { return httpapi.Position{Number: -r.CreatedAt.Unix()} },
	},
}

// sets shows the sets of clusters.
//
//	@ID			listClusterSets
//	@Summary	Sets of managed clusters, what is in them and where they are bound
//	@Tags		placement
//	@Param		sort	query		string	false	"name, clusters or age; with - in front descending"
//	@Param		limit	query		int		false	"rows a page, 1 to 500"
//	@Param		cursor	query		string	false	"next of the page before"
//	@Success	200		{object}	httpapi.Page[SetRow]
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/cluster-sets [get]
func (h *Handler) sets(c *gin.Context) error {
	limit, err := httpapi.Limit(c)
	if err != nil {
		return err
	}
	var page httpapi.Page[SetRow]
	page.Epoch, page.Seq = h.service.Live.Seq(SetsTopic) // before reading: what comes later is a message
	rows, err := h.service.Sets(c.Request.Context())
	if err != nil {
		return err
	}
	page.Total = len(rows)
	if page.Items, page.Next, err = setOrder.Cut(rows, c.Query("sort"), c.Query("cursor"), limit); err != nil {
		return err
	}
	c.JSON(http.StatusOK, page)
	return nil
}

// createSet makes a set.
//
//	@ID			createClusterSet
//	@Summary	Make a set of clusters; for operators
//	@Tags		placement
//	@Accept		json
//	@Param		body	body		NewSet	true	"the set"
//	@Success	201		{object}	SetRow
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/cluster-sets [post]
func (h *Handler) createSet(c *gin.Context) error {
	var asked NewSet
	if err := httpapi.Bind(c, &asked); err != nil {
		return err
	}
	row, err := h.service.CreateSet(c.Request.Context(), asked)
	if err != nil {
		return err
	}
	c.JSON(http.StatusCreated, row)
	return nil
}

// Removal confirms that a set goes.
type Removal struct {
	// Confirm repeats the set's name.
	Confirm string `json:"confirm"`
}

// removeSet deletes a set.
//
//	@ID			deleteClusterSet
//	@Summary	Delete a set; its clusters stay; for operators
//	@Tags		placement
//	@Accept		json
//	@Param		name	path	string	true	"name of the set"
//	@Param		body	body	Removal	true	"the confirmation"
//	@Success	204
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/cluster-sets/{name} [delete]
func (h *Handler) removeSet(c *gin.Context) error {
	var asked Removal
	if err := httpapi.Bind(c, &asked); err != nil {
		return err
	}
	if err := h.service.DeleteSet(c.Request.Context(), c.Param("name"), asked.Confirm); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}

// bind binds a set to a namespace.
//
//	@ID			bindClusterSet
//	@Summary	Let the placements of a namespace choose clusters of a set; for operators
//	@Tags		placement
//	@Param		name		path	string	true	"name of the set"
//	@Param		namespace	path	string	true	"the namespace"
//	@Success	204
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/cluster-sets/{name}/bindings/{namespace} [put]
func (h *Handler) bind(c *gin.Context) error {
	if err := h.service.Bind(c.Request.Context(), c.Param("name"), c.Param("namespace")); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}

// unbind ends a binding.
//
//	@ID			unbindClusterSet
//	@Summary	End the binding of a set to a namespace; for operators
//	@Tags		placement
//	@Param		name		path	string	true	"name of the set"
//	@Param		namespace	path	string	true	"the namespace"
//	@Success	204
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/cluster-sets/{name}/bindings/{namespace} [delete]
func (h *Handler) unbind(c *gin.Context) error {
	if err := h.service.Unbind(c.Request.Context(), c.Param("name"), c.Param("namespace")); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}

// list shows placements.
//
//	@ID			listPlacements
//	@Summary	Placements and how many clusters each has chosen
//	@Tags		placement
//	@Param		q			query		string		false	"a part of namespace, name or a set"
//	@Param		namespace	query		[]string	false	"any of these namespaces"
//	@Param		state		query		[]string	false	"any of these states"	Enums(satisfied, partly, none, misconfigured, pending)
//	@Param		sort		query		string		false	"name, namespace, selected, state or age; with - in front descending"
//	@Param		limit		query		int			false	"rows a page, 1 to 500"
//	@Param		cursor		query		string		false	"next of the page before"
//	@Success	200			{object}	httpapi.Page[Row]
//	@Failure	default		{object}	httpapi.Problem
//	@Router		/placements [get]
func (h *Handler) list(c *gin.Context) error {
	limit, err := httpapi.Limit(c)
	if err != nil {
		return err
	}
	split := func(name string) []string {
		return strings.FieldsFunc(strings.Join(c.QueryArray(name), ","), func(r rune) bool { return r == ',' || r == ' ' })
	}
	var page httpapi.Page[Row]
	page.Epoch, page.Seq = h.service.Live.Seq(Topic) // before reading: what comes later is a message
	rows, err := h.service.List(c.Request.Context(), Query{Text: c.Query("q"), Namespaces: split("namespace"), States: split("state")})
	if err != nil {
		return err
	}
	page.Total = len(rows)
	if page.Items, page.Next, err = order.Cut(rows, c.Query("sort"), c.Query("cursor"), limit); err != nil {
		return err
	}
	c.JSON(http.StatusOK, page)
	return nil
}

// get shows one placement.
//
//	@ID			getPlacement
//	@Summary	One placement: the clusters it has chosen, and why each other one is left out
//	@Tags		placement
//	@Param		namespace	path		string	true	"the namespace"
//	@Param		name		path		string	true	"name of the placement"
//	@Success	200			{object}	PlacementDetail
//	@Failure	default		{object}	httpapi.Problem
//	@Router		/placements/{namespace}/{name} [get]
func (h *Handler) get(c *gin.Context) error {
	detail, err := h.service.Get(c.Request.Context(), c.Param("namespace"), c.Param("name"))
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, detail)
	return nil
}
