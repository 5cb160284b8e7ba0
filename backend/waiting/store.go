package waiting

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

// ruleRow is the table of 0004_approval_rule_create.sql.
type ruleRow struct {
	ID         string `gorm:"primaryKey"`
	Kind       string
	Value      string
	Approve    bool
	Accept     bool
	Note       string
	Source     string
	CreatedBy  string
	CreatedAt  time.Time `gorm:"autoCreateTime:false"`
	Uses       int64
	LastUsedAt *time.Time
}

// TableName implements gorm's Tabler.
func (ruleRow) TableName() string { return "approval_rules" }

func rowOfRule(r Rule) ruleRow {
	return ruleRow(r)
}

func (row ruleRow) rule() Rule {
	r := Rule{
		ID: row.ID, Kind: row.Kind, Value: row.Value, Approve: row.Approve, Accept: row.Accept, Note: row.Note, Source: row.Source,
		CreatedBy: row.CreatedBy, CreatedAt: row.CreatedAt.UTC(), Uses: row.Uses,
	}
	if row.LastUsedAt != nil {
		at := row.LastUsedAt.UTC()
		r.LastUsedAt = &at
	}
	return r
}

// ruleStore keeps approval rules in SQL.
type ruleStore struct{ db *database.DB }

// list returns all rules, oldest first.
func (s ruleStore) list(ctx context.Context) ([]Rule, error) {
	var rows []ruleRow
	if err := s.db.For(ctx).Order("created_at, id").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("list approval rules: %w", err)
	}
	rules := make([]Rule, 0, len(rows))
	for _, row := range rows {
		rules = append(rules, row.rule())
	}
	return rules, nil
}

// add stores a new rule. It fails with fault.Conflict if there is one of the same
// kind and value.
func (s ruleStore) add(ctx context.Context, r Rule) error {
	row := rowOfRule(r)
	err := s.db.For(ctx).Create(&row).Error
	if errors.Is(err, gorm.ErrDuplicatedKey) {
		return fault.Conflict("there is a rule for %s already", r.String()).WithFix("remove that one first")
	}
	if err != nil {
		return fmt.Errorf("store approval rule %s: %w", r.ID, err)
	}
	return nil
}

// find returns one rule, or fault.NotFound.
func (s ruleStore) find(ctx context.Context, id string) (Rule, error) {
	var row ruleRow
	err := s.db.For(ctx).First(&row, "id = ?", id).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return Rule{}, fault.NotFound("there is no approval rule %s", id)
	}
	if err != nil {
		return Rule{}, fmt.Errorf("read approval rule %s: %w", id, err)
	}
	return row.rule(), nil
}

// remove deletes a rule.
func (s ruleStore) remove(ctx context.Context, id string) error {
	if err := s.db.For(ctx).Delete(&ruleRow{}, "id = ?", id).Error; err != nil {
		return fmt.Errorf("delete approval rule %s: %w", id, err)
	}
	return nil
}

// used adds to the uses of a rule, which may be gone.
func (s ruleStore) used(ctx context.Context, id string, times int64, last time.Time) error {
	err := s.db.For(ctx).Model(&ruleRow{}).Where("id = ?", id).
		Updates(map[string]any{"uses": gorm.Expr("uses + ?", times), "last_used_at": last}).Error
	if err != nil {
		return fmt.Errorf("count uses of approval rule %s: %w", id, err)
	}
	return nil
}

// declare makes the rules of the command line the ones that count: a rule of the
// dashboard with the same kind and value becomes one of them, and those that are
// not given any more go. Uses are kept.
func (s ruleStore) declare(ctx context.Context, given []Rule) error {
	err := s.db.Tx(ctx, func(ctx context.Context) error {
		kept := make([]string, 0, len(given)+1)
		for _, r := range given {
			row := rowOfRule(r)
			err := s.db.For(ctx).Clauses(clause.OnConflict{
				Columns:   []clause.Column{{Name: "kind"}, {Name: "value"}},
				DoUpdates: clause.AssignmentColumns([]string{"approve", "accept", "source"}),
			}).Create(&row).Error
			if err != nil {
				return err
			}
			var stored ruleRow // its id may be an older one
			if err := s.db.For(ctx).Where("kind = ? AND value = ?", r.Kind, r.Value).First(&stored).Error; err != nil {
				return err
			}
			kept = append(kept, stored.ID)
		}
		gone := s.db.For(ctx).Where("source = ?", RuleFromFlag)
		if len(kept) > 0 {
			gone = gone.Where("id NOT IN ?", kept)
		}
		return gone.Delete(&ruleRow{}).Error
	})
	if err != nil {
		return fmt.Errorf("store the command line's approval rules: %w", err)
	}
	return nil
}
