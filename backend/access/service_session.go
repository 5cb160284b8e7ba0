package access

import (
	"context"

	"muster.dev/muster/backend/fault"
)

func currentSession(ctx context.Context) (Current, error) {
	current, ok := SessionFrom(ctx)
	if !ok {
		return Current{}, fault.Unauthenticated("nobody is signed in").WithFix("sign in")
	}
	return current, nil
}

// Logout ends the session that asks.
func (s *Service) Logout(ctx context.Context) error {
	current, err := currentSession(ctx)
	if err != nil {
		return err
	}
	return s.audit.Access(ctx, Deed{Verb: "logout", Kind: kindSession, Name: current.User.Name}, func(ctx context.Context) error {
		return s.end(ctx, current.Session.ID)
	})
}

// ChangePassword replaces the password of the user who asks, ends all its
// sessions and opens a new one for the one that asked.
func (s *Service) ChangePassword(ctx context.Context, password, next string, client Client) (SignedIn, error) {
	current, err := currentSession(ctx)
	if err != nil {
		return SignedIn{}, err
	}
	name := current.User.Name
	var out SignedIn
	err = s.audit.Access(ctx, Deed{Verb: "update", Kind: kindUser, Name: name, Detail: map[string]string{"what": "password"}}, func(ctx context.Context) error {
		if err := s.verify(ctx, name, password); err != nil {
			return err
		}
		if err := validatePassword("next", name, next); err != nil {
			return err
		}
		if next == password {
			return fault.Invalid("the new password is the old one").WithField("next", "is the current password")
		}
		hash, err := s.hasher.hash(ctx, next)
		if err != nil {
			return err
		}
		var user User
		err = s.db.Tx(ctx, func(ctx context.Context) error {
			if user, _, err = s.store.user(ctx, name); err != nil {
				return err
			}
			user.MustChangePassword = false
			return s.store.saveUser(ctx, user, hash)
		})
		if err != nil {
			return err
		}
		if err := s.endAll(ctx, name); err != nil {
			return err
		}
		out, err = s.open(ctx, user, client)
		return err
	})
	return out, err
}

// verify asks for the user's present password again; failures count as failed
// logins do.
func (s *Service) verify(ctx context.Context, name, password string) error {
	key := "user " + name
	if wait := s.attempts.begin(key); wait > 0 {
		return fault.TooMany("too many wrong passwords").WithFix("wait a minute")
	}
	_, hash, err := s.store.user(ctx, name)
	if err != nil {
		return err
	}
	right, err := s.hasher.matches(ctx, hash, password)
	if err != nil {
		return err
	}
	if !right {
		return fault.Invalid("the current password is wrong").WithCode("bad-credentials").WithField("current", "is wrong")
	}
	s.attempts.succeeded(key)
	return nil
}

// Sessions returns the sessions of the user who asks, newest first.
func (s *Service) Sessions(ctx context.Context) ([]Session, error) {
	current, err := currentSession(ctx)
	if err != nil {
		return nil, err
	}
	all, err := s.store.sessions(ctx, current.User.Name)
	if err != nil {
		return nil, err
	}
	out := make([]Session, 0, len(all))
	for _, session := range all {
		if !session.expired(s.now()) {
			session.Current = session.ID == current.Session.ID
			out = append(out, session)
		}
	}
	return out, nil
}

// Revoke ends a session of the user who asks. One of another user is not found.
func (s *Service) Revoke(ctx context.Context, id string) error {
	current, err := currentSession(ctx)
	if err != nil {
		return err
	}
	return s.audit.Access(ctx, Deed{Verb: "revoke", Kind: kindSession, Name: current.User.Name, Detail: map[string]string{"session": id}}, func(ctx context.Context) error {
		_, owner, err := s.store.session(ctx, "id", id)
		if err == nil && owner != current.User.Name {
			err = fault.NotFound("there is no such session")
		}
		if err != nil {
			return err
		}
		return s.end(ctx, id)
	})
}
