package cluster

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

// Handler serves clusters.
type Handler struct {
	service *Service
	history History
	about   About
}

// NewHandler returns the routes of service.
func NewHandler(service *Service, history History, about About) *Handler {
	return &Handler{service: service, history: history, about: about}
}

// Routes registers the routes, which need a session.
func (h *Handler) Routes(r *gin.RouterGroup) {
	r.GET("/clusters", httpapi.Wrap(h.list))
	r.GET("/clusters/:name", httpapi.Wrap(h.get))
	r.PATCH("/clusters/:name", httpapi.Wrap(h.change))
	r.DELETE("/clusters/:name", httpapi.Wrap(h.remove))
	r.GET("/clusters/:name/works", httpapi.Wrap(h.works))
	r.GET("/clusters/:name/removal", httpapi.Wrap(h.removal))
	r.GET("/clusters/:name/history", httpapi.Wrap(h.clusterHistory))
}

// ClusterPage is one page of clusters. Counts are of all clusters that fit the
// other filters, whatever their state.
type ClusterPage struct {
	Items  []Cluster `json:"items"`
	Next   string    `json:"next,omitempty" validate:"optional"`
	Total  int       `json:"total"`
	Epoch  string    `json:"epoch"`
	Seq    uint64    `json:"seq"`
	Counts Counts    `json:"counts"`
}

// list shows the fleet.
//
//	@ID			listClusters
//	@Summary	Clusters, filtered, sorted and paged by the hub
//	@Tags		cluster
//	@Param		q			query		string		false	"a part of name, region, provider, zone or version"
//	@Param		state		query		[]string	false	"any of these states"	Enums(ready, joining, degraded, unknown, failed, removing)
//	@Param		mode		query		string		false	"how the cluster is reached"	Enums(Push, Pull)
//	@Param		dialect		query		string		false	"the dialect that the member was registered in"	Enums(karmada, ocm)
//	@Param		region		query		[]string	false	"any of these regions"
//	@Param		provider	query		[]string	false	"any of these providers"
//	@Param		label		query		string		false	"a label selector"
//	@Param		sort		query		string		false	"name, age, state, mode, dialect, region, provider, version, nodes, cpu or memory; with - in front descending"
//	@Param		limit		query		int			false	"rows a page, 1 to 500"
//	@Param		cursor		query		string		false	"next of the page before"
//	@Success	200			{object}	ClusterPage
//	@Failure	default		{object}	httpapi.Problem
//	@Router		/clusters [get]
func (h *Handler) list(c *gin.Context) error {
	limit, err := httpapi.Limit(c)
	if err != nil {
		return err
	}
	query := Query{
		Text: c.Query("q"), States: httpapi.Values(c, "state"), Mode: c.Query("mode"), Dialect: c.Query("dialect"), Region: httpapi.Values(c, "region"), Provider: httpapi.Values(c, "provider"),
		Label: c.Query("label"), Sort: c.Query("sort"), Limit: limit,
	}
	if err := httpapi.DecodeCursor(c.Query("cursor"), &query.After); err != nil {
		return err
	}
	epoch, seq := h.service.Live.Seq(Topic) // before reading: what comes later is a message
	listing, err := h.service.List(c.Request.Context(), query)
	if err != nil {
		return err
	}
	page := ClusterPage{Items: listing.Rows, Total: listing.Total, Epoch: epoch, Seq: seq, Counts: listing.Counts}
	if listing.Next != nil {
		page.Next = httpapi.EncodeCursor(listing.Next)
	}
	c.JSON(http.StatusOK, page)
	return nil
}

// get shows one cluster.
//
//	@ID			getCluster
//	@Summary	One cluster in detail
//	@Tags		cluster
//	@Param		name	path		string	true	"name of the cluster"
//	@Success	200		{object}	Detail
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/clusters/{name} [get]
func (h *Handler) get(c *gin.Context) error {
	detail, err := h.service.Get(c.Request.Context(), c.Param("name"))
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, detail)
	return nil
}

// change changes labels, taints and whereabouts.
//
//	@ID			changeCluster
//	@Summary	Change labels, taints, cordon or whereabouts; for operators
//	@Tags		cluster
//	@Accept		json
//	@Param		name	path		string	true	"name of the cluster"
//	@Param		body	body		Change	true	"what to change"
//	@Success	200		{object}	Cluster
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/clusters/{name} [patch]
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

// RemoveCluster confirms a removal.
type RemoveCluster struct {
	// Confirm repeats the cluster's name.
	Confirm string `json:"confirm"`
	// Force takes away what holds the cluster; what is in the member stays there.
	// It needs an administrator.
	Force bool `json:"force,omitempty" validate:"optional"`
}

// remove begins a removal.
//
//	@ID			removeCluster
//	@Summary	Remove a cluster; its row tells what the removal waits for; for operators
//	@Tags		cluster
//	@Accept		json
//	@Param		name	path		string			true	"name of the cluster"
//	@Param		body	body		RemoveCluster	true	"the confirmation"
//	@Success	202		{object}	Cluster
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/clusters/{name} [delete]
func (h *Handler) remove(c *gin.Context) error {
	var asked RemoveCluster
	if err := httpapi.Bind(c, &asked); err != nil {
		return err
	}
	row, err := h.service.Remove(c.Request.Context(), c.Param("name"), asked.Confirm, asked.Force)
	if err != nil {
		return err
	}
	c.JSON(http.StatusAccepted, row)
	return nil
}

// worksCursor is where the next page of works begins.
type worksCursor struct {
	From string `json:"from"`
}

// works shows what the hub keeps in a member.
//
//	@ID			listClusterWorks
//	@Summary	What the hub keeps in a member
//	@Tags		cluster
//	@Param		name	path		string	true	"name of the cluster"
//	@Param		limit	query		int		false	"rows a page, 1 to 500"
//	@Param		cursor	query		string	false	"next of the page before"
//	@Success	200		{object}	httpapi.Page[Work]
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/clusters/{name}/works [get]
func (h *Handler) works(c *gin.Context) error {
	limit, err := httpapi.Limit(c)
	if err != nil {
		return err
	}
	var from worksCursor
	if err := httpapi.DecodeCursor(c.Query("cursor"), &from); err != nil {
		return err
	}
	found, err := h.service.Works(c.Request.Context(), c.Param("name"), limit, from.From)
	if err != nil {
		return err
	}
	page := httpapi.Page[Work]{Items: found.Works, Total: found.Total, Epoch: found.Epoch, Seq: found.Seq}
	if found.Next != "" {
		page.Next = httpapi.EncodeCursor(worksCursor{From: found.Next})
	}
	c.JSON(http.StatusOK, page)
	return nil
}

// removal shows what a removal would do.
//
//	@ID			planClusterRemoval
//	@Summary	What removing a cluster would do and what would hold it up; for operators
//	@Tags		cluster
//	@Param		name	path		string	true	"name of the cluster"
//	@Success	200		{object}	RemovalPlan
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/clusters/{name}/removal [get]
func (h *Handler) removal(c *gin.Context) error {
	plan, err := h.service.RemovalPlan(c.Request.Context(), c.Param("name"))
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, plan)
	return nil
}

// clusterHistory shows who did what to a cluster.
//
//	@ID			listClusterHistory
//	@Summary	Who did what to a cluster, newest first
//	@Tags		cluster
//	@Param		name	path		string	true	"name of the cluster"
//	@Param		limit	query		int		false	"rows a page, 1 to 500"
//	@Param		cursor	query		string	false	"next of the page before"
//	@Success	200		{object}	httpapi.Page[audit.Entry]
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/clusters/{name}/history [get]
func (h *Handler) clusterHistory(c *gin.Context) error {
	page, err := h.history.Page(c, audit.Filter{Kind: kindCluster, Name: c.Param("name")})
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, page)
	return nil
}
