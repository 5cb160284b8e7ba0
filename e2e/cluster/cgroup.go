package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

const cgroupFS = "/sys/fs/cgroup"

// cgroupTrees lists the mounted hierarchies: the one of version 2, or each
// controller's of version 1 and, on a hybrid machine, the bare one of version 2,
// where kubelet makes its cgroups as well.
func cgroupTrees() ([]string, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(cgroupFS, &st); err != nil {
		return nil, fmt.Errorf("stat %s: %w", cgroupFS, err)
	}
	if st.Type == unix.CGROUP2_SUPER_MAGIC {
		return []string{cgroupFS}, nil
	}
	entries, err := os.ReadDir(cgroupFS)
	if err != nil {
		return nil, err
	}
	var trees []string
	for _, e := range entries {
		dir := filepath.Join(cgroupFS, e.Name())
		if err := unix.Statfs(dir, &st); err == nil && (st.Type == unix.CGROUP_SUPER_MAGIC || st.Type == unix.CGROUP2_SUPER_MAGIC) {
			trees = append(trees, dir)
		}
	}
	if len(trees) == 0 {
		return nil, errors.New("no cgroup hierarchy mounted under " + cgroupFS)
	}
	return trees, nil
}

// makeCgroup makes the cgroup below which a cluster's kubelet puts its pods.
func makeCgroup(name string) error {
	trees, err := cgroupTrees()
	if err != nil {
		return err
	}
	for _, tree := range trees {
		if tree == cgroupFS { // version 2: children get only what the root hands down
			os.WriteFile(filepath.Join(tree, "cgroup.subtree_control"), []byte("+cpu +cpuset +memory +pids"), 0)
		}
		if err := os.Mkdir(filepath.Join(tree, name), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make cgroup: %w", err)
		}
	}
	return nil
}

// removeCgroup removes what makeCgroup made and what kubelet made below. The
// kernel may call a cgroup busy for a moment after its last process is gone.
func removeCgroup(name string) error {
	trees, err := cgroupTrees()
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(10 * time.Second); ; <-time.After(20 * time.Millisecond) {
		var left error
		for _, tree := range trees {
			if err := removeTree(filepath.Join(tree, name)); err != nil {
				left = err
			}
		}
		if left == nil || time.Now().After(deadline) {
			return left
		}
	}
}

// removeTree removes a cgroup and those below it, deepest first. Their files
// are the kernel's and go with them.
func removeTree(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := removeTree(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	if err := unix.Rmdir(dir); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("remove cgroup %s: %w", dir, err)
	}
	return nil
}
