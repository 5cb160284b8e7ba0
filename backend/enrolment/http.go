package enrolment

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"muster.dev/muster/backend/httpapi"
	"muster.dev/muster/backend/registration"
)

// Handler serves registrations.
type Handler struct{ service *Service }

// NewHandler returns the routes of service.
func NewHandler(service *Service) *Handler {
	return &Handler{service: service}
}

// Routes registers the routes, which need a session.
func (h *Handler) Routes(r *gin.RouterGroup) {
	r.POST("/preflight", httpapi.Wrap(h.preflight))
	r.GET("/registrations", httpapi.Wrap(h.registrations))
	r.POST("/registrations", httpapi.Wrap(h.register))
	r.GET("/registrations/:id", httpapi.Wrap(h.registration))
	r.DELETE("/registrations/:id", httpapi.Wrap(h.cancel))
	r.POST("/registrations/:id/decode", httpapi.Wrap(h.decode))
}

// states splits the states asked for, given several times or with commas.
func states(c *gin.Context) []string {
	var list []string
	for part := range strings.SplitSeq(strings.Join(c.QueryArray("state"), ","), ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// NewPreflight is a kubeconfig to look at.
type NewPreflight struct {
	// Kubeconfig is read with inline values only; it is not kept.
	Kubeconfig string `json:"kubeconfig"`
	// Context chooses one of the kubeconfig, by default its current one.
	Context string `json:"context,omitempty" validate:"optional"`
	// Name is the wished name of the cluster.
	Name string `json:"name,omitempty" validate:"optional"`
} // @name cluster.NewPreflight

// preflight looks whether a member can be joined.
//
//	@ID			runPreflight
//	@Summary	Look whether the hub could call a member, and what joining would create; for operators
//	@Tags		registration
//	@Accept		json
//	@Param		body	body		NewPreflight	true	"the kubeconfig"
//	@Success	200		{object}	joining.Preflight
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/preflight [post]
func (h *Handler) preflight(c *gin.Context) error {
	var asked NewPreflight
	if err := httpapi.Bind(c, &asked); err != nil {
		return err
	}
	found, err := h.service.Preflight(c.Request.Context(), asked.Kubeconfig, asked.Context, asked.Name)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, found)
	return nil
}

// registrations shows who is joining and who has.
//
//	@ID			listRegistrations
//	@Summary	Registrations, newest first
//	@Tags		registration
//	@Param		state	query		[]string	false	"any of these states"	Enums(waiting, running, ready, failed, cancelled, expired)
//	@Param		limit	query		int			false	"rows a page, 1 to 500"
//	@Param		cursor	query		string		false	"next of the page before"
//	@Success	200		{object}	httpapi.Page[registration.Registration]
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/registrations [get]
func (h *Handler) registrations(c *gin.Context) error {
	limit, err := httpapi.Limit(c)
	if err != nil {
		return err
	}
	var after registration.Cursor
	if err := httpapi.DecodeCursor(c.Query("cursor"), &after); err != nil {
		return err
	}
	epoch, seq := h.service.Live.Seq(registration.Topic) // before reading: what comes later is a message
	found, err := h.service.RegistrationList(c.Request.Context(), states(c), after, limit)
	if err != nil {
		return err
	}
	page := httpapi.Page[registration.Registration]{Items: found.Rows, Total: found.Total, Epoch: epoch, Seq: seq}
	if found.Next != nil {
		page.Next = httpapi.EncodeCursor(found.Next)
	}
	c.JSON(http.StatusOK, page)
	return nil
}

// register begins a registration.
//
//	@ID			createRegistration
//	@Summary	Begin to join a cluster: a token and commands for pull, a join in the background for push; for operators
//	@Tags		registration
//	@Accept		json
//	@Param		body	body		NewRegistration	true	"the cluster"
//	@Success	201		{object}	Started			"pull: the token's secret half is in this answer and never shown again"
//	@Success	202		{object}	Started			"push: the join goes on in the background"
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/registrations [post]
func (h *Handler) register(c *gin.Context) error {
	var asked NewRegistration
	if err := httpapi.Bind(c, &asked); err != nil {
		return err
	}
	started, err := h.service.Register(c.Request.Context(), asked)
	if err != nil {
		return err
	}
	status := http.StatusCreated
	if asked.Flavour == registration.FlavourPush {
		status = http.StatusAccepted
	}
	c.JSON(status, started)
	return nil
}

// RegistrationDetail is a registration with where its live topic stood.
type RegistrationDetail struct {
	registration.Registration
	Epoch string `json:"epoch"`
	Seq   uint64 `json:"seq"`
} // @name cluster.RegistrationDetail

// registration shows one registration.
//
//	@ID			getRegistration
//	@Summary	One registration with its log
//	@Tags		registration
//	@Param		id		path		string	true	"id of the registration"
//	@Success	200		{object}	RegistrationDetail
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/registrations/{id} [get]
func (h *Handler) registration(c *gin.Context) error {
	epoch, seq := h.service.Live.Seq(registration.Topic + "/" + c.Param("id")) // before reading: what comes later is a message
	found, err := h.service.Registration(c.Request.Context(), c.Param("id"))
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, RegistrationDetail{Registration: found, Epoch: epoch, Seq: seq})
	return nil
}

// cancel ends a registration.
//
//	@ID			cancelRegistration
//	@Summary	Revoke the token of a registration, or stop a join and take back what it made; for operators
//	@Tags		registration
//	@Param		id		path		string	true	"id of the registration"
//	@Success	200		{object}	registration.Registration
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/registrations/{id} [delete]
func (h *Handler) cancel(c *gin.Context) error {
	ended, err := h.service.Cancel(c.Request.Context(), c.Param("id"))
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, ended)
	return nil
}

// TerminalOutput is what somebody's terminal printed.
type TerminalOutput struct {
	Text string `json:"text"`
} // @name cluster.TerminalOutput

// decode says what a terminal printed.
//
//	@ID			decodeTerminalOutput
//	@Summary	What a terminal's text means, for failures that never reach the hub; for operators
//	@Tags		registration
//	@Accept		json
//	@Param		id		path		string			true	"id of the registration"
//	@Param		body	body		TerminalOutput	true	"what was printed"
//	@Success	200		{object}	registration.Advice
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/registrations/{id}/decode [post]
func (h *Handler) decode(c *gin.Context) error {
	var asked TerminalOutput
	if err := httpapi.Bind(c, &asked); err != nil {
		return err
	}
	advice, err := h.service.Decode(c.Request.Context(), c.Param("id"), asked.Text)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, advice)
	return nil
}
