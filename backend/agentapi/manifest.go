package agentapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/util/validation"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

// ManifestTemplate is the name of the template that Manifest fills in, among the
// embedded files for members.
const ManifestTemplate = "agent.yaml.tmpl"

// Manifest is what the agent's manifest for `kubectl apply` varies in. The pod
// it starts registers by itself with the token, then deletes the token.
type Manifest struct {
	// Hub is HOST:PORT of the hub's API as the member reaches it, CA the
	// certificates it must chain to, in PEM.
	Hub, CA string
	// Token is a whole bootstrap token.
	Token string
	// ClusterName is the name to register as; it is required.
	ClusterName string
	// Image runs the agent, in Namespace.
	Image, Namespace string
	Provider, Region string
	Zones            []string
}

// Render fills in the template. Values come out quoted, whatever they hold.
func (m Manifest) Render(text string) ([]byte, error) {
	if len(validation.IsDNS1123Label(m.ClusterName)) > 0 || len(m.ClusterName) > clusterv1alpha1.MaxNameLength {
		return nil, fmt.Errorf("%q cannot name a cluster", m.ClusterName)
	}
	if m.Hub == "" || m.CA == "" || m.Token == "" || m.Image == "" {
		return nil, errors.New("the manifest needs hub, CA, token and image")
	}
	if m.Namespace == "" {
		m.Namespace = AgentNamespace
	}
	t, err := template.New(ManifestTemplate).Option("missingkey=error").Funcs(template.FuncMap{"quote": quote, "join": strings.Join}).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("read the manifest template: %w", err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, m); err != nil {
		return nil, fmt.Errorf("fill in the manifest template: %w", err)
	}
	return out.Bytes(), nil
}

// quote writes a text as a JSON string, which is a YAML string on one line.
func quote(text string) (string, error) {
	data, err := json.Marshal(text)
	return string(data), err
}
