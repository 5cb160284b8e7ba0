// Command muster-lab starts member clusters from the command line.
//
//	muster-lab up [-light] [-nat] [-json] [-image TAR]... [-expose PORT=ADDRESS]... NAME...
//	muster-lab image NAME:TAG OUT.tar BINARY
//
// "up" stays in the foreground; Ctrl-C, or the end of its standard input with
// -json, ends the clusters and removes all traces. Real clusters need root; with
// -light each is a control plane with two fake nodes, which needs no rights.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sync/errgroup"

	"muster.dev/muster/backend/controlplane/controlplanetest"
	"muster.dev/muster/e2e/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "muster-lab:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("usage: muster-lab up|image")
	}
	if os.Getenv("MUSTER_BIN") == "" {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find own folder: %w", err)
		}
		if err := os.Setenv("MUSTER_BIN", filepath.Dir(self)); err != nil {
			return err
		}
	}
	switch args[0] {
	case "up":
		return parseUp(args[1:]).run(ctx)
	case "image":
		return image(args[1:])
	}
	return fmt.Errorf("unknown command %q: want up or image", args[0])
}

// list is a flag that may be given several times.
type list []string

func (l *list) String() string     { return strings.Join(*l, " ") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

// upCommand is one call of "muster-lab up".
type upCommand struct {
	light, nat, json bool
	images, exposed  list
	names            []string
}

// member is what "up" tells about one cluster: with -json a line each.
type member struct {
	Name string `json:"name"`
	// Kubeconfig works on the machine.
	Kubeconfig string `json:"kubeconfig"`
	// Inside works in the lab's network and for pods; empty for a light member.
	Inside string `json:"inside,omitempty"`
	// PID is the process whose namespaces nsenter can join; 0 for a light member.
	PID int `json:"pid,omitempty"`
}

func parseUp(args []string) *upCommand {
	u := &upCommand{}
	flags := flag.NewFlagSet("up", flag.ExitOnError)
	flags.BoolVar(&u.light, "light", false, "control planes with fake nodes: pods run nothing, no root needed")
	flags.BoolVar(&u.nat, "nat", false, "refuse connections from other clusters")
	flags.BoolVar(&u.json, "json", false, "print a line of JSON for each cluster; end with standard input")
	flags.Var(&u.images, "image", "load this image archive into each cluster (repeatable)")
	flags.Var(&u.exposed, "expose", "PORT=ADDRESS: let pods reach ADDRESS at "+cluster.HubIP+":PORT (repeatable)")
	_ = flags.Parse(args) // ExitOnError
	u.names = flags.Args()
	return u
}

func (u *upCommand) run(ctx context.Context) (err error) {
	if len(u.names) == 0 {
		return fmt.Errorf("name at least one cluster")
	}
	start := u.startReal
	if u.light {
		start = u.startLight
	}
	members, closeAll, err := start(ctx)
	defer func() {
		if e := closeAll(); err == nil {
			err = e
		}
	}()
	if err != nil {
		return err
	}
	for _, m := range members {
		if err := u.tell(m); err != nil {
			return err
		}
	}
	ended := make(chan struct{})
	if u.json {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin) // any end is the end
			close(ended)
		}()
	}
	select {
	case <-ctx.Done():
	case <-ended:
	}
	return nil
}

func (u *upCommand) tell(m member) error {
	if u.json {
		return json.NewEncoder(os.Stdout).Encode(m)
	}
	fmt.Printf("%s  Ready  export KUBECONFIG=%s\n", m.Name, m.Kubeconfig)
	if m.Inside != "" {
		fmt.Printf("    inside the lab: nsenter -t %d -n env KUBECONFIG=%s kubectl ...\n", m.PID, m.Inside)
	}
	return nil
}

func (u *upCommand) startReal(ctx context.Context) ([]member, func() error, error) {
	lab, err := cluster.New(cluster.Options{})
	if err != nil {
		return nil, func() error { return nil }, err
	}
	for _, e := range u.exposed {
		port, target, _ := strings.Cut(e, "=")
		number, err := strconv.Atoi(port)
		if err != nil {
			return nil, lab.Close, fmt.Errorf("-expose %s: want PORT=ADDRESS", e)
		}
		if _, err := lab.Expose(number, target); err != nil {
			return nil, lab.Close, err
		}
	}
	members := make([]member, len(u.names))
	group, ctx := errgroup.WithContext(ctx)
	for i, name := range u.names {
		group.Go(func() error {
			c, err := lab.Start(ctx, name, cluster.ClusterOptions{NAT: u.nat})
			if err != nil {
				return err
			}
			members[i] = member{Name: name, Kubeconfig: c.Kubeconfig(), Inside: c.WANKubeconfig(), PID: c.PID()}
			for _, archive := range u.images {
				if err := c.LoadImage(ctx, archive); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return members, lab.Close, group.Wait()
}

func (u *upCommand) startLight(ctx context.Context) ([]member, func() error, error) {
	dir, err := os.MkdirTemp("", "muster-light-")
	if err != nil {
		return nil, func() error { return nil }, fmt.Errorf("make state folder: %w", err)
	}
	started := make([]*controlplanetest.Member, len(u.names))
	closeAll := func() error {
		for _, m := range started {
			if m != nil {
				_ = m.Stop() // killed; nothing to keep
			}
		}
		return os.RemoveAll(dir)
	}
	members := make([]member, len(u.names))
	group, ctx := errgroup.WithContext(ctx)
	for i, name := range u.names {
		group.Go(func() error {
			own := filepath.Join(dir, name)
			if err := os.Mkdir(own, 0o700); err != nil {
				return fmt.Errorf("make member folder: %w", err)
			}
			m, err := controlplanetest.NewMember(ctx, own, controlplanetest.MemberOptions{Name: name, Nodes: 2})
			if err != nil {
				return err
			}
			started[i] = m
			members[i] = member{Name: name, Kubeconfig: m.Kubeconfig}
			return nil
		})
	}
	return members, closeAll, group.Wait()
}

// image packs one static binary into an image archive.
func image(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("usage: muster-lab image NAME:TAG OUT.tar BINARY")
	}
	out, err := os.Create(args[1])
	if err != nil {
		return fmt.Errorf("create image archive: %w", err)
	}
	if err := cluster.WriteImage(out, args[0], args[2]); err != nil {
		return err
	}
	return out.Close()
}
