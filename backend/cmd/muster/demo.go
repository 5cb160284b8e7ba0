package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"muster.dev/muster/backend/app"
	"muster.dev/muster/backend/fault"
)

// labHub is the address under which members of the lab see this machine.
const labHub = "10.77.0.1"

// labImage is what web.tar holds: the workload for members without a registry.
const labImage = "muster.test/web:1"

var demoMembers = []string{"member1", "member2"}

// demo is a hub and a lab of two member clusters that live as long as it does.
type demo struct {
	config app.Config
	out    io.Writer
	errOut io.Writer
	light  bool
	tools  string // folder of muster-lab, muster-agent and the agent's image
}

func newDemoCommand() *cobra.Command {
	flags := &hubFlags{}
	light := os.Geteuid() != 0
	command := &cobra.Command{
		Use:   "demo",
		Short: "Serve a hub together with two member clusters, to try both ways of joining",
		Long: "Serve a hub together with two member clusters, to try both ways of joining.\n\n" +
			"As root the members are real clusters with kubelets; else they are control planes with fake nodes.\nEverything is gone when it stops.",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			dir, err := os.MkdirTemp("", "muster-demo-")
			if err != nil {
				return fmt.Errorf("create demo directory: %w", err)
			}
			defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("find own folder: %w", err)
			}
			flags.config.DataDir = filepath.Join(dir, "hub")
			// The members live on this machine: REST may dial loopback here.
			flags.allowCIDRs = append(flags.allowCIDRs, "127.0.0.0/8", "10.77.0.0/16")
			flags.config.CertHosts = append(flags.config.CertHosts, labHub)
			d := &demo{out: command.OutOrStdout(), errOut: command.ErrOrStderr(), light: light, tools: filepath.Dir(self)}
			if d.config, err = flags.complete(); err != nil {
				return err
			}
			return d.run(command.Context())
		},
	}
	flags.add(command)
	command.Flags().BoolVar(&light, "light", light, "members without kubelets; needs no root")
	_ = command.Flags().MarkHidden("data-dir") // a demo keeps nothing
	return command
}

func (d *demo) run(ctx context.Context) error {
	hub, err := app.New(d.config, d.errOut)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return hub.Start(ctx) })
	group.Go(func() error {
		fmt.Fprintln(d.out, "Starting the hub and two member clusters (about half a minute)…")
		return d.lab(ctx, func(members []labMember) error {
			select {
			case <-hub.Serving():
				fmt.Fprint(d.out, hub.Welcome(), d.next(hub.RegisterCommand(), members))
			case <-ctx.Done():
			}
			return nil
		})
	})
	return group.Wait()
}

// labMember is what muster-lab tells about a cluster.
type labMember struct {
	Name       string `json:"name"`
	Kubeconfig string `json:"kubeconfig"`
	Inside     string `json:"inside"`
	PID        int    `json:"pid"`
}

// lab runs muster-lab until ctx ends and calls ready once all members are up.
// The lab ends with its standard input, so that it cannot outlive us.
func (d *demo) lab(ctx context.Context, ready func([]labMember) error) error {
	program := filepath.Join(d.tools, "muster-lab")
	if _, err := os.Stat(program); err != nil {
		return fault.NotFound("the member clusters need %s", program).WithFix("run `make demo`, which builds it")
	}
	command := exec.Command(program, d.labArguments()...)
	command.Stderr = d.errOut
	input, err := command.StdinPipe()
	if err != nil {
		return fmt.Errorf("open the lab's input: %w", err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return fmt.Errorf("open the lab's output: %w", err)
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("start %s: %w", program, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = input.Close() })
	defer stop()
	var members []labMember
	lines := bufio.NewScanner(output)
	for len(members) < len(demoMembers) && lines.Scan() {
		var member labMember
		if err := json.Unmarshal(lines.Bytes(), &member); err != nil {
			return errors.Join(fmt.Errorf("read the lab's answer: %w", err), input.Close(), command.Wait())
		}
		members = append(members, member)
	}
	if len(members) == len(demoMembers) {
		err = ready(members)
	}
	if waitErr := command.Wait(); waitErr != nil && ctx.Err() == nil {
		return fmt.Errorf("run the member clusters: %w", waitErr)
	}
	return err
}

func (d *demo) labArguments() []string {
	arguments := []string{"up", "-json"}
	if d.light {
		return append(append(arguments, "-light"), demoMembers...)
	}
	_, port, _ := net.SplitHostPort(d.config.Listen)
	for _, image := range []string{"muster-agent.tar", "web.tar"} {
		if archive := filepath.Join(d.tools, image); exists(archive) {
			arguments = append(arguments, "-image", archive)
		}
	}
	return append(append(arguments, "-expose", port+"="+d.config.Listen), demoMembers...)
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// next words the two joins with everything filled in.
func (d *demo) next(register string, members []labMember) string {
	var text strings.Builder
	push, pull := members[0], members[1]
	kubeconfig := app.AdminKubeconfigFile(d.config.DataDir)
	fmt.Fprintln(&text, "Two clusters wait to be joined:")
	for _, member := range members {
		fmt.Fprintf(&text, "  %s  export KUBECONFIG=%s\n", member.Name, member.Kubeconfig)
	}
	fmt.Fprintf(&text, "\nTry push:\n  %s join %s --kubeconfig %s --cluster-kubeconfig %s\n",
		filepath.Join(d.tools, "muster"), push.Name, kubeconfig, push.Kubeconfig)
	agent := filepath.Join(d.tools, "muster-agent")
	register = strings.TrimPrefix(register, "muster-agent ")
	if d.light {
		fmt.Fprintf(&text, "\nTry pull (no kubelet there, so the agent runs in your terminal):\n  %s %s \\\n    --cluster-name %s --kubeconfig %s --run\n", agent, register, pull.Name, pull.Kubeconfig)
	} else {
		_, port, _ := net.SplitHostPort(d.config.Listen)
		inside := strings.Replace(register, d.config.Advertise, net.JoinHostPort(labHub, port), 1)
		fmt.Fprintf(&text, "\nTry pull, as an operator inside the member's network would:\n  nsenter -t %d -n %s %s \\\n    --cluster-name %s --kubeconfig %s\n", pull.PID, agent, inside, pull.Name, pull.Inside)
	}
	if !d.light {
		fmt.Fprintf(&text, "\nThey reach no registry; an image that they have:\n  kubectl --kubeconfig %s create deployment web --image %s\n", kubeconfig, labImage)
	}
	fmt.Fprintf(&text, "\nWatch them arrive:\n  kubectl --kubeconfig %s get clusters -w\nor in the dashboard. Ctrl-C ends the demo and removes everything.\n\n", kubeconfig)
	return text.String()
}
