package registration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"muster.dev/muster/backend/database"
	"muster.dev/muster/backend/fault"
)

// registrationRow, stageRow and logRow are the tables of 0002_registration_create.sql.
type registrationRow struct {
	ID          string `gorm:"primaryKey"`
	Flavour     string
	ClusterName string
	TokenID     string
	State       string
	CreatedBy   string
	CreatedAt   time.Time `gorm:"autoCreateTime:false"`
	UpdatedAt   time.Time `gorm:"autoUpdateTime:false"`
	Labels      string    // JSON object
	Options     string    // JSON of storedOptions
}

// TableName implements gorm's Tabler.
func (registrationRow) TableName() string { return "registrations" }

// storedOptions is what no query looks at.
type storedOptions struct {
	Placement
	Target
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
	Stamped   bool       `json:"stamped,omitempty"`
}

type stageRow struct {
	RegistrationID string `gorm:"primaryKey"`
	Position       int    `gorm:"primaryKey;autoIncrement:false"`
	Name           string
	State          string
	At             *time.Time
	Source         string
	Detail         string
	Code           string
	Cause          string
	Fix            string
}

// TableName implements gorm's Tabler.
func (stageRow) TableName() string { return "registration_stages" }

type logRow struct {
	RegistrationID string `gorm:"primaryKey"`
	Seq            int    `gorm:"primaryKey;autoIncrement:false"`
	At             time.Time
	Line           string
}

// TableName implements gorm's Tabler.
func (logRow) TableName() string { return "registration_log" }

// registrationStore keeps registrations in SQL.
type registrationStore struct{ db *database.DB }

// save writes a registration as it stands, with the lines of its log that are
// not stored yet.
func (s registrationStore) save(ctx context.Context, r *Registration) error {
	row, stages, lines, err := rowsOf(r)
	if err != nil {
		return err
	}
	err = s.db.Tx(ctx, func(ctx context.Context) error {
		db := s.db.For(ctx)
		if err := db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&row).Error; err != nil {
			return err
		}
		if err := db.Where("registration_id = ? AND position >= ?", r.ID, len(stages)).Delete(&stageRow{}).Error; err != nil {
			return err
		}
		if err := db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&stages).Error; err != nil {
			return err
		}
		if len(lines) == 0 {
			return nil
		}
		if err := db.Clauses(clause.OnConflict{DoNothing: true}).Create(&lines).Error; err != nil {
			return err
		}
		oldest := lines[len(lines)-1].Seq - maxLog
		return db.Where("registration_id = ? AND seq <= ?", r.ID, oldest).Delete(&logRow{}).Error
	})
	if err != nil {
		return fmt.Errorf("save registration %s: %w", r.ID, err)
	}
	r.logged = r.logBase + len(r.Log)
	return nil
}

func rowsOf(r *Registration) (registrationRow, []stageRow, []logRow, error) {
	labels, err := json.Marshal(r.Labels)
	if err != nil {
		return registrationRow{}, nil, nil, fmt.Errorf("encode labels of registration %s: %w", r.ID, err)
	}
	options, err := json.Marshal(storedOptions{Placement: r.Placement, Target: r.Target, ExpiresAt: r.ExpiresAt, Stamped: r.Stamped})
	if err != nil {
		return registrationRow{}, nil, nil, fmt.Errorf("encode options of registration %s: %w", r.ID, err)
	}
	row := registrationRow{
		ID: r.ID, Flavour: string(r.Flavour), ClusterName: r.ClusterName, TokenID: r.TokenID, State: string(r.State), CreatedBy: r.CreatedBy,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, Labels: string(labels), Options: string(options),
	}
	stages := make([]stageRow, 0, len(r.Stages))
	for i, stage := range r.Stages {
		stages = append(stages, stageRow{
			RegistrationID: r.ID, Position: i, Name: stage.Name, State: string(stage.State), At: stage.At, Source: stage.Source,
			Detail: stage.Detail, Code: stage.Code, Cause: stage.Cause, Fix: stage.Fix,
		})
	}
	var lines []logRow
	for i, line := range r.Log {
		if seq := r.logBase + i; seq >= r.logged {
			lines = append(lines, logRow{RegistrationID: r.ID, Seq: seq, At: line.At, Line: line.Line})
		}
	}
	return row, stages, lines, nil
}

func (row registrationRow) registration() (*Registration, error) {
	var options storedOptions
	var labels map[string]string
	if err := errors.Join(json.Unmarshal([]byte(row.Options), &options), json.Unmarshal([]byte(row.Labels), &labels)); err != nil {
		return nil, fmt.Errorf("decode registration %s: %w", row.ID, err)
	}
	return &Registration{
		ID: row.ID, Flavour: Flavour(row.Flavour), ClusterName: row.ClusterName, TokenID: row.TokenID, State: State(row.State),
		CreatedBy: row.CreatedBy, CreatedAt: row.CreatedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(), ExpiresAt: options.ExpiresAt,
		Labels: labels, Placement: options.Placement, Target: options.Target, Stamped: options.Stamped,
	}, nil
}

// find returns the registration with this id and its log, or fault.NotFound.
func (s registrationStore) find(ctx context.Context, id string) (*Registration, error) {
	var row registrationRow
	err := s.db.For(ctx).First(&row, "id = ?", id).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return nil, fault.NotFound("there is no registration %s", id)
	}
	if err != nil {
		return nil, fmt.Errorf("read registration %s: %w", id, err)
	}
	found, err := s.complete(ctx, []registrationRow{row})
	if err != nil {
		return nil, err
	}
	var lines []logRow
	if err := s.db.For(ctx).Where("registration_id = ?", id).Order("seq").Find(&lines).Error; err != nil {
		return nil, fmt.Errorf("read log of registration %s: %w", id, err)
	}
	r := found[0]
	for _, line := range lines {
		r.Log = append(r.Log, LogLine{At: line.At.UTC(), Line: line.Line})
	}
	if len(lines) > 0 {
		r.logBase = lines[0].Seq
	}
	r.logged = r.logBase + len(lines)
	return r, nil
}

// complete adds the stages to rows.
func (s registrationStore) complete(ctx context.Context, rows []registrationRow) ([]*Registration, error) {
	ids := make([]string, 0, len(rows))
	for _, row := range rows {
		ids = append(ids, row.ID)
	}
	stages := map[string][]Stage{}
	for chunk := range slices.Chunk(ids, 500) {
		var found []stageRow
		if err := s.db.For(ctx).Where("registration_id IN ?", chunk).Order("registration_id, position").Find(&found).Error; err != nil {
			return nil, fmt.Errorf("read stages of registrations: %w", err)
		}
		for _, row := range found {
			stage := Stage{Name: row.Name, State: StageState(row.State), Source: row.Source, Detail: row.Detail, Code: row.Code, Cause: row.Cause, Fix: row.Fix}
			if row.At != nil {
				at := row.At.UTC()
				stage.At = &at
			}
			stages[row.RegistrationID] = append(stages[row.RegistrationID], stage)
		}
	}
	registrations := make([]*Registration, 0, len(rows))
	for _, row := range rows {
		r, err := row.registration()
		if err != nil {
			return nil, err
		}
		r.Stages = stages[row.ID]
		registrations = append(registrations, r)
	}
	return registrations, nil
}

// Cursor is where the next page begins: after this row.
type Cursor struct {
	CreatedAt time.Time `json:"createdAt"`
	ID        string    `json:"id"`
}

// list returns up to limit registrations in these states (none: all), newest
// first, after a cursor, and how many there are in all.
func (s registrationStore) list(ctx context.Context, states []string, after Cursor, limit int) ([]*Registration, int, error) {
	query := func() *gorm.DB {
		db := s.db.For(ctx).Model(&registrationRow{})
		if len(states) > 0 {
			db = db.Where("state IN ?", states)
		}
		return db
	}
	page := query()
	if after.ID != "" {
		page = page.Where("created_at < ? OR (created_at = ? AND id < ?)", after.CreatedAt, after.CreatedAt, after.ID)
	}
	var rows []registrationRow
	if err := page.Order("created_at DESC, id DESC").Limit(limit).Find(&rows).Error; err != nil {
		return nil, 0, fmt.Errorf("list registrations: %w", err)
	}
	var total int64 // counted last: never less than what is listed
	if err := query().Count(&total).Error; err != nil {
		return nil, 0, fmt.Errorf("count registrations: %w", err)
	}
	registrations, err := s.complete(ctx, rows)
	return registrations, int(total), err
}

// open returns the registrations that are not final, with their logs.
func (s registrationStore) open(ctx context.Context) ([]*Registration, error) {
	var ids []string
	err := s.db.For(ctx).Model(&registrationRow{}).
		Where("state IN ?", []string{string(StateWaiting), string(StateRunning), string(StateFailed)}).
		Order("created_at").Pluck("id", &ids).Error
	if err != nil {
		return nil, fmt.Errorf("list open registrations: %w", err)
	}
	registrations := make([]*Registration, 0, len(ids))
	for _, id := range ids {
		r, err := s.find(ctx, id)
		if err != nil {
			return nil, err
		}
		registrations = append(registrations, r)
	}
	return registrations, nil
}

// known says whether a registration of this cluster was at work since a time.
func (s registrationStore) known(ctx context.Context, cluster string, since time.Time) (bool, error) {
	var count int64
	err := s.db.For(ctx).Model(&registrationRow{}).Where("cluster_name = ? AND updated_at >= ?", cluster, since).Count(&count).Error
	if err != nil {
		return false, fmt.Errorf("look for registrations of %s: %w", cluster, err)
	}
	return count > 0, nil
}

// prune forgets registrations that have been at rest since before a time.
func (s registrationStore) prune(ctx context.Context, before time.Time) error {
	err := s.db.For(ctx).Where("updated_at < ? AND state <> ? AND state <> ?", before, string(StateWaiting), string(StateRunning)).
		Delete(&registrationRow{}).Error
	if err != nil {
		return fmt.Errorf("prune registrations: %w", err)
	}
	return nil
}

// remove deletes a registration.
func (s registrationStore) remove(ctx context.Context, id string) error {
	if err := s.db.For(ctx).Delete(&registrationRow{}, "id = ?", id).Error; err != nil {
		return fmt.Errorf("delete registration %s: %w", id, err)
	}
	return nil
}
