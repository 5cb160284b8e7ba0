package access

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"muster.dev/muster/backend/database"
	"muster.dev/muster/backend/fault"
)

type userRow struct {
	Name               string `gorm:"primaryKey"`
	Role               string
	PasswordHash       string
	Disabled           bool
	MustChangePassword bool
	CreatedAt          time.Time
	LastSeenAt         *time.Time
}

// TableName implements gorm's Tabler.
func (userRow) TableName() string { return "users" }

func (r userRow) user() User {
	return User{Name: r.Name, Role: Role(r.Role), Disabled: r.Disabled, MustChangePassword: r.MustChangePassword, CreatedAt: r.CreatedAt, LastSeenAt: r.LastSeenAt}
}

type sessionRow struct {
	ID         string `gorm:"primaryKey"`
	TokenHash  string
	UserName   string
	Address    string
	Agent      string
	CreatedAt  time.Time
	LastSeenAt time.Time
	ExpiresAt  time.Time // at the latest
}

// TableName implements gorm's Tabler.
func (sessionRow) TableName() string { return "sessions" }

func (r sessionRow) session() Session {
	return Session{ID: r.ID, CreatedAt: r.CreatedAt, LastSeenAt: r.LastSeenAt, Address: r.Address, Agent: r.Agent}
}

type store struct{ db *database.DB }

func unknownUser(name string) error {
	return fault.NotFound("there is no user %s", name).WithFix("the list of users has all names")
}

// user returns a user and the hash of its password.
func (s store) user(ctx context.Context, name string) (User, string, error) {
	var row userRow
	err := s.db.For(ctx).Where("name = ?", name).Take(&row).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return User{}, "", unknownUser(name)
	}
	if err != nil {
		return User{}, "", fmt.Errorf("read user %s: %w", name, err)
	}
	return row.user(), row.PasswordHash, nil
}

// users returns those after the name after, in order, and how many there are.
func (s store) users(ctx context.Context, after string, limit int) ([]User, int, error) {
	var rows []userRow
	var total int64
	if err := s.db.For(ctx).Where("name > ?", after).Order("name").Limit(limit).Find(&rows).Error; err != nil {
		return nil, 0, fmt.Errorf("list users: %w", err)
	}
	if err := s.db.For(ctx).Model(&userRow{}).Count(&total).Error; err != nil {
		return nil, 0, fmt.Errorf("count users: %w", err)
	}
	out := make([]User, 0, len(rows))
	for _, row := range rows {
		out = append(out, row.user())
	}
	return out, int(total), nil
}

func (s store) createUser(ctx context.Context, user User, hash string) error {
	err := s.db.For(ctx).Create(&userRow{
		Name: user.Name, Role: string(user.Role), PasswordHash: hash, Disabled: user.Disabled, MustChangePassword: user.MustChangePassword, CreatedAt: user.CreatedAt,
	}).Error
	if errors.Is(err, gorm.ErrDuplicatedKey) {
		return fault.Conflict("there is already a user %s", user.Name).WithCode("taken").WithFix("choose another name").WithField("name", "is taken").Wrap(err)
	}
	if err != nil {
		return fmt.Errorf("create user %s: %w", user.Name, err)
	}
	return nil
}

// saveUser writes role, state and, unless empty, the password's hash.
func (s store) saveUser(ctx context.Context, user User, hash string) error {
	changes := map[string]any{"role": string(user.Role), "disabled": user.Disabled, "must_change_password": user.MustChangePassword}
	if hash != "" {
		changes["password_hash"] = hash
	}
	if err := s.db.For(ctx).Model(&userRow{}).Where("name = ?", user.Name).Updates(changes).Error; err != nil {
		return fmt.Errorf("save user %s: %w", user.Name, err)
	}
	return nil
}

func (s store) deleteUser(ctx context.Context, name string) error {
	if err := s.db.For(ctx).Where("name = ?", name).Delete(&userRow{}).Error; err != nil {
		return fmt.Errorf("delete user %s: %w", name, err)
	}
	return nil
}

// admins returns the enabled administrators and keeps them as they are until
// the transaction ends: two that each remove the other wait for one another.
func (s store) admins(ctx context.Context) ([]User, error) {
	var rows []userRow
	err := s.db.For(ctx).Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate}).
		Where("role = ? AND disabled = ?", string(RoleAdmin), false).Order("created_at, name").Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("list administrators: %w", err)
	}
	out := make([]User, 0, len(rows))
	for _, row := range rows {
		out = append(out, row.user())
	}
	return out, nil
}

func (s store) createSession(ctx context.Context, session Session, user, token string) error {
	err := s.db.For(ctx).Create(&sessionRow{
		ID: session.ID, TokenHash: hashToken(token), UserName: user, Address: session.Address, Agent: session.Agent,
		CreatedAt: session.CreatedAt, LastSeenAt: session.LastSeenAt, ExpiresAt: session.CreatedAt.Add(absoluteLimit),
	}).Error
	if err != nil {
		return fmt.Errorf("create session: %w", err)
	}
	return nil
}

// session returns the session with a column's value, and its user's name;
// fault.NotFound if there is none.
func (s store) session(ctx context.Context, column, value string) (Session, string, error) {
	var row sessionRow
	err := s.db.For(ctx).Where(clause.Eq{Column: clause.Column{Name: column}, Value: value}).Take(&row).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return Session{}, "", fault.NotFound("there is no such session")
	}
	if err != nil {
		return Session{}, "", fmt.Errorf("read session: %w", err)
	}
	return row.session(), row.UserName, nil
}

// sessions returns a user's sessions, newest first.
func (s store) sessions(ctx context.Context, user string) ([]Session, error) {
	var rows []sessionRow
	if err := s.db.For(ctx).Where("user_name = ?", user).Order("created_at DESC, id").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("list sessions of %s: %w", user, err)
	}
	out := make([]Session, 0, len(rows))
	for _, row := range rows {
		out = append(out, row.session())
	}
	return out, nil
}

func (s store) deleteSession(ctx context.Context, id string) error {
	if err := s.db.For(ctx).Where("id = ?", id).Delete(&sessionRow{}).Error; err != nil {
		return fmt.Errorf("delete session: %w", err)
	}
	return nil
}

// expired returns the ids of sessions that have ended by themselves.
func (s store) expired(ctx context.Context, now time.Time) ([]string, error) {
	var ids []string
	err := s.db.For(ctx).Model(&sessionRow{}).Where("expires_at <= ? OR last_seen_at <= ?", now, now.Add(-idleLimit)).Pluck("id", &ids).Error
	if err != nil {
		return nil, fmt.Errorf("list expired sessions: %w", err)
	}
	return ids, nil
}

// seen remembers when a session, and with it its user, last asked.
func (s store) seen(ctx context.Context, session, user string, at time.Time) error {
	err := s.db.Tx(ctx, func(ctx context.Context) error {
		if err := s.db.For(ctx).Model(&sessionRow{}).Where("id = ?", session).Update("last_seen_at", at).Error; err != nil {
			return err
		}
		return s.db.For(ctx).Model(&userRow{}).Where("name = ?", user).Update("last_seen_at", at).Error
	})
	if err != nil {
		return fmt.Errorf("save when session was seen: %w", err)
	}
	return nil
}

// everSignedIn tells whether anybody has.
func (s store) everSignedIn(ctx context.Context) (bool, error) {
	var seen int64
	if err := s.db.For(ctx).Model(&userRow{}).Where("last_seen_at IS NOT NULL").Limit(1).Count(&seen).Error; err != nil {
		return false, fmt.Errorf("look for a first login: %w", err)
	}
	return seen > 0, nil
}
