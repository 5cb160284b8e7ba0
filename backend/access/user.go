package access

import (
	"regexp"
	"strings"
	"time"

	"muster.dev/muster/backend/fault"
)

// User is one who may sign in.
type User struct {
	Name               string    `json:"name"`
	Role               Role      `json:"role"`
	Disabled           bool      `json:"disabled"`
	MustChangePassword bool      `json:"mustChangePassword"`
	CreatedAt          time.Time `json:"createdAt"`
	// LastSeenAt is when the user last asked for something, to the minute.
	LastSeenAt *time.Time `json:"lastSeenAt,omitempty" validate:"optional"`
}

// UserCreated is a user with the password made for it, which is shown once.
type UserCreated struct {
	User     User   `json:"user"`
	Password string `json:"password,omitempty" validate:"optional"`
}

// UserChange is what to change about a user; nil stays.
type UserChange struct {
	Role     *Role `json:"role,omitempty" validate:"optional"`
	Disabled *bool `json:"disabled,omitempty" validate:"optional"`
	// ResetPassword replaces the password by one that is returned once.
	ResetPassword bool `json:"resetPassword,omitempty" validate:"optional"`
}

// Lengths of passwords, in characters.
const (
	passwordLeast = 12
	passwordMost  = 256
)

var namePattern = regexp.MustCompile(`^[a-z0-9][-.a-z0-9]{0,62}$`)

func validateUser(name string, role Role) error {
	if !namePattern.MatchString(name) {
		return fault.Invalid("a user's name has 1 to 63 of a-z, 0-9, - and ., and begins with a letter or digit").WithField("name", "is not a name")
	}
	return validateRole(role)
}

func validateRole(role Role) error {
	if !role.Valid() {
		return fault.Invalid("the role must be admin, operator or viewer").WithField("role", "is not a role")
	}
	return nil
}

// validatePassword asks for length, the one rule that helps; field is where the
// password came from.
func validatePassword(field, name, password string) error {
	length := len([]rune(password))
	switch {
	case length < passwordLeast:
		return fault.Invalid("a password needs at least %d characters", passwordLeast).WithField(field, "is too short")
	case length > passwordMost:
		return fault.Invalid("a password has at most %d characters", passwordMost).WithField(field, "is too long")
	case strings.Count(password, password[:1]) == len(password) || strings.Trim(strings.ReplaceAll(strings.ToLower(password), name, ""), "0123456789") == "":
		return fault.Invalid("a password may not be one repeated character, nor made of the user's name").WithField(field, "is too easy")
	}
	return nil
}

// losesAdmin tells whether a change takes an enabled administrator away.
func losesAdmin(before, after User) bool {
	return before.Role == RoleAdmin && !before.Disabled && (after.Role != RoleAdmin || after.Disabled)
}
