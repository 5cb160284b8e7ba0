package main

import (
	"os"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/kube"
)

// hubAccess is how a command reaches the hub API: with the operator's own
// kubeconfig and the flags that karmadactl has for it.
type hubAccess struct {
	kubeconfig, context string
	as, asUID           string
	asGroups            []string
}

func (h *hubAccess) add(flags *pflag.FlagSet) {
	flags.StringVar(&h.kubeconfig, "kubeconfig", "", "kubeconfig of the hub (default: $KUBECONFIG, then ~/.kube/config)")
	flags.StringVar(&h.context, "karmada-context", "", "context of the hub in that kubeconfig (default: its current one)")
}

func (h *hubAccess) addImpersonation(flags *pflag.FlagSet) {
	flags.StringVar(&h.as, "karmada-as", "", "user to act as on the hub")
	flags.StringSliceVar(&h.asGroups, "karmada-as-group", nil, "group to act as on the hub; may be repeated")
	flags.StringVar(&h.asUID, "karmada-as-uid", "", "UID to act as on the hub")
}

func (h *hubAccess) loader() clientcmd.ClientConfig { return loadKubeconfig(h.kubeconfig, h.context) }

// loadKubeconfig reads an operator's own kubeconfig as kubectl does. What it
// names may be run and opened: it is the operator's own machine.
func loadKubeconfig(path, context string) clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context})
}

func (h *hubAccess) config() (*rest.Config, error) {
	config, err := h.loader().ClientConfig()
	if err != nil {
		return nil, unusable("the hub's kubeconfig", "--kubeconfig and --karmada-context", err)
	}
	config.QPS = -1
	config.UserAgent = "muster/" + version
	config.Impersonate = rest.ImpersonationConfig{UserName: h.as, UID: h.asUID, Groups: h.asGroups}
	return config, nil
}

// client acts on the hub API.
func (h *hubAccess) client() (client.WithWatch, error) {
	config, err := h.config()
	if err != nil {
		return nil, err
	}
	hub, err := client.NewWithWatch(config, client.Options{Scheme: kube.Scheme()})
	if err != nil {
		return nil, unusable("the hub's kubeconfig", "--kubeconfig and --karmada-context", err)
	}
	return hub, nil
}

// unusable words what is wrong with a kubeconfig of the operator's own.
func unusable(what, flags string, err error) error {
	if os.IsNotExist(err) || clientcmd.IsEmptyConfig(err) {
		return fault.NotFound("%s was not found: %s", what, err.Error()).WithFix("give it with " + flags + "; `muster kubeconfig` prints the hub's")
	}
	return fault.Invalid("%s cannot be used: %s", what, err.Error()).WithFix("check " + flags)
}

// clusterOf is the cluster entry that a kubeconfig's context points at, with the
// CA read in if it lies in a file. An entry of empty name comes first, as the
// hub's cluster-info has it (contract karmada.md section 5.2).
func clusterOf(loader clientcmd.ClientConfig, context string) (*clientcmdapi.Cluster, error) {
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, err
	}
	if nameless, ok := raw.Clusters[""]; ok {
		return withCA(nameless)
	}
	if context == "" {
		context = raw.CurrentContext
	}
	chosen, ok := raw.Contexts[context]
	if !ok {
		return nil, fault.Invalid("the kubeconfig has no context %q", context)
	}
	cluster, ok := raw.Clusters[chosen.Cluster]
	if !ok {
		return nil, fault.Invalid("the kubeconfig has no cluster %q", chosen.Cluster)
	}
	return withCA(cluster)
}

func withCA(cluster *clientcmdapi.Cluster) (*clientcmdapi.Cluster, error) {
	copied := cluster.DeepCopy()
	if len(copied.CertificateAuthorityData) == 0 && copied.CertificateAuthority != "" {
		data, err := os.ReadFile(copied.CertificateAuthority)
		if err != nil {
			return nil, fault.Invalid("the CA of the kubeconfig cannot be read: %s", err.Error())
		}
		copied.CertificateAuthorityData = data
	}
	return copied, nil
}
