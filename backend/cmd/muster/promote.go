package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/agent/interpret"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/template"
)

// newPromoteCommand makes an object of a member a template of the hub, compatible
// with karmadactl's command of the same name (contract karmada.md section 12.4).
func newPromoteCommand() *cobra.Command {
	hub, member := &hubAccess{}, &memberAccess{}
	request := template.PromoteRequest{}
	options := promoteOptions{createPolicy: true}
	command := &cobra.Command{
		Use:   "promote TYPE NAME -C CLUSTER [-n NAMESPACE]",
		Short: "Take an object that runs in a cluster over into the hub",
		Long: `Copy an object of a member cluster to the hub and create a policy that sends it
back to that cluster, where it takes the object over. The object stays in the
cluster even if it is deleted on the hub. If the hub has the object already,
nothing is done.`,
		Example: `  muster promote deployment nginx -n default -C paris --kubeconfig admin.kubeconfig
  muster promote deployment nginx -n default -C paris --dependencies
  muster promote deployment nginx -n default -C paris --dry-run -o yaml
  muster promote configmap conf -C paris --cluster-kubeconfig paris.kubeconfig --auto-create-policy=false`,
		Args: cobra.ExactArgs(2),
		RunE: func(command *cobra.Command, args []string) error {
			request.Type, request.Name = args[0], args[1]
			return runPromote(command, hub, member, request, options)
		},
	}
	flags := command.Flags()
	hub.add(flags)
	flags.StringVarP(&request.Cluster, "cluster", "C", "", "cluster that the object is in")
	flags.StringVar(&member.kubeconfig, "cluster-kubeconfig", "", "kubeconfig of that cluster (default: it is reached through the hub)")
	flags.StringVar(&member.context, "cluster-context", "", "context of the cluster in that kubeconfig (default: the one named like the cluster, then the current one)")
	flags.StringVarP(&request.Namespace, "namespace", "n", "", "namespace of the object (default: that of the hub's context)")
	flags.BoolVar(&options.createPolicy, "auto-create-policy", true, "create a policy that sends the object back to the cluster")
	flags.StringVar(&request.PolicyName, "policy-name", "", "name of that policy (default: made from the object's)")
	flags.BoolVarP(&options.dependencies, "dependencies", "d", false, "also promote what the object refers to, such as ConfigMaps, and send it along")
	flags.BoolVar(&options.dryRun, "dry-run", false, "create nothing")
	flags.StringVarP(&options.output, "output", "o", "", "print what would be created, as json or yaml, instead of creating it")
	return command
}

// promoteOptions are the flags that are no part of the request.
type promoteOptions struct {
	createPolicy, dependencies, dryRun bool
	output                             string
}

func runPromote(command *cobra.Command, hub *hubAccess, member *memberAccess, request template.PromoteRequest, options promoteOptions) error {
	switch {
	case request.Cluster == "":
		return fault.Invalid("no cluster is given").WithFix("add --cluster NAME")
	case options.output != "" && options.output != "json" && options.output != "yaml":
		return fault.Invalid("output %q is neither json nor yaml", options.output)
	}
	var err error
	if request.Hub, err = hub.config(); err != nil {
		return err
	}
	if request.Namespace == "" {
		if request.Namespace, _, err = hub.loader().Namespace(); err != nil {
			return unusable("the hub's kubeconfig", "--kubeconfig and --karmada-context", err)
		}
	}
	if member.kubeconfig != "" {
		if request.Member, _, err = member.config(request.Cluster, command.ErrOrStderr()); err != nil {
			return err
		}
	}
	request.WithoutPolicy = !options.createPolicy
	if options.dependencies {
		request.Interpreter = interpret.Native()
	}
	promotion, err := template.PlanPromotion(command.Context(), request)
	if err != nil {
		return err
	}
	return finishPromotion(command, promotion, options)
}

func finishPromotion(command *cobra.Command, promotion *template.Promotion, options promoteOptions) error {
	out := command.OutOrStdout()
	what := fmt.Sprintf("%q(%s)", promotion.Resource, qualified(promotion.Template.GetNamespace(), promotion.Template.GetName()))
	switch {
	case promotion.Exists:
		_, err := fmt.Fprintf(command.ErrOrStderr(), "Resource %s is on the hub already: propagate it with a PropagationPolicy\n", what)
		return err
	case options.output != "":
		return printPromotion(out, promotion, options.output)
	case options.dryRun:
		return nil
	}
	err := promotion.Create(command.Context(), func(kind, namespace, name string) {
		fmt.Fprintf(out, "%s (%s) is created successfully\n", kind, qualified(namespace, name))
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "Resource %s is promoted successfully\n", what)
	return err
}

func qualified(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// printPromotion writes a document for each object that would be created.
func printPromotion(out io.Writer, promotion *template.Promotion, format string) error {
	objects := []any{promotion.Template.Object}
	for _, o := range promotion.Dependencies {
		objects = append(objects, o.Object)
	}
	if promotion.Policy != nil {
		objects = append(objects, promotion.Policy)
	}
	for i, o := range objects {
		var text []byte
		var err error
		if format == "json" {
			if text, err = json.MarshalIndent(o, "", "    "); err == nil {
				text = append(text, '\n')
			}
		} else {
			if i > 0 {
				fmt.Fprintln(out, "---")
			}
			text, err = yaml.Marshal(o)
		}
		if err != nil {
			return fmt.Errorf("print promotion: %w", err)
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
	}
	return nil
}
