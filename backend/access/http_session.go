package access

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"muster.dev/muster/backend/httpapi"
)

// Credentials are what a user signs in with.
type Credentials struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

// PasswordChange replaces a password.
type PasswordChange struct {
	Current string `json:"current"`
	Next    string `json:"next"`
}

// login opens a session and sets its cookie.
//
//	@ID			createSession
//	@Summary	Sign in; at most 5 failures a minute for a user and for an address
//	@Tags		session
//	@Accept		json
//	@Param		body	body		Credentials	true	"name and password"
//	@Success	201		{object}	SessionInfo
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/session [post]
func (h *Handler) login(c *gin.Context) error {
	if err := h.checkOrigin(c.Request); err != nil {
		return err
	}
	var asked Credentials
	if err := httpapi.Bind(c, &asked); err != nil {
		return err
	}
	ctx := WithActor(c.Request.Context(), Actor{RequestID: httpapi.RequestID(c.Request.Context())})
	signedIn, err := h.service.Login(ctx, asked.Username, asked.Password, clientOf(c))
	if err != nil {
		return err
	}
	grant(c, signedIn.Token)
	c.JSON(http.StatusCreated, signedIn.Info)
	return nil
}

// session tells who is signed in.
//
//	@ID			getSession
//	@Summary	Who is signed in, and the CSRF token of the session
//	@Tags		session
//	@Success	200		{object}	SessionInfo
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/session [get]
func (h *Handler) session(c *gin.Context) error {
	current, err := currentSession(c.Request.Context())
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, current.Info())
	return nil
}

// logout ends the session.
//
//	@ID			deleteSession
//	@Summary	Sign out
//	@Tags		session
//	@Success	204
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/session [delete]
func (h *Handler) logout(c *gin.Context) error {
	if err := h.service.Logout(c.Request.Context()); err != nil {
		return err
	}
	setCookie(c, "", -1)
	c.Status(http.StatusNoContent)
	return nil
}

// changePassword replaces the user's own password.
//
//	@ID			changePassword
//	@Summary	Replace one's own password; all other sessions of the user end
//	@Tags		session
//	@Accept		json
//	@Param		body	body		PasswordChange	true	"the current and the new password"
//	@Success	200		{object}	SessionInfo
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/session/password [post]
func (h *Handler) changePassword(c *gin.Context) error {
	var asked PasswordChange
	if err := httpapi.Bind(c, &asked); err != nil {
		return err
	}
	signedIn, err := h.service.ChangePassword(c.Request.Context(), asked.Current, asked.Next, clientOf(c))
	if err != nil {
		return err
	}
	grant(c, signedIn.Token)
	c.JSON(http.StatusOK, signedIn.Info)
	return nil
}

// sessions lists where the user is signed in.
//
//	@ID			listSessions
//	@Summary	Where one is signed in, newest first
//	@Tags		session
//	@Success	200		{object}	httpapi.Page[Session]
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/sessions [get]
func (h *Handler) sessions(c *gin.Context) error {
	sessions, err := h.service.Sessions(c.Request.Context())
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, httpapi.Page[Session]{Items: sessions, Total: len(sessions)})
	return nil
}

// revoke ends one session of the user.
//
//	@ID			revokeSession
//	@Summary	End one of one's own sessions
//	@Tags		session
//	@Param		id		path	string	true	"the session's id"
//	@Success	204
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/sessions/{id} [delete]
func (h *Handler) revoke(c *gin.Context) error {
	if err := h.service.Revoke(c.Request.Context(), c.Param("id")); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}
