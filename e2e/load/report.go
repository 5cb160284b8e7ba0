package load

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Reports listens for SIGUSR1 from its creation on.
type Reports struct {
	out     io.Writer
	count   func() any
	signals chan os.Signal
}

// NewReports returns reports that write what count returns to out, as JSON lines.
func NewReports(out io.Writer, count func() any) *Reports {
	r := &Reports{out: out, count: count, signals: make(chan os.Signal, 1)}
	signal.Notify(r.signals, syscall.SIGUSR1)
	return r
}

// Print writes one line.
func (r *Reports) Print() error {
	line, err := json.Marshal(r.count())
	if err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	_, err = r.out.Write(append(line, '\n'))
	return err
}

// Start writes a line on every SIGUSR1 until ctx ends, then a last one.
func (r *Reports) Start(ctx context.Context) error {
	defer signal.Stop(r.signals)
	for {
		select {
		case <-ctx.Done():
			return r.Print()
		case <-r.signals:
			if err := r.Print(); err != nil {
				return err
			}
		}
	}
}
