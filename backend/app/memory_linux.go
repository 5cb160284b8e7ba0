package app

import (
	"bufio"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// dropCode takes the program's own code and constants out of this process's
// memory. Half of a hundred megabytes ran at the start only; what is needed comes
// back, a page at a time, from where the machine keeps the file.
func dropCode() {
	if err := dropMappings("/proc/self/maps"); err != nil {
		slog.Debug("the code of the start stays in memory", "error", err)
	}
}

// dropMappings gives up the pages of the running program that are only read. They
// are never written, so nothing is lost.
func dropMappings(maps string) error {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("find the program: %w", err)
	}
	file, err := os.Open(maps)
	if err != nil {
		return fmt.Errorf("read memory mappings: %w", err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		// 00400000-02e3d000 r-xp 00000000 fe:00 1234   /usr/bin/muster
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 || fields[5] != program || fields[1] != "r-xp" && fields[1] != "r--p" {
			continue
		}
		from, to, _ := strings.Cut(fields[0], "-")
		begin, errBegin := strconv.ParseUint(from, 16, 64)
		end, errEnd := strconv.ParseUint(to, 16, 64)
		if errBegin != nil || errEnd != nil || end <= begin {
			return fmt.Errorf("read memory mappings: %q", lines.Text())
		}
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, uintptr(begin), uintptr(end-begin), unix.MADV_DONTNEED); errno != 0 {
			return fmt.Errorf("give up %s: %w", fields[0], errno)
		}
	}
	return lines.Err()
}

// memoryLimit is where Linux says what the group of this process may take.
const memoryLimit = "/sys/fs/cgroup/memory.max"

// machineMemory is what the machine has, or what this process may take of it, in
// bytes; 0 if nobody knows.
func machineMemory() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	all := int64(info.Totalram) * int64(info.Unit)
	text, err := os.ReadFile(memoryLimit)
	if err != nil {
		return all
	}
	if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil { // else it is "max"
		return min(all, limit)
	}
	return all
}
