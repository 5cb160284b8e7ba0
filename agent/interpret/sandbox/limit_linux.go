package sandbox

import (
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// lookPeriod is how often a child looks at its own memory.
const lookPeriod = 5 * time.Millisecond

// headroom is how far above its bound the kernel refuses a child memory, in
// bytes: what it may take between two looks at itself.
const headroom = 1 << 30

// limit bounds the process: as much more memory as the variable says, no core
// dumps, no files. The bound is on writable private memory: Go reserves far more
// address space than it uses. The process watches itself, and below the bound the
// garbage collector does what it can. The kernel (RLIMIT_DATA) refuses only what
// goes far beyond: Go's runtime, denied memory, may crash or stall instead of
// saying so.
func limit(memory string) error {
	room, err := strconv.ParseUint(memory, 10, 63)
	if err != nil {
		return fmt.Errorf("the memory limit %q: %w", memory, err)
	}
	used, err := dataSize()
	if err != nil {
		return err
	}
	for resource, most := range map[int]uint64{syscall.RLIMIT_DATA: used + room + headroom, syscall.RLIMIT_CORE: 0, syscall.RLIMIT_FSIZE: 0} {
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("set resource limit %d: %w", resource, err)
		}
	}
	debug.SetMemoryLimit(int64(min(used+room/2, math.MaxInt64)))
	debug.SetMaxStack(int(room / 4))
	largest = room
	go watchMemory(used + room)
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) // not everywhere allowed; then the kernel guesses
	return nil
}

// watchMemory ends the process once it has more than most bytes.
func watchMemory(most uint64) {
	for range time.Tick(lookPeriod) {
		if used, err := dataSize(); err == nil && used > most {
			starve()
		}
	}
}

// dataSize returns how much of the memory that the limit is about is in use.
func dataSize() (uint64, error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, fmt.Errorf("read the memory use: %w", err)
	}
	fields := strings.Fields(string(text))
	if len(fields) < 6 {
		return 0, fmt.Errorf("read the memory use: %q is too short", text)
	}
	pages, err := strconv.ParseUint(fields[5], 10, 63)
	if err != nil {
		return 0, fmt.Errorf("read the memory use: %w", err)
	}
	return pages * uint64(os.Getpagesize()), nil
}

// ticksPerSecond is the unit of CPU times in /proc; Linux has one for all.
const ticksPerSecond = 100

// cpuSeconds returns how much CPU time a process has used.
func cpuSeconds(pid int) (float64, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	_, after, ok := strings.Cut(string(text), ") ") // the name may hold anything
	fields := strings.Fields(after)
	if !ok || len(fields) < 13 {
		return 0, false
	}
	user, errUser := strconv.ParseUint(fields[11], 10, 63)
	system, errSystem := strconv.ParseUint(fields[12], 10, 63)
	return float64(user+system) / ticksPerSecond, errUser == nil && errSystem == nil
}

// executable is what a child is made of: the running file, even if another one
// has taken its place since.
func executable() (string, error) { return "/proc/self/exe", nil }
