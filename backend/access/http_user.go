package access

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"muster.dev/muster/backend/httpapi"
)

// NewUser is a user to create.
type NewUser struct {
	Name string `json:"name"`
	Role Role   `json:"role"`
	// Password is the first password; empty: one is made and returned once.
	Password string `json:"password,omitempty" validate:"optional"`
}

// userCursor is where the next page of users begins.
type userCursor struct {
	After string `json:"after"`
}

// users lists who may sign in.
//
//	@ID			listUsers
//	@Summary	Who may sign in, by name; for administrators
//	@Tags		user
//	@Param		limit	query		int		false	"rows a page, 1 to 500"
//	@Param		cursor	query		string	false	"next of the page before"
//	@Success	200		{object}	httpapi.Page[User]
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/users [get]
func (h *Handler) users(c *gin.Context) error {
	limit, err := httpapi.Limit(c)
	if err != nil {
		return err
	}
	var from userCursor
	if err := httpapi.DecodeCursor(c.Query("cursor"), &from); err != nil {
		return err
	}
	epoch, seq := h.service.live.Seq(topic) // before reading: what comes later is a message
	users, total, err := h.service.Users(c.Request.Context(), from.After, limit+1)
	if err != nil {
		return err
	}
	page := httpapi.Page[User]{Items: users, Total: total, Epoch: epoch, Seq: seq}
	if len(users) > limit {
		page.Items = users[:limit]
		page.Next = httpapi.EncodeCursor(userCursor{After: users[limit-1].Name})
	}
	c.JSON(http.StatusOK, page)
	return nil
}

// createUser makes a user.
//
//	@ID			createUser
//	@Summary	Create a user, who must change the password at the first login; for administrators
//	@Tags		user
//	@Accept		json
//	@Param		body	body		NewUser	true	"the user"
//	@Success	201		{object}	UserCreated
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/users [post]
func (h *Handler) createUser(c *gin.Context) error {
	var asked NewUser
	if err := httpapi.Bind(c, &asked); err != nil {
		return err
	}
	created, err := h.service.CreateUser(c.Request.Context(), asked.Name, asked.Role, asked.Password)
	if err != nil {
		return err
	}
	c.JSON(http.StatusCreated, created)
	return nil
}

// changeUser changes role, state or password.
//
//	@ID			changeUser
//	@Summary	Change a user's role or state, or reset the password; ends the user's sessions; for administrators
//	@Tags		user
//	@Accept		json
//	@Param		name	path		string		true	"the user's name"
//	@Param		body	body		UserChange	true	"what to change"
//	@Success	200		{object}	UserCreated
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/users/{name} [patch]
func (h *Handler) changeUser(c *gin.Context) error {
	var asked UserChange
	if err := httpapi.Bind(c, &asked); err != nil {
		return err
	}
	changed, err := h.service.ChangeUser(c.Request.Context(), c.Param("name"), asked)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, changed)
	return nil
}

// deleteUser removes a user.
//
//	@ID			deleteUser
//	@Summary	Delete a user and end its sessions; for administrators
//	@Tags		user
//	@Param		name	path	string	true	"the user's name"
//	@Success	204
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/users/{name} [delete]
func (h *Handler) deleteUser(c *gin.Context) error {
	if err := h.service.DeleteUser(c.Request.Context(), c.Param("name")); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}
