package waiting

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"muster.dev/muster/backend/httpapi"
)

// NewRule is an approval rule to make.
type NewRule struct {
	Kind  string `json:"kind" enums:"identity,token-label,cluster-name"`
	Value string `json:"value"`
	// Approve gives the certificate, Accept accepts the cluster; one of them, or
	// both.
	Approve bool   `json:"approve,omitempty" validate:"optional"`
	Accept  bool   `json:"accept,omitempty" validate:"optional"`
	Note    string `json:"note,omitempty" validate:"optional"`
}

// rules shows the approval rules.
//
//	@ID			listApprovalRules
//	@Summary	Rules by which the hub gives consents without a person, oldest first; there is none at first
//	@Tags		waiting
//	@Success	200		{object}	httpapi.Page[Rule]
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/approval-rules [get]
func (h *Handler) rules(c *gin.Context) error {
	epoch, seq := h.book.Live.Seq(RuleTopic) // before reading: what comes later is a message
	rules, err := h.book.List(c.Request.Context())
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, httpapi.Page[Rule]{Items: rules, Total: len(rules), Epoch: epoch, Seq: seq})
	return nil
}

// addRule makes an approval rule.
//
//	@ID			createApprovalRule
//	@Summary	Make an approval rule: whoever fits gets the consent unseen; for administrators
//	@Tags		waiting
//	@Accept		json
//	@Param		body	body		NewRule	true	"the rule"
//	@Success	201		{object}	Rule
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/approval-rules [post]
func (h *Handler) addRule(c *gin.Context) error {
	var asked NewRule
	if err := httpapi.Bind(c, &asked); err != nil {
		return err
	}
	made, err := h.book.Add(c.Request.Context(), Rule{Kind: asked.Kind, Value: asked.Value, Approve: asked.Approve, Accept: asked.Accept, Note: asked.Note})
	if err != nil {
		return err
	}
	c.JSON(http.StatusCreated, made)
	return nil
}

// removeRule removes an approval rule.
//
//	@ID			deleteApprovalRule
//	@Summary	Remove an approval rule; whom it let in stays; for administrators
//	@Tags		waiting
//	@Param		id	path	string	true	"id of the rule"
//	@Success	204
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/approval-rules/{id} [delete]
func (h *Handler) removeRule(c *gin.Context) error {
	if err := h.book.Remove(c.Request.Context(), c.Param("id")); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}
