package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"muster.dev/muster/backend/database"
)

const (
	phaseIntent  = "intent"
	phaseOutcome = "outcome"
)

// totalLimit is up to where the entries of a list are counted: the count of all
// of a year's would take longer than the page.
const totalLimit = 10_000

// insertChunk is how many rows one statement inserts when many wait; the rest
// go one by one, so that two prepared statements are enough.
const insertChunk = 16

// row is one appended entry. An outcome repeats what its intent says, as far as
// it is known better by then: one of the two rows tells all.
type row struct {
	Key            string `gorm:"primaryKey"`
	Phase          string `gorm:"primaryKey"`
	AtMicros       int64  // of the intent, in both
	Actor          string
	Via            string
	Source         string
	Verb           string
	Kind           string
	Namespace      string
	Name           string
	Outcome        string
	Code           string
	Detail         string
	DurationMillis int64 // -1: not known
	RequestID      string
}

// TableName implements gorm's Tabler.
func (row) TableName() string { return "audit" }

// openRow is the key of an intent without an outcome.
type openRow struct {
	Key string `gorm:"primaryKey"`
}

// TableName implements gorm's Tabler.
func (openRow) TableName() string { return "audit_open" }

func (e Entry) row(phase string) row {
	out := row{
		Key: e.ID, Phase: phase, AtMicros: e.At.UnixMicro(), Outcome: string(e.Outcome),
		Actor: clean(e.Actor, fieldLength), Via: e.Via, Source: clean(e.Source, fieldLength),
		Verb: clean(e.Verb, fieldLength), Kind: clean(e.Kind, fieldLength), Namespace: clean(e.Namespace, fieldLength),
		Name: clean(e.Name, fieldLength), Code: clean(e.Code, fieldLength), RequestID: clean(e.RequestID, fieldLength),
		DurationMillis: -1,
	}
	if e.DurationMillis != nil {
		out.DurationMillis = *e.DurationMillis
	}
	if detail := maskDetail(e.Detail); len(detail) > 0 {
		data, err := json.Marshal(detail)
		if err != nil {
			panic(err) // strings are always encodable
		}
		out.Detail = string(data)
	}
	return out
}

func (r row) entry() (Entry, error) {
	entry := Entry{
		ID: r.Key, At: time.UnixMicro(r.AtMicros).UTC(), Actor: r.Actor, Via: r.Via, Source: r.Source, Verb: r.Verb, Kind: r.Kind,
		Namespace: r.Namespace, Name: r.Name, Outcome: Outcome(r.Outcome), Code: r.Code, RequestID: r.RequestID,
	}
	if r.DurationMillis >= 0 {
		entry.DurationMillis = &r.DurationMillis
	}
	if r.Detail != "" {
		if err := json.Unmarshal([]byte(r.Detail), &entry.Detail); err != nil {
			return Entry{}, fmt.Errorf("read detail of audit entry %s: %w", r.Key, err)
		}
	}
	return entry, nil
}

type store struct{ db *database.DB }

// add appends rows and keeps the list of open intents, all or nothing. Rows
// that are there already stay: a commit whose answer was lost is tried again.
func (s store) add(ctx context.Context, rows []row) error {
	err := s.db.Tx(ctx, func(ctx context.Context) error {
		once := func() *gorm.DB { return s.db.For(ctx).Clauses(clause.OnConflict{DoNothing: true}) }
		for rest := rows; len(rest) > 0; {
			chunk := rest[:1]
			if len(rest) >= insertChunk {
				chunk = rest[:insertChunk]
			}
			rest = rest[len(chunk):]
			if err := once().Create(&chunk).Error; err != nil {
				return err
			}
		}
		for i, one := range rows {
			if one.Phase == phaseIntent && (i+1 == len(rows) || rows[i+1].Key != one.Key) { // not closed in the same breath
				if err := once().Create(&openRow{Key: one.Key}).Error; err != nil {
					return err
				}
			}
		}
		for _, one := range rows {
			if one.Phase == phaseOutcome {
				if err := s.db.For(ctx).Where("key = ?", one.Key).Delete(&openRow{}).Error; err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("append to audit: %w", err)
	}
	return nil
}

// closeOpen appends an unknown outcome to every open intent whose key is below
// before (empty: to every one) and returns how many there were.
func (s store) closeOpen(ctx context.Context, before string) (closed int64, err error) {
	err = s.db.Tx(ctx, func(ctx context.Context) error {
		if before == "" {
			before = "g" // above every key, which begins with a hexadecimal digit
		}
		result := s.db.For(ctx).Exec(`INSERT INTO audit (key, phase, at_micros, actor, via, source, verb, kind, namespace, name, outcome, code, detail, duration_millis, request_id)
			SELECT key, ?, at_micros, actor, via, source, verb, kind, namespace, name, ?, ?, detail, -1, request_id
			FROM audit WHERE key IN (SELECT key FROM audit_open WHERE key < ?) AND phase = ? ON CONFLICT DO NOTHING`,
			phaseOutcome, string(Unknown), codeStopped, before, phaseIntent)
		if result.Error != nil {
			return result.Error
		}
		closed = result.RowsAffected
		return s.db.For(ctx).Where("key < ?", before).Delete(&openRow{}).Error
	})
	if err != nil {
		return 0, fmt.Errorf("close open audit entries: %w", err)
	}
	return closed, nil
}

// list returns up to limit actions before the key before, newest first, and how
// many fit in all, counted up to totalLimit.
func (s store) list(ctx context.Context, filter Filter, before string, limit int) ([]Entry, int, error) {
	var rows []row
	page := s.fitting(ctx, filter)
	if before != "" {
		page = page.Where("key < ?", before)
	}
	if err := page.Order("key DESC").Limit(limit).Find(&rows).Error; err != nil {
		return nil, 0, fmt.Errorf("list audit entries: %w", err)
	}
	var total int64
	counted := s.fitting(ctx, filter).Select("1 AS one").Limit(totalLimit)
	if err := s.db.For(ctx).Table("(?) AS fitting", counted).Count(&total).Error; err != nil {
		return nil, 0, fmt.Errorf("count audit entries: %w", err)
	}
	entries := make([]Entry, 0, len(rows))
	for _, one := range rows {
		entry, err := one.entry()
		if err != nil {
			return nil, 0, err
		}
		entries = append(entries, entry)
	}
	return entries, int(total), nil
}

var escapeLike = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")

// fitting selects one row an action: the outcome or, as long as there is none,
// the intent.
func (s store) fitting(ctx context.Context, filter Filter) *gorm.DB {
	query := s.db.For(ctx).Model(&row{}).Where("(phase = ? OR key IN (SELECT key FROM audit_open))", phaseOutcome)
	for column, value := range map[string]string{
		"actor": filter.Actor, "verb": filter.Verb, "kind": filter.Kind, "via": filter.Via,
		"namespace": filter.Namespace, "name": filter.Name, "outcome": string(filter.Outcome),
	} {
		if value != "" {
			query = query.Where(column+" = ?", value) // column is one of the seven above
		}
	}
	if filter.NameContains != "" {
		query = query.Where("LOWER(name) LIKE ? ESCAPE '!'", "%"+escapeLike.Replace(strings.ToLower(filter.NameContains))+"%")
	}
	if !filter.Since.IsZero() {
		query = query.Where("key >= ?", keyFloor(filter.Since))
	}
	if !filter.Until.IsZero() {
		query = query.Where("key < ?", keyFloor(filter.Until))
	}
	return query
}
