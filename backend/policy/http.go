package policy

import (
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/httpapi"
)

// Handler serves policies.
type Handler struct {
	service *Service
}

// NewHandler returns the routes of service.
func NewHandler(service *Service) *Handler { return &Handler{service: service} }

// Routes registers the routes, which need a session.
func (h *Handler) Routes(r *gin.RouterGroup) {
	r.GET("/policies", httpapi.Wrap(h.list))
	r.GET("/policies/schema/:resource", httpapi.Wrap(h.schema))
	r.GET("/policies/:resource/:namespace/:name", httpapi.Wrap(h.get))
	r.PUT("/policies/:resource/:namespace/:name", httpapi.Wrap(h.apply))
	r.DELETE("/policies/:resource/:namespace/:name", httpapi.Wrap(h.remove))
}

func refOf(c *gin.Context) (Ref, error) {
	return NewRef(c.Param("resource"), c.Param("namespace"), c.Param("name"))
}

// list shows policies of the four kinds.
//
//	@ID			listPolicies
//	@Summary	Propagation and override policies, filtered, sorted and paged by the hub
//	@Tags		policy
//	@Param		kind		query		[]string	false	"any of these kinds"	Enums(propagationpolicies, clusterpropagationpolicies, overridepolicies, clusteroverridepolicies)
//	@Param		namespace	query		[]string	false	"any of these namespaces; - stands for cluster-scoped policies"
//	@Param		q			query		string		false	"a part of name, namespace, selected kind or cluster"
//	@Param		sort		query		string		false	"name, namespace, kind, priority or age; with - in front descending"
//	@Param		limit		query		int			false	"rows a page, 1 to 500"
//	@Param		cursor		query		string		false	"next of the page before"
//	@Success	200			{object}	httpapi.Page[Row]
//	@Failure	default		{object}	httpapi.Problem
//	@Router		/policies [get]
func (h *Handler) list(c *gin.Context) error {
	limit, err := httpapi.Limit(c)
	if err != nil {
		return err
	}
	query := Query{Kinds: httpapi.Values(c, "kind"), Namespaces: httpapi.Values(c, "namespace"), Text: c.Query("q"), Sort: c.Query("sort"), Limit: limit}
	if err := httpapi.DecodeCursor(c.Query("cursor"), &query.After); err != nil {
		return err
	}
	epoch, seq := h.service.Live.Seq(Topic) // before reading: what comes later is a message
	listing, err := h.service.List(c.Request.Context(), query)
	if err != nil {
		return err
	}
	page := httpapi.Page[Row]{Items: listing.Rows, Total: listing.Total, Epoch: epoch, Seq: seq}
	if listing.Next != nil {
		page.Next = httpapi.EncodeCursor(listing.Next)
	}
	c.JSON(http.StatusOK, page)
	return nil
}

// schema shows what a kind may hold.
//
//	@ID			getPolicySchema
//	@Summary	The JSON schema of a kind of policy, for editors
//	@Tags		policy
//	@Param		resource	path		string	true	"the kind"	Enums(propagationpolicies, clusterpropagationpolicies, overridepolicies, clusteroverridepolicies)
//	@Success	200			{object}	object
//	@Failure	default		{object}	httpapi.Problem
//	@Router		/policies/schema/{resource} [get]
func (h *Handler) schema(c *gin.Context) error {
	schema, err := h.service.Schema(c.Request.Context(), c.Param("resource"))
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, schema)
	return nil
}

// get shows one policy.
//
//	@ID			getPolicy
//	@Summary	One policy, whole
//	@Tags		policy
//	@Param		resource	path		string	true	"the kind"	Enums(propagationpolicies, clusterpropagationpolicies, overridepolicies, clusteroverridepolicies)
//	@Param		namespace	path		string	true	"the namespace; - for a cluster-scoped policy"
//	@Param		name		path		string	true	"name of the policy"
//	@Success	200			{object}	Detail
//	@Failure	default		{object}	httpapi.Problem
//	@Router		/policies/{resource}/{namespace}/{name} [get]
func (h *Handler) get(c *gin.Context) error {
	ref, err := refOf(c)
	if err != nil {
		return err
	}
	detail, err := h.service.Get(c.Request.Context(), ref)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, detail)
	return nil
}

// apply creates or changes a policy.
//
//	@ID			applyPolicy
//	@Summary	Create or change a policy by server-side apply under the user's own rights; for operators
//	@Description	409 with the code stale: somebody wrote it since resourceVersion; read it again and merge. 409 with the code owned: fields belong to other managers; force takes them over. 422 with the code invalid-policy: fields say what is wrong where.
//	@Tags		policy
//	@Accept		json
//	@Param		resource	path		string	true	"the kind"	Enums(propagationpolicies, clusterpropagationpolicies, overridepolicies, clusteroverridepolicies)
//	@Param		namespace	path		string	true	"the namespace; - for a cluster-scoped policy"
//	@Param		name		path		string	true	"name of the policy"
//	@Param		dryRun		query		bool	false	"judge it, write nothing"
//	@Param		body		body		Write	true	"the policy"
//	@Success	200			{object}	Detail
//	@Failure	default		{object}	httpapi.Problem
//	@Router		/policies/{resource}/{namespace}/{name} [put]
func (h *Handler) apply(c *gin.Context) error {
	ref, err := refOf(c)
	if err != nil {
		return err
	}
	dryRun, err := strconv.ParseBool(c.DefaultQuery("dryRun", "false"))
	if err != nil {
		return fault.Invalid("dryRun is true or false").WithField("dryRun", "is neither true nor false")
	}
	var write Write
	if err := httpapi.Bind(c, &write); err != nil {
		return err
	}
	detail, err := h.service.Apply(c.Request.Context(), ref, write, dryRun)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, detail)
	return nil
}

// Removal confirms that a policy goes.
type Removal struct {
	// Confirm repeats the policy's name.
	Confirm string `json:"confirm"`
}

// remove deletes a policy.
//
//	@ID			deletePolicy
//	@Summary	Delete a policy; what it propagated stays in the members; for operators
//	@Tags		policy
//	@Accept		json
//	@Param		resource	path	string	true	"the kind"	Enums(propagationpolicies, clusterpropagationpolicies, overridepolicies, clusteroverridepolicies)
//	@Param		namespace	path	string	true	"the namespace; - for a cluster-scoped policy"
//	@Param		name		path	string	true	"name of the policy"
//	@Param		body		body	Removal	true	"the confirmation"
//	@Success	204
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/policies/{resource}/{namespace}/{name} [delete]
func (h *Handler) remove(c *gin.Context) error {
	ref, err := refOf(c)
	if err != nil {
		return err
	}
	var asked Removal
	if err := httpapi.Bind(c, &asked); err != nil {
		return err
	}
	if err := h.service.Delete(c.Request.Context(), ref, asked.Confirm); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}
