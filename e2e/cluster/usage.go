package cluster

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Usage is what a cluster costs at one moment, its pods included.
type Usage struct {
	Processes int
	PSS       int64 // bytes; shared pages are divided among those who share them
	Disk      int64 // bytes, of the cluster's folder
	Files     int   // open file descriptors
	Inotify   int   // inotify instances: fs.inotify.max_user_instances bounds all clusters together
}

// Usage adds up the cluster's processes: PID 1 and all that descend from it.
func (c *Cluster) Usage() (Usage, error) {
	var u Usage
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return u, err
	}
	parents := map[int]int{}
	for _, proc := range procs {
		pid, _ := strconv.Atoi(filepath.Base(proc))
		parents[pid] = number(proc+"/status", "PPid:")
	}
	for pid := range parents {
		if !descends(parents, pid, c.PID()) {
			continue
		}
		proc := fmt.Sprintf("/proc/%d", pid)
		u.Processes++
		u.PSS += int64(number(proc+"/smaps_rollup", "Pss:")) << 10
		fds, _ := filepath.Glob(proc + "/fd/*")
		u.Files += len(fds)
		for _, fd := range fds {
			if target, _ := os.Readlink(fd); target == "anon_inode:inotify" {
				u.Inotify++
			}
		}
	}
	err = filepath.WalkDir(c.dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // pods come and go below us
		}
		if info, err := d.Info(); err == nil {
			u.Disk += info.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return nil
	})
	return u, err
}

func descends(parents map[int]int, pid, ancestor int) bool {
	for ; pid != 0; pid = parents[pid] {
		if pid == ancestor {
			return true
		}
	}
	return false
}

// number reads the number after a key in one of a process' files, 0 if the
// process has just ended.
func number(file, key string) int {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			n := 0
			fmt.Sscan(rest, &n)
			return n
		}
	}
	return 0
}
