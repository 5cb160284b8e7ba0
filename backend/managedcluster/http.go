package managedcluster

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/httpapi"
)

// History answers a request for what was done to an object.
type History interface {
	Page(c *gin.Context, filter audit.Filter) (httpapi.Page[audit.Entry], error)
}

// Handler serves managed clusters.
type Handler struct {
	service *Service
	history History
}

// NewHandler returns the routes of service.
func NewHandler(service *Service, history History) *Handler {
	return &Handler{service: service, history: history}
}

// Routes registers the routes, which need a session.
func (h *Handler) Routes(r *gin.RouterGroup) {
	r.GET("/managed-clusters", httpapi.Wrap(h.list))
	r.GET("/managed-clusters/:name", httpapi.Wrap(h.get))
	r.PATCH("/managed-clusters/:name", httpapi.Wrap(h.change))
	r.PUT("/managed-clusters/:name/set", httpapi.Wrap(h.set))
	r.DELETE("/managed-clusters/:name", httpapi.Wrap(h.remove))
	r.GET("/managed-clusters/:name/removal", httpapi.Wrap(h.removal))
	r.GET("/managed-clusters/:name/history", httpapi.Wrap(h.managedHistory))
}

// RowPage is one page of managed clusters. Counts are of all that fit the other
// filters, whatever their state.
type RowPage struct {
	Items  []Row         `json:"items"`
	Next   string        `json:"next,omitempty" validate:"optional"`
	Total  int           `json:"total"`
	Epoch  string        `json:"epoch"`
	Seq    uint64        `json:"seq"`
	Counts map[State]int `json:"counts" swaggertype:"object,integer"`
}

// order is how managed clusters can be sorted.
var order = httpapi.Order[Row]{
	Key: func(r *Row) string { return r.Name }, Usual: "name",
	By: map[string]func(*Row) httpapi.Position{
		"name":    func(*Row) httpapi.Position { return httpapi.Position{} },
		"state":   func(r *Row) httpapi.Position { return httpapi.Position{Text: string(r.State)} },
		"set":     func(r *Row) httpapi.Position { return httpapi.Position{Text: r.Set} },
		"version": func(r *Row) httpapi.Position { return httpapi.Position{Text: r.KubernetesVersion} },
		"age":     func(r *Row) httpapi.Position { return httpapi.Position{Number: -r.CreatedAt.Unix()} },
	},
}

// list shows the fleet as Open Cluster Management sees it.
//
//	@ID			listManagedClusters
//	@Summary	Managed clusters of both dialects, filtered, sorted and paged by the hub
//	@Tags		managedcluster
//	@Param		q		query		string		false	"a part of name, set, version or URL"
//	@Param		state	query		[]string	false	"any of these states"	Enums(waiting, denied, joining, ready, failed, unknown, removing)
//	@Param		set		query		[]string	false	"any of these sets"
//	@Param		dialect	query		string		false	"the dialect that the member was registered in"	Enums(ocm, karmada)
//	@Param		label	query		string		false	"a label selector"
//	@Param		sort	query		string		false	"name, state, set, version or age; with - in front descending"
//	@Param		limit	query		int			false	"rows a page, 1 to 500"
//	@Param		cursor	query		string		false	"next of the page before"
//	@Success	200		{object}	RowPage
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/managed-clusters [get]
func (h *Handler) list(c *gin.Context) error {
	limit, err := httpapi.Limit(c)
	if err != nil {
		return err
	}
	query := Query{Text: c.Query("q"), States: httpapi.Values(c, "state"), Sets: httpapi.Values(c, "set"), Dialect: c.Query("dialect"), Label: c.Query("label")}
	page := RowPage{}
	page.Epoch, page.Seq = h.service.Live.Seq(Topic) // before reading: what comes later is a message
	listing, err := h.service.List(c.Request.Context(), query)
	if err != nil {
		return err
	}
	page.Total, page.Counts = len(listing.Rows), listing.Counts
	if page.Items, page.Next, err = order.Cut(listing.Rows, c.Query("sort"), c.Query("cursor"), limit); err != nil {
		return err
	}
	h.service.Complete(c.Request.Context(), page.Items)
	c.JSON(http.StatusOK, page)
	return nil
}

// get shows one managed cluster.
//
//	@ID			getManagedCluster
//	@Summary	One managed cluster in detail: both consents, conditions, lease, claims
//	@Tags		managedcluster
//	@Param		name	path		string	true	"name of the cluster"
//	@Success	200		{object}	Detail
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/managed-clusters/{name} [get]
func (h *Handler) get(c *gin.Context) error {
	detail, err := h.service.Get(c.Request.Context(), c.Param("name"))
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, detail)
	return nil
}

// change changes labels, taints and the set.
//
//	@ID			changeManagedCluster
//	@Summary	Change labels, taints or the set of a managed cluster; for operators
//	@Tags		managedcluster
//	@Accept		json
//	@Param		name	path		string	true	"name of the cluster"
//	@Param		body	body		Change	true	"what to change"
//	@Success	200		{object}	Row
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/managed-clusters/{name} [patch]
func (h *Handler) change(c *gin.Context) error {
	var change Change
	if err := httpapi.Bind(c, &change); err != nil {
		return err
	}
	row, err := h.service.Change(c.Request.Context(), c.Param("name"), change)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, row)
	return nil
}

// SetChoice is the set that a managed cluster is to be in.
type SetChoice struct {
	Set string `json:"set"`
}

// set moves a managed cluster to another set.
//
//	@ID			setManagedClusterSet
//	@Summary	Move a managed cluster to a set; for operators
//	@Tags		managedcluster
//	@Accept		json
//	@Param		name	path		string		true	"name of the cluster"
//	@Param		body	body		SetChoice	true	"the set"
//	@Success	200		{object}	Row
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/managed-clusters/{name}/set [put]
func (h *Handler) set(c *gin.Context) error {
	var choice SetChoice
	if err := httpapi.Bind(c, &choice); err != nil {
		return err
	}
	row, err := h.service.Change(c.Request.Context(), c.Param("name"), Change{Set: &choice.Set})
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, row)
	return nil
}

// Removal confirms that a managed cluster goes.
type Removal struct {
	// Confirm repeats the cluster's name.
	Confirm string `json:"confirm"`
}

// remove begins a removal.
//
//	@ID			removeManagedCluster
//	@Summary	Remove a managed cluster; its row tells what the removal waits for; for operators
//	@Tags		managedcluster
//	@Accept		json
//	@Param		name	path		string	true	"name of the cluster"
//	@Param		body	body		Removal	true	"the confirmation"
//	@Success	202		{object}	Row
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/managed-clusters/{name} [delete]
func (h *Handler) remove(c *gin.Context) error {
	var asked Removal
	if err := httpapi.Bind(c, &asked); err != nil {
		return err
	}
	row, err := h.service.Remove(c.Request.Context(), c.Param("name"), asked.Confirm)
	if err != nil {
		return err
	}
	c.JSON(http.StatusAccepted, row)
	return nil
}

// removal shows what a removal would do.
//
//	@ID			planManagedClusterRemoval
//	@Summary	What removing a managed cluster would do and what would hold it up; for operators
//	@Tags		managedcluster
//	@Param		name	path		string	true	"name of the cluster"
//	@Success	200		{object}	RemovalPlan
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/managed-clusters/{name}/removal [get]
func (h *Handler) removal(c *gin.Context) error {
	plan, err := h.service.RemovalPlan(c.Request.Context(), c.Param("name"))
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, plan)
	return nil
}

// managedHistory shows who did what to a managed cluster.
//
//	@ID			listManagedClusterHistory
//	@Summary	Who did what to a managed cluster, newest first
//	@Tags		managedcluster
//	@Param		name	path		string	true	"name of the cluster"
//	@Param		limit	query		int		false	"rows a page, 1 to 500"
//	@Param		cursor	query		string	false	"next of the page before"
//	@Success	200		{object}	httpapi.Page[audit.Entry]
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/managed-clusters/{name}/history [get]
func (h *Handler) managedHistory(c *gin.Context) error {
	page, err := h.history.Page(c, audit.Filter{Kind: kindManaged, Name: c.Param("name")})
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, page)
	return nil
}
