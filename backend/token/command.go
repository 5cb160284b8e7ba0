package token

import (
	"cmp"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"net/url"
	"strings"

	"muster.dev/muster/backend/fault"
)

// ManifestPath is where the hub API serves the agent's manifest to the holder
// of a token, sent as a bearer token and never in the URL.
const ManifestPath = "/muster/agent/v1/manifest"

// Commands are the ways to use a token in a member cluster, ready to paste.
type Commands struct {
	// Muster runs our agent's register command.
	Muster string `json:"muster"`
	// Karmadactl runs the unmodified client's register command.
	Karmadactl string `json:"karmadactl"`
	// Manifest pipes the agent's manifest into kubectl.
	Manifest string `json:"manifest"`
}

// Placement is what a register command says about the cluster.
type Placement struct {
	ClusterName string
	Provider    string
	Region      string
	Zones       []string
}

// CAPins returns `sha256:` and the lower-case hex of SHA-256 over the public key
// (DER SubjectPublicKeyInfo) of each certificate in the PEM text, in its order
// (contract section 5.2).
func CAPins(caPEM []byte) ([]string, error) {
	var pins []string
	for block, rest := pem.Decode(caPEM); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fault.Invalid("the CA holds a certificate that cannot be read").Wrap(err)
		}
		sum := sha256.Sum256(certificate.RawSubjectPublicKeyInfo)
		pins = append(pins, "sha256:"+hex.EncodeToString(sum[:]))
	}
	if len(pins) == 0 {
		return nil, fault.Invalid("the CA holds no certificate")
	}
	return pins, nil
}

// RegisterCommand is the line that registers a cluster with our agent: server
// is the hub's host:port, token the whole token.
func RegisterCommand(server, token string, pins []string) string {
	return registerCommand("muster-agent", server, token, pins, Placement{})
}

// NewCommands spells out how to use a token. server is the hub's host:port and
// caPEM the CA its API chains to.
func NewCommands(server, token string, caPEM []byte, placement Placement) (Commands, error) {
	pins, err := CAPins(caPEM)
	if err != nil {
		return Commands{}, err
	}
	return Commands{
		Muster:     registerCommand("muster-agent", server, token, pins, placement),
		Karmadactl: registerCommand("karmadactl", server, token, pins, placement),
		Manifest:   manifestCommand(server, token, caPEM, placement),
	}, nil
}

func registerCommand(program, server, token string, pins []string, placement Placement) string {
	words := []string{
		program, "register", strings.TrimPrefix(server, "https://"),
		"--token", token, "--discovery-token-ca-cert-hash", strings.Join(pins, ","),
	}
	for _, flag := range []struct{ name, value string }{
		{"--cluster-name", placement.ClusterName},
		{"--cluster-provider", placement.Provider},
		{"--cluster-region", placement.Region},
		{"--cluster-zones", strings.Join(placement.Zones, ",")},
	} {
		if flag.value != "" {
			words = append(words, flag.name, quote(flag.value))
		}
	}
	return strings.Join(words, " ")
}

// namePlaceholder stands in the manifest command for a name that is to be put
// in; it cannot be one itself.
const namePlaceholder = "CLUSTER"

// manifestCommand inlines the CA, so that curl needs no --insecure, and hands
// the token over on standard input, so that it is in no process list and no URL.
func manifestCommand(server, token string, caPEM []byte, placement Placement) string {
	query := url.Values{}
	for key, value := range map[string]string{
		"name": cmp.Or(placement.ClusterName, namePlaceholder), "provider": placement.Provider,
		"region": placement.Region, "zones": strings.Join(placement.Zones, ","),
	} {
		if value != "" {
			query.Set(key, value)
		}
	}
	address := "https://" + strings.TrimPrefix(server, "https://") + ManifestPath + "?" + query.Encode()
	return "printf 'Authorization: Bearer %s' " + quote(token) +
		" | curl -fsS -H @- --cacert <(printf %s " + base64.StdEncoding.EncodeToString(caPEM) + " | base64 -d) " + quote(address) +
		" | kubectl apply -f -"
}

// quote makes a word safe for a POSIX shell, and leaves plain words as they are.
func quote(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.,:/@%+=", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
