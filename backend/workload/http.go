package workload

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"muster.dev/muster/backend/httpapi"
	"muster.dev/muster/backend/workload/fact"
	"muster.dev/muster/backend/workload/preview"
)

// Handler serves workloads, what writes them, previews and the effect of policies.
type Handler struct {
	service *Service
}

// NewHandler returns the routes of service.
func NewHandler(service *Service) *Handler { return &Handler{service: service} }

// Routes registers the routes, which need a session.
func (h *Handler) Routes(r *gin.RouterGroup) {
	r.GET("/workloads", httpapi.Wrap(h.list))
	r.GET("/workloads/:group/:version/:kind/:namespace/:name", httpapi.Wrap(h.get))
	r.GET("/workloads/:group/:version/:kind/:namespace/:name/diff", httpapi.Wrap(h.diff))
	r.GET("/workloads/:group/:version/:kind/:namespace/:name/pods", httpapi.Wrap(h.pods))
	r.POST("/policies/preview", httpapi.Wrap(h.preview))
	r.GET("/policies/:resource/:namespace/:name/effect", httpapi.Wrap(h.effect))
	h.writeRoutes(r)
}

// WorkloadPage is one page of workloads. Counts are of all workloads that fit
// the other filters, whatever their state.
type WorkloadPage struct {
	Items  []Row  `json:"items"`
	Next   string `json:"next,omitempty" validate:"optional"`
	Total  int    `json:"total"`
	Epoch  string `json:"epoch"`
	Seq    uint64 `json:"seq"`
	Counts Counts `json:"counts"`
}

func keyOf(c *gin.Context) fact.Key {
	return fact.Key{Group: c.Param("group"), Version: c.Param("version"), Kind: c.Param("kind"), Namespace: c.Param("namespace"), Name: c.Param("name")}
}

// list shows what runs where.
//
//	@ID			listWorkloads
//	@Summary	Workloads, filtered, sorted and paged by the hub
//	@Tags		workload
//	@Param		q			query		string		false	"a part of name, namespace, kind, policy or image"
//	@Param		namespace	query		[]string	false	"any of these namespaces"
//	@Param		kind		query		[]string	false	"any of these kinds"
//	@Param		policy		query		string		false	"held by this policy: its name, or resource/namespace/name as in paths"
//	@Param		cluster		query		[]string	false	"goes to any of these clusters"
//	@Param		state		query		[]string	false	"any of these states"	Enums(ok, progressing, failed, pending, unscheduled, unmanaged)
//	@Param		all			query		bool		false	"with the workloads that no policy holds"
//	@Param		sort		query		string		false	"name, namespace, kind, age, state, clusters, replicas or policy; with - in front descending"
//	@Param		limit		query		int			false	"rows a page, 1 to 500"
//	@Param		cursor		query		string		false	"next of the page before"
//	@Success	200			{object}	WorkloadPage
//	@Failure	default		{object}	httpapi.Problem
//	@Router		/workloads [get]
func (h *Handler) list(c *gin.Context) error {
	limit, err := httpapi.Limit(c)
	if err != nil {
		return err
	}
	query := Query{
		Text: c.Query("q"), Namespaces: httpapi.Values(c, "namespace"), Kinds: httpapi.Values(c, "kind"), Policy: c.Query("policy"), Clusters: httpapi.Values(c, "cluster"),
		States: httpapi.Values(c, "state"), All: c.Query("all") == "true", Sort: c.Query("sort"), Limit: limit,
	}
	if err := httpapi.DecodeCursor(c.Query("cursor"), &query.After); err != nil {
		return err
	}
	epoch, seq := h.service.Live.Seq(Topic) // before reading: what comes later is a message
	listing, err := h.service.List(c.Request.Context(), query)
	if err != nil {
		return err
	}
	page := WorkloadPage{Items: listing.Rows, Total: listing.Total, Epoch: epoch, Seq: seq, Counts: listing.Counts}
	if listing.Next != nil {
		page.Next = httpapi.EncodeCursor(listing.Next)
	}
	c.JSON(http.StatusOK, page)
	return nil
}

// get shows one workload.
//
//	@ID			getWorkload
//	@Summary	One workload in detail: why it is as it is, and its way from policy to pods
//	@Tags		workload
//	@Param		group		path		string	true	"API group; core for the one without a name"
//	@Param		version		path		string	true	"API version"
//	@Param		kind		path		string	true	"kind"
//	@Param		namespace	path		string	true	"namespace; - for none"
//	@Param		name		path		string	true	"name"
//	@Success	200			{object}	Detail
//	@Failure	default		{object}	httpapi.Problem
//	@Router		/workloads/{group}/{version}/{kind}/{namespace}/{name} [get]
func (h *Handler) get(c *gin.Context) error {
	detail, err := h.service.Get(c.Request.Context(), keyOf(c))
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, detail)
	return nil
}

// diff shows what clusters get of a workload.
//
//	@ID			diffWorkload
//	@Summary	The final manifest of clusters, each changed line with the rule that changed it
//	@Tags		workload
//	@Param		group		path		string		true	"API group; core for the one without a name"
//	@Param		version		path		string		true	"API version"
//	@Param		kind		path		string		true	"kind"
//	@Param		namespace	path		string		true	"namespace; - for none"
//	@Param		name		path		string		true	"name"
//	@Param		cluster		query		[]string	false	"these clusters; without, the first ones"
//	@Param		against		query		string		false	"one more cluster to compare with"
//	@Success	200			{object}	OverrideDiff
//	@Failure	default		{object}	httpapi.Problem
//	@Router		/workloads/{group}/{version}/{kind}/{namespace}/{name}/diff [get]
func (h *Handler) diff(c *gin.Context) error {
	names := append(httpapi.Values(c, "cluster"), httpapi.Values(c, "against")...)
	diff, err := h.service.Diff(c.Request.Context(), keyOf(c), names)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, diff)
	return nil
}

// pods shows the pods of a workload in a cluster.
//
//	@ID			listWorkloadPods
//	@Summary	The pods of a workload in one cluster, as the member shows them now, those first that are not ready
//	@Tags		workload
//	@Param		group		path		string	true	"API group; core for the one without a name"
//	@Param		version		path		string	true	"API version"
//	@Param		kind		path		string	true	"kind"
//	@Param		namespace	path		string	true	"namespace; - for none"
//	@Param		name		path		string	true	"name"
//	@Param		cluster		query		string	true	"one of the workload's clusters"
//	@Success	200			{object}	pods.Answer
//	@Failure	default		{object}	httpapi.Problem
//	@Router		/workloads/{group}/{version}/{kind}/{namespace}/{name}/pods [get]
func (h *Handler) pods(c *gin.Context) error {
	answer, err := h.service.Pods(c.Request.Context(), keyOf(c), c.Query("cluster"))
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, answer)
	return nil
}

// preview shows what a policy would do.
//
//	@ID			previewPolicy
//	@Summary	What a policy, saved or not, would do: templates, clusters chosen and left out, replicas, changed fields
//	@Tags		workload
//	@Accept		json
//	@Param		body	body		preview.Draft	true	"the policy and what to look at"
//	@Success	200		{object}	preview.Preview
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/policies/preview [post]
func (h *Handler) preview(c *gin.Context) error {
	var asked preview.Draft
	if err := httpapi.Bind(c, &asked); err != nil {
		return err
	}
	answer, err := h.service.Preview(c.Request.Context(), asked)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, answer)
	return nil
}

// EffectPage is one page of the objects that a policy is in effect for.
type EffectPage struct {
	// Matched counts the objects on all pages, Counts their clusters.
	Matched int                      `json:"matched"`
	Counts  EffectCounts             `json:"counts"`
	Items   httpapi.Page[EffectItem] `json:"items"`
}

// effectCursor is where the next page of a policy's effect begins.
type effectCursor struct {
	After string `json:"after"`
}

// effect shows what a policy does now.
//
//	@ID			getPolicyEffect
//	@Summary	The objects that a policy is in effect for, and how that goes in each cluster
//	@Tags		workload
//	@Param		resource	path		string	true	"kind of the policy"	Enums(propagationpolicies, clusterpropagationpolicies, overridepolicies, clusteroverridepolicies)
//	@Param		namespace	path		string	true	"namespace; - for none"
//	@Param		name		path		string	true	"name"
//	@Param		limit		query		int		false	"rows a page, 1 to 500"
//	@Param		cursor		query		string	false	"next of the page before"
//	@Success	200			{object}	EffectPage
//	@Failure	default		{object}	httpapi.Problem
//	@Router		/policies/{resource}/{namespace}/{name}/effect [get]
func (h *Handler) effect(c *gin.Context) error {
	limit, err := httpapi.Limit(c)
	if err != nil {
		return err
	}
	var from effectCursor
	if err := httpapi.DecodeCursor(c.Query("cursor"), &from); err != nil {
		return err
	}
	epoch, seq := h.service.Live.Seq(Topic)
	found, err := h.service.Effect(c.Request.Context(), c.Param("resource"), c.Param("namespace"), c.Param("name"), EffectQuery{After: from.After, Limit: limit})
	if err != nil {
		return err
	}
	page := EffectPage{Matched: found.Matched, Counts: found.Counts}
	page.Items = httpapi.Page[EffectItem]{Items: found.Items, Total: found.Matched, Epoch: epoch, Seq: seq}
	if found.Next != "" {
		page.Items.Next = httpapi.EncodeCursor(effectCursor{found.Next})
	}
	c.JSON(http.StatusOK, page)
	return nil
}
