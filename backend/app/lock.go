package app

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"muster.dev/muster/backend/fault"
)

// lock keeps a second process off a data directory. The kernel drops it when
// this process ends, however it ends.
type lock struct{ file *os.File }

func acquireLock(dataDir string) (*lock, error) {
	path := filepath.Join(dataDir, "lock")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder, readErr := io.ReadAll(io.LimitReader(file, 32))
		closeErr := file.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), readErr, closeErr)
		}
		return nil, fault.Conflict("the data directory %s is in use by process %s", dataDir, strings.TrimSpace(string(holder))).
			WithFix("stop that process, or give this one its own --data-dir")
	}
	err = file.Truncate(0)
	if err == nil {
		_, err = fmt.Fprintf(file, "%d\n", os.Getpid())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("write %s: %w", path, err), file.Close())
	}
	return &lock{file: file}, nil
}

func (l *lock) release() error { return l.file.Close() }
