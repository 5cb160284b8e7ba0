package waiting

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"
)

// Names that the operator and the agents agree on (contract sections 2.1, 3.2).
const (
	agentNamespace      = "open-cluster-management-agent"
	bootstrapSecret     = "bootstrap-hub-kubeconfig"
	managedSecret       = "external-managed-kubeconfig"
	managedKubeconfig   = "managed.kubeconfig"
	bootstrapFile       = "muster-bootstrap.kubeconfig"
	klusterletName      = "klusterlet"
	maxNamespace        = 63
	klusterletHashDigit = 8
)

// bootstrapKubeconfig is what agents introduce their cluster with. Its names are
// part of the agent's identity: agents that find another one begin anew.
func bootstrapKubeconfig(server string, ca []byte, secret string) (string, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters["hub"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	config.AuthInfos["bootstrap"] = &clientcmdapi.AuthInfo{Token: secret}
	config.Contexts["bootstrap"] = &clientcmdapi.Context{Cluster: "hub", AuthInfo: "bootstrap"}
	config.CurrentContext = "bootstrap"
	data, err := clientcmd.Write(*config)
	if err != nil {
		return "", fmt.Errorf("encode bootstrap kubeconfig: %w", err)
	}
	return string(data), nil
}

// hostedName names the Klusterlet of a hosted cluster, and with it the namespace
// of its agents.
func hostedName(cluster string) string {
	name := klusterletName + "-" + cluster
	if len(name) <= maxNamespace {
		return name
	}
	sum := sha256.Sum256([]byte(cluster))
	return strings.TrimRight(name[:maxNamespace-klusterletHashDigit-1], "-") + "-" + hex.EncodeToString(sum[:])[:klusterletHashDigit]
}

// klusterlet is what to apply where the operator runs, and what to run then.
func klusterlet(asked Onboarding, kubeconfig string) (manifest, steps string, err error) {
	name, namespace, mode := klusterletName, agentNamespace, map[string]string{ModeDefault: "Default", ModeSingleton: "Singleton", ModeHosted: "Hosted"}[asked.Mode]
	if asked.Mode == ModeHosted {
		name = hostedName(asked.ClusterName)
		namespace = name
		steps = fmt.Sprintf("kubectl create secret generic %s \\\n  --namespace %s \\\n  --from-file kubeconfig=%s", managedSecret, namespace, managedKubeconfig)
	}
	spec := map[string]any{"clusterName": asked.ClusterName, "namespace": agentNamespace, "deployOption": map[string]any{"mode": mode}}
	if asked.ServerURL != "" {
		spec["externalServerURLs"] = []any{map[string]any{"url": asked.ServerURL}}
	}
	var text strings.Builder
	for i, object := range []map[string]any{
		{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace}},
		{
			"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": map[string]any{"name": bootstrapSecret, "namespace": namespace},
			"stringData": map[string]any{"kubeconfig": kubeconfig},
		},
		{"apiVersion": "operator.open-cluster-management.io/v1", "kind": "Klusterlet", "metadata": map[string]any{"name": name}, "spec": spec},
	} {
		data, err := yaml.Marshal(object)
		if err != nil {
			return "", "", fmt.Errorf("encode Klusterlet of %s: %w", asked.ClusterName, err)
		}
		if i > 0 {
			text.WriteString("---\n")
		}
		text.Write(data)
	}
	return text.String(), steps, nil
}

// agentCommand runs both of our agents in one process, against the cluster of a
// kubeconfig. The token is in a file and in no process list.
func agentCommand(asked Onboarding, kubeconfig string) string {
	words := []string{"muster-agent", "klusterlet", "--bootstrap-kubeconfig", bootstrapFile, "--cluster-name", asked.ClusterName}
	if asked.Mode == ModeHosted { // what the agents are is kept here, not in the cluster
		words = append(words, "--member-kubeconfig", managedKubeconfig, "--identity-dir", asked.ClusterName+"-identity")
	} else {
		words = append(words, "--member-kubeconfig", `"${KUBECONFIG:-$HOME/.kube/config}"`)
	}
	if asked.ServerURL != "" {
		words = append(words, "--spoke-external-server-urls", asked.ServerURL)
	}
	return "(umask 077 && cat > " + bootstrapFile + ") <<'END'\n" + kubeconfig + "END\n" + fold(words)
}
