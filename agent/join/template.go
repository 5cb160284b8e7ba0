package join

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"muster.dev/muster/backend/agentapi"
)

// templateHead explains the template to those who read the file.
const templateHead = `{{- /*
Generated from agent/join by "go test ./agent/join -run TestTemplate -update". Do not edit.

The agent for a member that registers by "kubectl apply". agentapi.Manifest fills it in: .Hub (HOST:PORT), .CA (PEM), .Token,
.ClusterName, .Image, .Namespace, .Provider, .Region, .Zones. The token is in a Secret that the agent deletes once it has its own identity.
*/ -}}
`

// placeholders stand for the template's fields in the objects it is made from.
var placeholders = map[string]string{
	"muster-hub":       "{{ quote .Hub }}",
	"muster-ca":        "{{ quote .CA }}",
	"muster-token":     "{{ quote .Token }}",
	"muster-cluster":   "{{ quote .ClusterName }}",
	"muster-image":     "{{ quote .Image }}",
	"muster-namespace": "{{ quote .Namespace }}",

	"--namespace=muster-namespace": `{{ quote (print "--namespace=" .Namespace) }}`,
}

// Template makes the manifest template from the objects that registering
// creates, so that the two flavours cannot part.
func Template() ([]byte, error) {
	d := deployment{namespace: "muster-namespace", image: "muster-image", bootstrap: true}
	objects := d.objects()
	secret := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: BootstrapSecret, Namespace: d.namespace, Labels: ourLabels()},
		Type:       corev1.SecretTypeOpaque,
		StringData: map[string]string{bootstrapHub: "muster-hub", bootstrapCA: "muster-ca", bootstrapToken: "muster-token", bootstrapCluster: "muster-cluster"},
	}
	text, err := printable(append(objects[:1:1], append([]runtime.Object{secret}, objects[1:]...)...))
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	out.WriteString(templateHead)
	for line := range strings.Lines(string(text)) {
		rest := strings.TrimRight(line, "\n")
		for value, action := range placeholders {
			if before, ok := strings.CutSuffix(rest, " "+value); ok {
				rest = before + " " + action
				break
			}
		}
		if strings.HasSuffix(rest, "- --bootstrap") {
			out.WriteString(optionalArgs(strings.TrimSuffix(rest, "- --bootstrap")))
		}
		out.WriteString(rest + "\n")
	}
	if left := strings.Count(out.String(), "muster-namespace") + strings.Count(out.String(), "muster-image"); left > 0 {
		return nil, fmt.Errorf("%d places of the %s template are not filled in", left, agentapi.ManifestTemplate)
	}
	return []byte(out.String()), nil
}

// optionalArgs are the lines for what the cluster's description may hold.
func optionalArgs(indent string) string {
	var lines strings.Builder
	for _, arg := range []struct{ flag, field, value string }{
		{"cluster-provider", ".Provider", ".Provider"}, {"cluster-region", ".Region", ".Region"}, {"cluster-zones", ".Zones", `(join .Zones ",")`},
	} {
		fmt.Fprintf(&lines, "{{- if %s }}\n%s- {{ quote (print \"--%s=\" %s) }}\n{{- end }}\n", arg.field, indent, arg.flag, arg.value)
	}
	return lines.String()
}
