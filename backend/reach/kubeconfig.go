package reach

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/registration"
)

// Bounds of a kubeconfig that is pasted or dropped.
const (
	maxKubeconfig      = 512 << 10 // bytes
	maxKubeconfigNodes = 20_000
	maxKubeconfigDepth = 16
	maxContexts        = 1_000
)

// Kubeconfig is what we take from a pasted kubeconfig. It is read by a parser of
// our own that knows inline values only: nothing in it can name a file to open
// or a program to run, so that the text of a stranger is safe to read in the hub
// (reliability.md S1). It lives in memory for one join and is never stored.
type Kubeconfig struct {
	// Current is the context the file names as its current one.
	Current  string
	contexts []kubeContext
	clusters map[string]kubeCluster
	users    map[string]kubeUser
}

type kubeContext struct{ name, cluster, user string }

type kubeCluster struct {
	server, proxyURL string
	ca               []byte
	insecure         bool
	refused          []refusal
}

type kubeUser struct {
	token             string
	certificate, key  []byte
	as, asUID         string
	asGroups          []string
	asExtra           map[string][]string
	refused           []refusal
	hasCertificate    bool
	hasClientKeyField bool
}

// refusal is a field that is not taken, and why.
type refusal struct{ code, field, fix string }

// ContextInfo is one context of a kubeconfig, as the chooser shows it.
type ContextInfo struct {
	Name    string `json:"name"`
	Cluster string `json:"cluster"`
	Server  string `json:"server"`
	User    string `json:"user"`
	Current bool   `json:"current"`
	// Problem says why this context cannot be used.
	Problem string `json:"problem,omitempty" validate:"optional"`
} // @name cluster.ContextInfo

// Parse reads a kubeconfig. It fails with a fault of code MU-201, and
// the error names fields and names at most, never a value. Fields that would
// open a file or run a program make it fail later, with code MU-202, and only if
// the chosen context needs them.
func Parse(data []byte) (*Kubeconfig, error) {
	if len(data) > maxKubeconfig {
		return nil, badKubeconfig("it is larger than %d KiB", maxKubeconfig>>10)
	}
	root, err := decodeYAML(data)
	if err != nil {
		return nil, err
	}
	config := &Kubeconfig{clusters: map[string]kubeCluster{}, users: map[string]kubeUser{}}
	for key, value := range entriesOf(root) {
		switch key {
		case "kind":
			if value.Value != "" && value.Value != "Config" {
				return nil, badKubeconfig("its kind is not Config")
			}
		case "current-context":
			config.Current = value.Value
		case "clusters":
			err = entries(key, "cluster", value, func(name string, body *yaml.Node) error {
				cluster, err := readCluster(body)
				config.clusters[name] = cluster
				return err
			})
		case "users":
			err = entries(key, "user", value, func(name string, body *yaml.Node) error {
				user, err := readUser(body)
				config.users[name] = user
				return err
			})
		case "contexts":
			err = entries(key, "context", value, func(name string, body *yaml.Node) error {
				context := kubeContext{name: name}
				for key, value := range entriesOf(body) {
					switch key {
					case "cluster":
						context.cluster = value.Value
					case "user":
						context.user = value.Value
					}
				}
				config.contexts = append(config.contexts, context)
				return nil
			})
		}
		if err != nil {
			return nil, err
		}
	}
	if len(config.contexts) == 0 {
		return nil, badKubeconfig("it has no contexts")
	}
	return config, nil
}

// decodeYAML reads one YAML document and refuses what a kubeconfig has no use
// for: anchors and aliases, further documents, repeated keys, deep nesting.
func decodeYAML(data []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, further yaml.Node
	if err := decoder.Decode(&document); err != nil {
		return nil, badKubeconfig("it is not YAML")
	}
	if err := decoder.Decode(&further); !errors.Is(err, io.EOF) {
		return nil, badKubeconfig("it holds more than one YAML document")
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return nil, badKubeconfig("it is not a mapping")
	}
	nodes := 0
	if err := checkNode(document.Content[0], 0, &nodes); err != nil {
		return nil, err
	}
	return document.Content[0], nil
}

func checkNode(node *yaml.Node, depth int, nodes *int) error {
	*nodes++
	switch {
	case node.Kind == yaml.AliasNode || node.Anchor != "":
		return badKubeconfig("it uses YAML anchors or aliases")
	case depth > maxKubeconfigDepth || *nodes > maxKubeconfigNodes:
		return badKubeconfig("it is nested too deeply or has too many entries")
	}
	if node.Kind == yaml.MappingNode {
		seen := make(map[string]bool, len(node.Content)/2)
		for i := 0; i < len(node.Content); i += 2 {
			key := node.Content[i]
			if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
				return badKubeconfig("it has a key that is not a plain word")
			}
			if seen[key.Value] {
				return badKubeconfig("it says the same field twice")
			}
			seen[key.Value] = true
		}
	}
	for _, child := range node.Content {
		if err := checkNode(child, depth+1, nodes); err != nil {
			return err
		}
	}
	return nil
}

// entriesOf ranges over the entries of a mapping; other nodes have none.
func entriesOf(node *yaml.Node) func(func(string, *yaml.Node) bool) {
	return func(yield func(string, *yaml.Node) bool) {
		if node == nil || node.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(node.Content); i += 2 {
			if !yield(node.Content[i].Value, node.Content[i+1]) {
				return
			}
		}
	}
}

// entries ranges over a list of named entries such as clusters.
func entries(list, inner string, node *yaml.Node, each func(name string, body *yaml.Node) error) error {
	if node.Kind == yaml.ScalarNode && node.Tag == "!!null" {
		return nil
	}
	if node.Kind != yaml.SequenceNode {
		return badKubeconfig("%s is not a list", list)
	}
	if len(node.Content) > maxContexts {
		return badKubeconfig("%s has more than %d entries", list, maxContexts)
	}
	seen := map[string]bool{}
	for _, entry := range node.Content {
		var name string
		var body *yaml.Node
		for key, value := range entriesOf(entry) {
			switch key {
			case "name":
				name = value.Value
			case inner:
				body = value
			}
		}
		if seen[name] {
			return badKubeconfig("%s has two entries of the same name", list)
		}
		seen[name] = true
		if err := each(name, body); err != nil {
			return err
		}
	}
	return nil
}

func readCluster(body *yaml.Node) (kubeCluster, error) {
	var cluster kubeCluster
	for key, value := range entriesOf(body) {
		if value.Kind == yaml.ScalarNode && value.Value == "" {
			continue
		}
		var err error
		switch key {
		case "server":
			cluster.server = value.Value
		case "proxy-url":
			cluster.proxyURL = value.Value
		case "certificate-authority-data":
			cluster.ca, err = inline(key, value)
		case "insecure-skip-tls-verify":
			cluster.insecure, err = strconv.ParseBool(value.Value)
			if err != nil {
				err = badKubeconfig("insecure-skip-tls-verify is neither true nor false")
			}
		case "certificate-authority":
			cluster.refused = append(cluster.refused, pathRefusal(key, "certificate-authority-data"))
		case "tls-server-name":
			cluster.refused = append(cluster.refused, refusal{code: registration.CodeKubeconfig, field: key, fix: "use a server address that the certificate covers: a Cluster cannot remember another name"})
		}
		if err != nil {
			return cluster, err
		}
	}
	return cluster, nil
}

func readUser(body *yaml.Node) (kubeUser, error) {
	var user kubeUser
	for key, value := range entriesOf(body) {
		if value.Kind == yaml.ScalarNode && (value.Value == "" || value.Tag == "!!null") {
			continue
		}
		var err error
		switch key {
		case "token":
			user.token = value.Value
		case "client-certificate-data":
			user.hasCertificate = true
			user.certificate, err = inline(key, value)
		case "client-key-data":
			user.hasClientKeyField = true
			user.key, err = inline(key, value)
		case "as":
			user.as = value.Value
		case "as-uid":
			user.asUID = value.Value
		case "as-groups":
			user.asGroups = texts(value)
		case "as-user-extra":
			user.asExtra = map[string][]string{}
			for name, values := range entriesOf(value) {
				user.asExtra[name] = texts(values)
			}
		case "exec":
			user.refused = append(user.refused, refusal{code: registration.CodeRefusedField, field: key, fix: "the hub runs no programs: put a token into the file (kubectl create token …), or join from the command line with muster join"})
		case "auth-provider":
			user.refused = append(user.refused, refusal{code: registration.CodeRefusedField, field: key, fix: "put a token into the file (kubectl create token …), or join from the command line with muster join"})
		case "client-certificate":
			user.refused = append(user.refused, pathRefusal(key, "client-certificate-data"))
		case "client-key":
			user.refused = append(user.refused, pathRefusal(key, "client-key-data"))
		case "tokenFile":
			user.refused = append(user.refused, pathRefusal(key, "token"))
		case "username", "password":
			user.refused = append(user.refused, refusal{code: registration.CodeKubeconfig, field: key, fix: "use a token or a client certificate: Kubernetes knows no passwords any more"})
		}
		if err != nil {
			return user, err
		}
	}
	return user, nil
}

func pathRefusal(field, inlineField string) refusal {
	return refusal{code: registration.CodeRefusedField, field: field, fix: "the hub opens no files: use " + inlineField + ", as `kubectl config view --raw --flatten --minify` prints it"}
}

// inline decodes a base64 value.
func inline(key string, value *yaml.Node) ([]byte, error) {
	text := strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == ' ' || r == '\t' {
			return -1
		}
		return r
	}, value.Value)
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, badKubeconfig("%s is not base64", key)
	}
	return data, nil
}

func texts(node *yaml.Node) []string {
	var list []string
	if node.Kind == yaml.SequenceNode {
		for _, entry := range node.Content {
			list = append(list, entry.Value)
		}
	}
	return list
}

// Contexts lists the contexts in the file's order.
func (k *Kubeconfig) Contexts() []ContextInfo {
	infos := make([]ContextInfo, 0, len(k.contexts))
	for _, context := range k.contexts {
		info := ContextInfo{
			Name: context.name, Cluster: context.cluster, User: context.user,
			Server: RedactURL(k.clusters[context.cluster].server), Current: context.name == k.Current,
		}
		if _, err := k.Select(context.name); err != nil {
			info.Problem = err.Error()
		}
		infos = append(infos, info)
	}
	return infos
}

// Choose is the context to use when name was asked for: that one, or, if name is
// empty, the current one or the only one. It is empty if none can be told.
func (k *Kubeconfig) Choose(name string) string {
	switch {
	case name != "":
		return name
	case k.Current != "" && slices.ContainsFunc(k.contexts, func(c kubeContext) bool { return c.name == k.Current }):
		return k.Current
	case len(k.contexts) == 1:
		return k.contexts[0].name
	}
	return ""
}

func badKubeconfig(format string, arguments ...any) error {
	return fault.Invalid("the kubeconfig cannot be used: %s", fmt.Sprintf(format, arguments...)).WithCode(registration.CodeKubeconfig).
		WithFix("paste what `kubectl config view --raw --flatten --minify` prints").
		WithField("kubeconfig", "cannot be used")
}
