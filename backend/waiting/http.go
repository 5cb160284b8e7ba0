package waiting

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"muster.dev/muster/backend/httpapi"
	"muster.dev/muster/backend/token"
)

// Handler serves the waiting room, the approval rules and the onboarding of
// clusters that speak Open Cluster Management.
type Handler struct {
	service *Service
	book    *Book
}

// NewHandler returns the routes of a waiting room and of its rules.
func NewHandler(service *Service, book *Book) *Handler { return &Handler{service: service, book: book} }

// Routes registers the routes, which need a session.
func (h *Handler) Routes(r *gin.RouterGroup) {
	r.GET("/waiting", httpapi.Wrap(h.list))
	r.POST("/waiting/bulk", httpapi.Wrap(h.bulk))
	r.GET("/waiting/:cluster", httpapi.Wrap(h.get))
	r.POST("/waiting/:cluster/approve", httpapi.Wrap(h.approve))
	r.POST("/waiting/:cluster/accept", httpapi.Wrap(h.accept))
	r.POST("/waiting/:cluster/deny", httpapi.Wrap(h.deny))
	r.POST("/onboarding/ocm", httpapi.Wrap(h.onboard))
	r.GET("/approval-rules", httpapi.Wrap(h.rules))
	r.POST("/approval-rules", httpapi.Wrap(h.addRule))
	r.DELETE("/approval-rules/:id", httpapi.Wrap(h.removeRule))
}

// order puts those who wait first, each group newest first.
var order = httpapi.Order[Row]{
	Key: func(row *Row) string { return row.Cluster }, Usual: "waiting",
	By: map[string]func(*Row) httpapi.Position{
		"waiting": func(row *Row) httpapi.Position {
			const apart = 1 << 40 // further than any time in seconds
			if row.Waits {
				return httpapi.Position{Number: -row.CreatedAt.Unix() - apart}
			}
			return httpapi.Position{Number: -row.CreatedAt.Unix()}
		},
		"cluster": func(*Row) httpapi.Position { return httpapi.Position{} },
		"age":     func(row *Row) httpapi.Position { return httpapi.Position{Number: -row.CreatedAt.Unix()} },
	},
}

// list shows who waits for a consent.
//
//	@ID			listWaiting
//	@Summary	The waiting room: clusters that wait for the hub's consent, and those decided on in the last day
//	@Tags		waiting
//	@Param		state	query		string	false	"only those who wait for a person, or only the others"	Enums(waiting, decided)
//	@Param		q		query		string	false	"a part of name, address, requester or fingerprint"
//	@Param		sort	query		string	false	"waiting (first, then newest first), cluster or age; with - in front descending"
//	@Param		limit	query		int		false	"rows a page, 1 to 500"
//	@Param		cursor	query		string	false	"next of the page before"
//	@Success	200		{object}	httpapi.Page[Row]
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/waiting [get]
func (h *Handler) list(c *gin.Context) error {
	limit, err := httpapi.Limit(c)
	if err != nil {
		return err
	}
	epoch, seq := h.service.Live.Seq(Topic) // before reading: what comes later is a message
	rows, err := h.service.List(c.Request.Context(), Query{State: c.Query("state"), Text: c.Query("q")})
	if err != nil {
		return err
	}
	page := httpapi.Page[Row]{Total: len(rows), Epoch: epoch, Seq: seq}
	if page.Items, page.Next, err = order.Cut(rows, c.Query("sort"), c.Query("cursor"), limit); err != nil {
		return err
	}
	c.JSON(http.StatusOK, page)
	return nil
}

// get shows one cluster.
//
//	@ID			getWaiting
//	@Summary	One cluster's consents, also before it has introduced itself and after it has left the waiting room
//	@Tags		waiting
//	@Param		cluster	path		string	true	"name of the cluster"
//	@Success	200		{object}	Row
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/waiting/{cluster} [get]
func (h *Handler) get(c *gin.Context) error {
	row, err := h.service.Get(c.Request.Context(), c.Param("cluster"))
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, row)
	return nil
}

// Approval says which requests get their certificate.
type Approval struct {
	// Requests are names; none means the newest that waits, unless several
	// requesters ask.
	Requests []string `json:"requests,omitempty" validate:"optional"`
}

// approve gives certificates.
//
//	@ID			approveWaiting
//	@Summary	Approve the certificate of a cluster's agent, by the user's own rights; for operators
//	@Tags		waiting
//	@Accept		json
//	@Param		cluster	path	string		true	"name of the cluster"
//	@Param		body	body	Approval	true	"which requests"
//	@Success	204
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/waiting/{cluster}/approve [post]
func (h *Handler) approve(c *gin.Context) error {
	var asked Approval
	if err := httpapi.Bind(c, &asked); err != nil {
		return err
	}
	if err := h.service.Approve(c.Request.Context(), c.Param("cluster"), asked.Requests); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}

// accept accepts a cluster.
//
//	@ID			acceptWaiting
//	@Summary	Accept a cluster (hubAcceptsClient), by the user's own rights; for operators
//	@Tags		waiting
//	@Param		cluster	path	string	true	"name of the cluster"
//	@Success	204
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/waiting/{cluster}/accept [post]
func (h *Handler) accept(c *gin.Context) error {
	if err := h.service.Accept(c.Request.Context(), c.Param("cluster")); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}

// Denial says why a cluster is refused.
type Denial struct {
	Reason string `json:"reason,omitempty" validate:"optional"`
}

// deny refuses a cluster.
//
//	@ID			denyWaiting
//	@Summary	Refuse a cluster: its acceptance is withdrawn and its waiting requests are denied; for operators
//	@Tags		waiting
//	@Accept		json
//	@Param		cluster	path	string	true	"name of the cluster"
//	@Param		body	body	Denial	true	"why"
//	@Success	204
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/waiting/{cluster}/deny [post]
func (h *Handler) deny(c *gin.Context) error {
	var asked Denial
	if err := httpapi.Bind(c, &asked); err != nil {
		return err
	}
	if err := h.service.Deny(c.Request.Context(), c.Param("cluster"), asked.Reason); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}

// BulkDecision is what to do with several clusters.
type BulkDecision struct {
	Action   string   `json:"action" enums:"approve-and-accept,approve,accept,deny"`
	Clusters []string `json:"clusters"`
}

// BulkOutcome is what became of one of them.
type BulkOutcome struct {
	Cluster string           `json:"cluster"`
	OK      bool             `json:"ok"`
	Problem *httpapi.Problem `json:"problem,omitempty" validate:"optional"`
}

// bulk decides on several clusters.
//
//	@ID			decideWaiting
//	@Summary	Decide on several clusters, each by itself; for operators
//	@Tags		waiting
//	@Accept		json
//	@Param		body	body		BulkDecision	true	"what to do with which clusters"
//	@Success	200		{array}		BulkOutcome
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/waiting/bulk [post]
func (h *Handler) bulk(c *gin.Context) error {
	var asked BulkDecision
	if err := httpapi.Bind(c, &asked); err != nil {
		return err
	}
	outcomes, err := h.service.Bulk(c.Request.Context(), asked.Action, asked.Clusters)
	if err != nil {
		return err
	}
	answer := make([]BulkOutcome, 0, len(outcomes))
	for _, outcome := range outcomes {
		told := BulkOutcome{Cluster: outcome.Cluster, OK: outcome.Err == nil}
		if outcome.Err != nil {
			problem := httpapi.ProblemOf(c, outcome.Err)
			told.Problem = &problem
		}
		answer = append(answer, told)
	}
	c.JSON(http.StatusOK, answer)
	return nil
}

// NewOnboarding says which cluster is to be introduced, and how.
type NewOnboarding struct {
	ClusterName string `json:"clusterName"`
	Token       string `json:"token,omitempty" validate:"optional" enums:"service-account,bootstrap"`
	// TTLSeconds is how long the token works, an hour by default.
	TTLSeconds int64 `json:"ttlSeconds,omitempty" validate:"optional"`
	// Mode says where the agents run: in the cluster in two Deployments, in one, or
	// in another cluster.
	Mode string `json:"mode,omitempty" validate:"optional" enums:"default,singleton,hosted"`
	// ServerURL is the address of the cluster's own API that the agent tells.
	ServerURL string `json:"serverUrl,omitempty" validate:"optional"`
	// TokenLabels are put on a bootstrap token, for approval rules.
	TokenLabels map[string]string `json:"tokenLabels,omitempty" validate:"optional"`
}

// onboard makes a token and the commands that use it.
//
//	@ID			onboardCluster
//	@Summary	Make a token for a cluster that speaks Open Cluster Management, and the commands to introduce it; for operators
//	@Description	The token is in this answer only.
//	@Tags		waiting
//	@Accept		json
//	@Param		body	body		NewOnboarding	true	"the cluster"
//	@Success	201		{object}	Onboarded
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/onboarding/ocm [post]
func (h *Handler) onboard(c *gin.Context) error {
	var asked NewOnboarding
	if err := httpapi.Bind(c, &asked); err != nil {
		return err
	}
	made, err := h.service.Onboard(c.Request.Context(), Onboarding{
		ClusterName: asked.ClusterName, Token: asked.Token, Life: token.Seconds(asked.TTLSeconds).Truncate(time.Second),
		Mode: asked.Mode, ServerURL: asked.ServerURL, TokenLabels: asked.TokenLabels,
	})
	if err != nil {
		return err
	}
	c.Header("Cache-Control", "no-store")
	c.JSON(http.StatusCreated, made)
	return nil
}
