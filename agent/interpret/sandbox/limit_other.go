//go:build !linux

package sandbox

import (
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
)

// limit has only the garbage collector's soft limit here.
func limit(memory string) error {
	room, err := strconv.ParseInt(memory, 10, 64)
	if err != nil {
		return fmt.Errorf("the memory limit %q: %w", memory, err)
	}
	debug.SetMemoryLimit(room)
	debug.SetMaxStack(int(room / 4))
	return nil
}

// cpuSeconds is not known here: the clock alone counts.
func cpuSeconds(int) (float64, bool) { return 0, false }

// executable is what a child is made of.
func executable() (string, error) { return os.Executable() }
