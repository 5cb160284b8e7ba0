package database

import (
	"context"
	"log/slog"
	"time"

	"gorm.io/gorm/logger"
)

// slowQuery is from when on a query is worth a warning.
const slowQuery = 500 * time.Millisecond

// queryLogger tells slow queries to slog, without their values. Errors are
// returned to callers, who say what they were doing; they are not logged twice.
type queryLogger struct{}

// LogMode implements logger.Interface; slog's handler alone decides.
func (l queryLogger) LogMode(logger.LogLevel) logger.Interface { return l }

// Info implements logger.Interface.
func (queryLogger) Info(context.Context, string, ...any) {}

// Warn implements logger.Interface.
func (queryLogger) Warn(context.Context, string, ...any) {}

// Error implements logger.Interface.
func (queryLogger) Error(context.Context, string, ...any) {}

// ParamsFilter implements gorm.ParamsFilter: values never reach a log.
func (queryLogger) ParamsFilter(_ context.Context, query string, _ ...any) (string, []any) {
	return query, nil
}

// Trace implements logger.Interface.
func (queryLogger) Trace(ctx context.Context, begin time.Time, query func() (string, int64), _ error) {
	if took := time.Since(begin); took >= slowQuery {
		text, rows := query()
		slog.WarnContext(ctx, "slow query", "name", text, "rows", rows, "duration", took.Round(time.Millisecond))
	}
}
