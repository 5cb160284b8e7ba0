package access

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/live"
)

// FirstAdmin is the name of the user that EnsureFirstAdmin makes.
const FirstAdmin = "admin"

// firstPassword is a password that nobody has yet, and its hash.
type firstPassword struct{ password, hash string }

// PrepareFirstAdmin computes what EnsureFirstAdmin needs, if there is no user at
// all: a hash is slow by design, and the start of a hub has a core to spare
// earlier than at its end. It writes nothing.
func (s *Service) PrepareFirstAdmin(ctx context.Context) error {
	if _, total, err := s.store.users(ctx, "", 1); err != nil || total > 0 {
		return err
	}
	made := firstPassword{password: newPassword()}
	var err error
	if made.hash, err = s.hasher.hash(ctx, made.password); err != nil {
		return err
	}
	s.first.Store(&made)
	return nil
}

// EnsureFirstAdmin makes the first administrator if there is no user at all,
// and returns the one-time password to print.
func (s *Service) EnsureFirstAdmin(ctx context.Context) (password string, created bool, err error) {
	if _, total, err := s.store.users(ctx, "", 1); err != nil || total > 0 {
		return "", false, err
	}
	first := s.first.Swap(nil)
	if first == nil {
		first = &firstPassword{password: newPassword()}
		if first.hash, err = s.hasher.hash(ctx, first.password); err != nil {
			return "", false, err
		}
	}
	admin := User{Name: FirstAdmin, Role: RoleAdmin, MustChangePassword: true, CreatedAt: s.now()}
	if err := s.store.createUser(ctx, admin, first.hash); err != nil {
		if fault.Is(err, fault.KindConflict) {
			return "", false, nil // another process was first
		}
		return "", false, err
	}
	return first.password, true, nil
}

// RecoverAdmin gives the oldest administrator a new one-time password, for an
// operator on the hub's machine who has lost the old one. It makes one if none
// is left.
func (s *Service) RecoverAdmin(ctx context.Context) (name, password string, err error) {
	password = newPassword()
	hash, err := s.hasher.hash(ctx, password)
	if err != nil {
		return "", "", err
	}
	actor := Actor{Name: "operator", Role: RoleAdmin, Via: ViaCLI}
	err = s.audit.Access(WithActor(ctx, actor), Deed{Verb: "update", Kind: kindUser, Name: FirstAdmin, Detail: map[string]string{"what": "password recovery"}}, func(ctx context.Context) error {
		return s.db.Tx(ctx, func(ctx context.Context) error {
			admins, err := s.store.admins(ctx)
			if err != nil {
				return err
			}
			admin := User{Name: FirstAdmin, Role: RoleAdmin, CreatedAt: s.now()}
			if len(admins) > 0 {
				admin = admins[0]
			}
			name, admin.MustChangePassword = admin.Name, true
			if _, _, err := s.store.user(ctx, name); fault.Is(err, fault.KindNotFound) {
				return s.store.createUser(ctx, admin, hash)
			} else if err != nil {
				return err
			}
			return s.store.saveUser(ctx, admin, hash)
		})
	})
	if err != nil {
		return "", "", err
	}
	return name, password, s.endAll(ctx, name)
}

// FirstRun tells whether nobody has ever signed in.
func (s *Service) FirstRun(ctx context.Context) (bool, error) {
	ever, err := s.store.everSignedIn(ctx)
	return !ever && err == nil, err
}

// Users returns up to limit users after the name after, and how many there are.
// Only administrators may ask.
func (s *Service) Users(ctx context.Context, after string, limit int) ([]User, int, error) {
	if err := Require(ctx, RoleAdmin); err != nil {
		return nil, 0, err
	}
	return s.store.users(ctx, after, limit)
}

// CreateUser makes a user who must change the password at the first login. With
// an empty password it makes one and returns it, this once.
func (s *Service) CreateUser(ctx context.Context, name string, role Role, password string) (UserCreated, error) {
	name = strings.ToLower(strings.TrimSpace(name))
	var out UserCreated
	err := s.audit.Access(ctx, Deed{Verb: "create", Kind: kindUser, Name: name, Detail: map[string]string{"role": string(role)}, Needs: RoleAdmin}, func(ctx context.Context) error {
		if err := validateUser(name, role); err != nil {
			return err
		}
		if password == "" {
			password = newPassword()
			out.Password = password
		} else if err := validatePassword("password", name, password); err != nil {
			return err
		}
		hash, err := s.hasher.hash(ctx, password)
		if err != nil {
			return err
		}
		out.User = User{Name: name, Role: role, MustChangePassword: true, CreatedAt: s.now()}
		return s.store.createUser(ctx, out.User, hash)
	})
	if err != nil {
		return UserCreated{}, err
	}
	s.publish(out.User)
	return out, nil
}

// ChangeUser changes role, state or password of a user, and ends its sessions
// when it does. The last enabled administrator stays one.
func (s *Service) ChangeUser(ctx context.Context, name string, change UserChange) (UserCreated, error) {
	var out UserCreated
	err := s.audit.Access(ctx, Deed{Verb: "update", Kind: kindUser, Name: name, Detail: change.detail(), Needs: RoleAdmin}, func(ctx context.Context) error {
		if change.Role != nil {
			if err := validateRole(*change.Role); err != nil {
				return err
			}
		}
		hash := ""
		if change.ResetPassword {
			out.Password = newPassword()
			var err error
			if hash, err = s.hasher.hash(ctx, out.Password); err != nil {
				return err
			}
		}
		return s.applyChange(ctx, name, change, hash, &out.User)
	})
	if err != nil {
		return UserCreated{}, err
	}
	s.publish(out.User)
	return out, nil
}

func (s *Service) applyChange(ctx context.Context, name string, change UserChange, hash string, after *User) error {
	var before User
	err := s.db.Tx(ctx, func(ctx context.Context) (err error) {
		admins, err := s.store.admins(ctx)
		if err != nil {
			return err
		}
		if before, _, err = s.store.user(ctx, name); err != nil {
			return err
		}
		*after = change.apply(before)
		if losesAdmin(before, *after) && len(admins) == 1 {
			return lastAdmin(name)
		}
		return s.store.saveUser(ctx, *after, hash)
	})
	if err != nil || *after == before && hash == "" {
		return err
	}
	return s.endAll(ctx, name)
}

func lastAdmin(name string) error {
	return fault.Conflict("%s is the last administrator", name).WithCode("last-admin").WithFix("make another user an administrator first")
}

func (c UserChange) apply(user User) User {
	if c.Role != nil {
		user.Role = *c.Role
	}
	if c.Disabled != nil {
		user.Disabled = *c.Disabled
	}
	if c.ResetPassword {
		user.MustChangePassword = true
	}
	return user
}

func (c UserChange) detail() map[string]string {
	out := map[string]string{}
	if c.Role != nil {
		out["role"] = string(*c.Role)
	}
	if c.Disabled != nil {
		out["disabled"] = strconv.FormatBool(*c.Disabled)
	}
	if c.ResetPassword {
		out["what"] = "password reset"
	}
	return out
}

// DeleteUser removes a user and ends its sessions. What it did stays in the
// audit; the last enabled administrator stays.
func (s *Service) DeleteUser(ctx context.Context, name string) error {
	err := s.audit.Access(ctx, Deed{Verb: "delete", Kind: kindUser, Name: name, Needs: RoleAdmin}, func(ctx context.Context) error {
		var sessions []Session
		err := s.db.Tx(ctx, func(ctx context.Context) error {
			admins, err := s.store.admins(ctx)
			if err != nil {
				return err
			}
			user, _, err := s.store.user(ctx, name)
			if err != nil {
				return err
			}
			if losesAdmin(user, User{}) && len(admins) == 1 {
				return lastAdmin(name)
			}
			if sessions, err = s.store.sessions(ctx, name); err != nil {
				return err
			}
			return s.store.deleteUser(ctx, name) // and, by its foreign key, the sessions
		})
		if err != nil {
			return err
		}
		var failures []error
		for _, session := range sessions { // tells those who wait for the end
			failures = append(failures, s.end(ctx, session.ID))
		}
		return errors.Join(failures...)
	})
	if err != nil {
		return err
	}
	s.live.Publish(topic, live.Event{Op: live.OpDelete, Key: name})
	return nil
}
