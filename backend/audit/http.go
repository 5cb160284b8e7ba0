package audit

import (
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/httpapi"
)

// Handler serves the record.
type Handler struct{ service *Service }

// NewHandler returns the routes of service.
func NewHandler(service *Service) *Handler { return &Handler{service: service} }

// Routes registers what is behind a session.
func (h *Handler) Routes(r *gin.RouterGroup) { r.GET("/audit", httpapi.Wrap(h.list)) }

// cursor is where the next page begins.
type cursor struct {
	Before string `json:"before"`
}

// list shows who changed what.
//
//	@ID			listAudit
//	@Summary	Who changed what, newest first; total counts up to 10,000
//	@Tags		audit
//	@Param		actor		query		string	false	"who acted"
//	@Param		verb		query		string	false	"what was done"
//	@Param		kind		query		string	false	"the kind it was done to, like Cluster"
//	@Param		namespace	query		string	false	"the namespace of what it was done to"
//	@Param		name		query		string	false	"a part of the name of what it was done to"
//	@Param		via			query		string	false	"how it came in"	Enums(rest, hub-api, cli)
//	@Param		outcome		query		string	false	"what came of it"	Enums(pending, ok, denied, failed, unknown)
//	@Param		since		query		string	false	"asked for at or after (RFC 3339)"
//	@Param		until		query		string	false	"asked for before (RFC 3339)"
//	@Param		limit		query		int		false	"rows a page, 1 to 500"
//	@Param		cursor		query		string	false	"next of the page before"
//	@Success	200			{object}	httpapi.Page[Entry]
//	@Failure	default		{object}	httpapi.Problem
//	@Router		/audit [get]
func (h *Handler) list(c *gin.Context) error {
	filter, err := filterOf(c)
	if err != nil {
		return err
	}
	page, err := h.service.Page(c, filter)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, page)
	return nil
}

// Page answers a request for entries that fit filter, with the limit and cursor
// of its query; other nouns show their history with it.
func (s *Service) Page(c *gin.Context, filter Filter) (httpapi.Page[Entry], error) {
	limit, err := httpapi.Limit(c)
	if err != nil {
		return httpapi.Page[Entry]{}, err
	}
	var from cursor
	if err := httpapi.DecodeCursor(c.Query("cursor"), &from); err != nil {
		return httpapi.Page[Entry]{}, err
	}
	epoch, seq := s.live.Seq(Topic) // before reading: what comes later is a message
	entries, total, err := s.List(c.Request.Context(), filter, from.Before, limit+1)
	if err != nil {
		return httpapi.Page[Entry]{}, err
	}
	page := httpapi.Page[Entry]{Items: entries, Total: total, Epoch: epoch, Seq: seq}
	if len(entries) > limit {
		page.Items = entries[:limit]
		page.Next = httpapi.EncodeCursor(cursor{Before: entries[limit-1].ID})
	}
	return page, nil
}

func filterOf(c *gin.Context) (Filter, error) {
	filter := Filter{
		Actor: c.Query("actor"), Verb: c.Query("verb"), Kind: c.Query("kind"), Namespace: c.Query("namespace"),
		Via: c.Query("via"), NameContains: c.Query("name"), Outcome: Outcome(c.Query("outcome")),
	}
	if filter.Outcome != "" && !slices.Contains(outcomes, filter.Outcome) {
		return Filter{}, fault.Invalid("the outcome is pending, ok, denied, failed or unknown").WithField("outcome", "is not an outcome")
	}
	var err error
	if filter.Since, err = timeOf(c, "since"); err != nil {
		return Filter{}, err
	}
	filter.Until, err = timeOf(c, "until")
	return filter, err
}

func timeOf(c *gin.Context, name string) (time.Time, error) {
	text := c.Query(name)
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fault.Invalid("%s is not a time like 2026-01-31T12:00:00Z", name).WithField(name, "is not a time").Wrap(err)
	}
	return at, nil
}
