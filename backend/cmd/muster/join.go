package main

import (
	"fmt"
	"io"
	"net/url"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"muster.dev/muster/backend/apis"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/joining"
)

// memberAccess is how a command reaches a member cluster.
type memberAccess struct {
	kubeconfig, context, namespace string
}

func (m *memberAccess) add(flags *pflag.FlagSet) {
	flags.StringVar(&m.kubeconfig, "cluster-kubeconfig", "", "kubeconfig of the member cluster")
	flags.StringVar(&m.context, "cluster-context", "", "context of the member in that kubeconfig (default: the one named like the cluster, then the current one)")
	flags.StringVar(&m.namespace, "cluster-namespace", apis.ClusterNamespace, "namespace for the hub's accounts in the member and their credentials on the hub")
}

// config finds the context and says on notes which one was taken if it has
// another name than the cluster. It also returns the forward proxy, if any.
func (m *memberAccess) config(name string, notes io.Writer) (*rest.Config, *url.URL, error) {
	raw, err := loadKubeconfig(m.kubeconfig, "").RawConfig()
	if err != nil {
		return nil, nil, unusable("the member's kubeconfig", "--cluster-kubeconfig", err)
	}
	context, err := m.choose(&raw, name)
	if err != nil {
		return nil, nil, err
	}
	if context != name && m.context == "" {
		fmt.Fprintf(notes, "using context %q of the member's kubeconfig\n", context)
	}
	config, err := loadKubeconfig(m.kubeconfig, context).ClientConfig()
	if err != nil {
		return nil, nil, unusable("the member's kubeconfig", "--cluster-kubeconfig and --cluster-context", err)
	}
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, nil, unusable("the member's kubeconfig", "--cluster-kubeconfig", err)
	}
	config.UserAgent = "muster/" + version
	return config, proxyOf(&raw, context), nil
}

// choose infers the context: the given one, one named like the cluster, else the
// current one.
func (m *memberAccess) choose(raw *clientcmdapi.Config, name string) (string, error) {
	for _, candidate := range []string{m.context, name, raw.CurrentContext} {
		if _, ok := raw.Contexts[candidate]; ok && candidate != "" {
			return candidate, nil
		}
		if candidate != "" && candidate == m.context {
			return "", fault.Invalid("the member's kubeconfig has no context %q", m.context).WithFix("see `kubectl config get-contexts`")
		}
	}
	return "", fault.Invalid("the member's kubeconfig has no context %q and no current one", name).WithFix("choose one with --cluster-context")
}

func proxyOf(raw *clientcmdapi.Config, context string) *url.URL {
	entry := raw.Clusters[raw.Contexts[context].Cluster]
	if entry == nil || entry.ProxyURL == "" {
		return nil
	}
	proxy, err := url.Parse(entry.ProxyURL)
	if err != nil {
		return nil // ClientConfig has refused it
	}
	return proxy
}

// newJoinCommand registers a cluster that the hub will call, compatible with
// karmadactl's command of the same name (contract karmada.md section 4.1).
func newJoinCommand() *cobra.Command {
	hub, member := &hubAccess{}, &memberAccess{}
	request := joining.Request{}
	dryRun := false
	command := &cobra.Command{
		Use:   "join NAME --cluster-kubeconfig FILE",
		Short: "Join a cluster that the hub can reach (push)",
		Example: `  muster join paris --kubeconfig admin.kubeconfig --cluster-kubeconfig ~/.kube/config --cluster-context paris
  muster join paris --kubeconfig admin.kubeconfig --cluster-kubeconfig paris.kubeconfig --dry-run`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			request.Name = args[0]
			return runJoin(command, hub, member, request, dryRun)
		},
	}
	flags := command.Flags()
	hub.add(flags)
	hub.addImpersonation(flags)
	member.add(flags)
	flags.StringVar(&request.Provider, "cluster-provider", "", "who runs the cluster")
	flags.StringVar(&request.Region, "cluster-region", "", "where the cluster runs")
	flags.StringSliceVar(&request.Zones, "cluster-zones", nil, "zones the cluster spans")
	flags.BoolVar(&dryRun, "dry-run", false, "print what would be created and create nothing")
	return command
}

func runJoin(command *cobra.Command, hub *hubAccess, member *memberAccess, request joining.Request, dryRun bool) error {
	if err := request.Validate(); err != nil {
		return err
	}
	config, proxy, err := member.config(request.Name, command.ErrOrStderr())
	if err != nil {
		return err
	}
	request.Member, request.ProxyURL, request.Namespace = config, proxy, member.namespace
	if request.Hub, err = hub.client(); err != nil {
		return err
	}
	if dryRun {
		plan, err := joining.Plan(command.Context(), request)
		if err != nil {
			return err
		}
		return printPlan(command.OutOrStdout(), plan)
	}
	request.Progress = printProgress(command.ErrOrStderr())
	made, err := joining.Join(command.Context(), request)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(command.OutOrStdout(), "cluster(%s) joined: push, %s\n", made.Name, made.Spec.APIEndpoint)
	return err
}

func printPlan(out io.Writer, plan []joining.PlannedObject) error {
	for _, object := range plan {
		name := object.Name
		if object.Namespace != "" {
			name = object.Namespace + "/" + name
		}
		if _, err := fmt.Fprintf(out, "%-6s  %-7s  %s %s\n", object.Where, object.Verb, object.Kind, name); err != nil {
			return err
		}
	}
	return nil
}

// printProgress writes a line for each step that ended.
func printProgress(out io.Writer) joining.Progress {
	marks := map[joining.StepState]string{joining.StepDone: "✔", joining.StepFailed: "✘", joining.StepSkipped: "–"}
	return func(step joining.Step) {
		if mark, ended := marks[step.State]; ended {
			fmt.Fprintln(out, mark, step.Detail)
		}
	}
}
