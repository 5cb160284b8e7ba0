package identity

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"

	"muster.dev/muster/backend/agentapi"
	"muster.dev/muster/backend/apis"
	"muster.dev/muster/backend/registration"
	"muster.dev/muster/backend/token"
)

var clientUsages = []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment, certificatesv1.UsageClientAuth}

// certificateRequest makes a PEM request; change may spoil the template.
func certificateRequest(t *testing.T, commonName string, change func(*x509.CertificateRequest)) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.CertificateRequest{Subject: pkix.Name{CommonName: commonName, Organization: []string{apis.AgentGroup}}}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

// twoNames gives a request the common names of two clusters.
func twoNames(r *x509.CertificateRequest) {
	name := func(oid int, value string) pkix.RelativeDistinguishedNameSET {
		return pkix.RelativeDistinguishedNameSET{{Type: asn1.ObjectIdentifier{2, 5, 4, oid}, Value: value}}
	}
	r.RawSubject, _ = asn1.Marshal(pkix.RDNSequence{name(10, apis.AgentGroup), name(3, apis.AgentUserPrefix+"m1"), name(3, apis.AgentUserPrefix+"m2")})
}

func TestParseAgentRequest(t *testing.T) {
	agent := apis.AgentUserPrefix + "m1"
	good := certificateRequest(t, agent, nil)
	helper := certificateRequest(t, apis.RBACGeneratorUser, nil)
	tests := map[string]struct {
		name    string
		signer  string
		usages  []certificatesv1.KeyUsage
		request []byte
		want    agentRequest
		problem string
	}{
		"agent":                      {request: good, want: agentRequest{cluster: "m1"}},
		"agent without encipherment": {request: good, usages: clientUsages[:1:1], problem: "usages"},
		"two usages":                 {request: good, usages: []certificatesv1.KeyUsage{"client auth", "digital signature"}, want: agentRequest{cluster: "m1"}},
		"server usage":               {request: good, usages: append(clientUsages[:3:3], "server auth"), problem: "usages"},
		"helper":                     {name: "agent-rbac-generator-member3csqqr", request: helper, want: agentRequest{cluster: "member3", helper: true}},
		"helper named otherwise":     {name: "member3-csqqr", request: helper, problem: "named"},
		"helper for nobody":          {name: "agent-rbac-generator-csqqr", request: helper, problem: "named"},
		"helper for reserved name":   {name: "agent-rbac-generator-rbac-generatorcsqqr", request: helper, problem: "reserved"},
		"another signer":             {signer: "kubernetes.io/kubelet-serving", request: good, problem: "signer"},
		"not PEM":                    {request: []byte("hello"), problem: "PEM"},
		"two blocks":                 {request: append(append([]byte{}, good...), good...), problem: "PEM"},
		"another common name":        {request: certificateRequest(t, "system:node:n1", nil), problem: "common name"},
		"administrator":              {request: certificateRequest(t, "system:admin", nil), problem: "common name"},
		"no cluster":                 {request: certificateRequest(t, apis.AgentUserPrefix, nil), problem: "cannot name"},
		"impersonator":               {request: certificateRequest(t, agent+"-impersonator", nil), problem: "reserved"},
		"two clusters":               {request: certificateRequest(t, agent+":m2", nil), problem: "cannot name"},
		"upper case":                 {request: certificateRequest(t, apis.AgentUserPrefix+"M1", nil), problem: "cannot name"},
		"no organization":            {request: certificateRequest(t, agent, func(r *x509.CertificateRequest) { r.Subject.Organization = nil }), problem: "subject"},
		"masters too": {request: certificateRequest(t, agent, func(r *x509.CertificateRequest) {
			r.Subject.Organization = append(r.Subject.Organization, "system:masters")
		}), problem: "subject"},
		"organizational unit":         {request: certificateRequest(t, agent, func(r *x509.CertificateRequest) { r.Subject.OrganizationalUnit = []string{"x"} }), problem: "subject"},
		"a second common name":        {request: certificateRequest(t, agent, twoNames), problem: "subject"},
		"DNS name":                    {request: certificateRequest(t, agent, func(r *x509.CertificateRequest) { r.DNSNames = []string{"hub"} }), problem: "alternative"},
		"address":                     {request: certificateRequest(t, agent, func(r *x509.CertificateRequest) { r.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)} }), problem: "alternative"},
		"mail":                        {request: certificateRequest(t, agent, func(r *x509.CertificateRequest) { r.EmailAddresses = []string{"a@b"} }), problem: "alternative"},
		"URI":                         {request: certificateRequest(t, agent, func(r *x509.CertificateRequest) { r.URIs = []*url.URL{{Scheme: "spiffe", Host: "x"}} }), problem: "alternative"},
		"name of 49 characters":       {request: certificateRequest(t, apis.AgentUserPrefix+strings.Repeat("a", 49), nil), problem: "cannot name"},
		"name of 48 characters":       {request: certificateRequest(t, apis.AgentUserPrefix+strings.Repeat("a", 48), nil), want: agentRequest{cluster: strings.Repeat("a", 48)}},
		"the bytes of a certificate":  {request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte{1}}), problem: "PEM"},
		"a request cut in the middle": {request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: []byte{0x30, 0x82}}), problem: "PKCS"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.name == "" {
				test.name = "m1-bbbbb"
			}
			if test.signer == "" {
				test.signer = agentapi.SignerName
			}
			if test.usages == nil {
				test.usages = clientUsages
			}
			got, err := parseAgentRequest(test.name, test.signer, test.usages, test.request)
			switch {
			case test.problem == "" && err != nil:
				t.Fatalf("refused: %v", err)
			case test.problem != "" && (err == nil || !strings.Contains(err.Error(), test.problem)):
				t.Fatalf("got %+v, %v; want a problem with %q", got, err, test.problem)
			case err == nil && got != test.want:
				t.Fatalf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestParseAgentRequestChecksPossession(t *testing.T) {
	block, _ := pem.Decode(certificateRequest(t, apis.AgentUserPrefix+"m1", nil))
	block.Bytes[len(block.Bytes)-1] ^= 1
	if _, err := parseAgentRequest("m1-bbbbb", agentapi.SignerName, clientUsages, pem.EncodeToMemory(block)); err == nil {
		t.Error("a request with a broken signature was taken")
	}
}

func TestDecideCSR(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	past := now.Add(-time.Minute)
	tokens := []string{"system:bootstrappers", apis.BootstrapTokenGroup, "system:authenticated"}
	agents := []string{apis.AgentGroup, "system:authenticated"}
	m1 := agentRequest{cluster: "m1"}
	helper := agentRequest{cluster: "m1", helper: true}
	tests := map[string]struct {
		facts csrFacts
		code  string // of the refusal; empty: may be approved
	}{
		"free name, open token":            {csrFacts{agentRequest: m1, groups: tokens, token: &token.Token{ID: "abcdef"}}, ""},
		"free name, used open token":       {csrFacts{agentRequest: m1, groups: tokens, token: &token.Token{UsedBy: []string{"m2", "m3"}}}, ""},
		"free name, bound token":           {csrFacts{agentRequest: m1, groups: tokens, token: &token.Token{ClusterName: "m1"}}, ""},
		"free name, token bound elsewhere": {csrFacts{agentRequest: m1, groups: tokens, token: &token.Token{ClusterName: "m2"}}, registration.CodeTokenBound},
		"free name, used-up token":         {csrFacts{agentRequest: m1, groups: tokens, token: &token.Token{MaxClusters: 1, UsedBy: []string{"m2"}}}, registration.CodeTokenBound},
		"free name, one-cluster retry":     {csrFacts{agentRequest: m1, groups: tokens, token: &token.Token{MaxClusters: 1, UsedBy: []string{"m1"}}}, ""},
		"expired token":                    {csrFacts{agentRequest: m1, groups: tokens, token: &token.Token{ExpiresAt: &past}}, registration.CodeTokenExpired},

		"taken name, open token":            {csrFacts{agentRequest: m1, groups: tokens, registered: true, token: &token.Token{}}, registration.CodeNameTaken},
		"taken name, open token used by it": {csrFacts{agentRequest: m1, groups: tokens, registered: true, token: &token.Token{UsedBy: []string{"m1"}}}, registration.CodeNameTaken},
		"taken name, token of ten":          {csrFacts{agentRequest: m1, groups: tokens, registered: true, token: &token.Token{MaxClusters: 10, UsedBy: []string{"m1"}}}, registration.CodeNameTaken},
		"taken name, bound token":           {csrFacts{agentRequest: m1, groups: tokens, registered: true, token: &token.Token{ClusterName: "m1"}}, ""},
		"taken name, one-cluster retry":     {csrFacts{agentRequest: m1, groups: tokens, registered: true, token: &token.Token{MaxClusters: 1, UsedBy: []string{"m1"}}}, ""},

		"helper, free name":                 {csrFacts{agentRequest: helper, groups: tokens, token: &token.Token{}}, ""},
		"helper, taken name":                {csrFacts{agentRequest: helper, groups: tokens, registered: true, token: &token.Token{}}, ""}, // its client sees that for itself
		"helper, token bound elsewhere":     {csrFacts{agentRequest: helper, groups: tokens, token: &token.Token{ClusterName: "m2"}}, registration.CodeTokenBound},
		"renewal":                           {csrFacts{agentRequest: m1, requester: apis.AgentUserPrefix + "m1", groups: agents, registered: true}, ""},
		"renewal of another's":              {csrFacts{agentRequest: m1, requester: apis.AgentUserPrefix + "m2", groups: agents, registered: true}, registration.CodeCSRRefused},
		"agent asks for helper":             {csrFacts{agentRequest: helper, requester: apis.AgentUserPrefix + "m1", groups: agents}, registration.CodeCSRRefused},
		"helper asks for agent":             {csrFacts{agentRequest: m1, requester: apis.RBACGeneratorUser, groups: agents}, registration.CodeCSRRefused},
		"helper asks for itself":            {csrFacts{agentRequest: helper, requester: apis.RBACGeneratorUser, groups: agents}, registration.CodeCSRRefused},
		"an administrator":                  {csrFacts{agentRequest: m1, requester: "system:admin", groups: []string{"system:masters"}, registered: true}, ""},
		"anybody else, as the roles say so": {csrFacts{agentRequest: m1, requester: "jo", groups: []string{"system:authenticated"}}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.facts.now = now
			got := decideCSR(test.facts)
			switch {
			case test.code == "" && got.refusal != nil:
				t.Fatalf("refused: %s %s", got.refusal.Code, got.refusal.Message)
			case test.code != "" && (got.refusal == nil || got.refusal.Code != test.code):
				t.Fatalf("got %+v, want refusal %s", got.refusal, test.code)
			case test.code == "" && len(got.subresources) == 0:
				t.Fatal("approved without asking the hub's roles")
			}
		})
	}
}
