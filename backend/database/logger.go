package database

import (
	"context"
	"log/slog"
	"time"

	"gorm.io/gorm/logger"
)

// slowStatement is from when on a statement is worth a line.
const slowStatement = 200 * time.Millisecond

// quietLogger logs slow statements for debugging, without their values. Errors
// are returned to whoever asked, who answers for them.
type quietLogger struct{}

func (l quietLogger) LogMode(logger.LogLevel) logger.Interface { return l }
func (quietLogger) Info(context.Context, string, ...any)       {}
func (quietLogger) Warn(context.Context, string, ...any)       {}
func (quietLogger) Error(context.Context, string, ...any)      {}

// ParamsFilter keeps values out of what Trace sees.
func (quietLogger) ParamsFilter(_ context.Context, sql string, _ ...any) (string, []any) {
	return sql, nil
}

// Trace logs a slow statement.
func (quietLogger) Trace(ctx context.Context, begin time.Time, statement func() (sql string, rows int64), _ error) {
	duration := time.Since(begin)
	if duration < slowStatement || !slog.Default().Enabled(ctx, slog.LevelDebug) {
		return
	}
	text, rows := statement()
	slog.DebugContext(ctx, "slow statement", "sql", text, "rows", rows, "duration", duration.Round(time.Millisecond))
}
