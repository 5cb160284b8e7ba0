package consent

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

// Request is what a certificate request of an agent asks for.
type Request struct {
	// Cluster and Agent are the identity asked for.
	Cluster, Agent string
	// Requester is who asks, as the hub API authenticated it.
	Requester authenticationv1.UserInfo
	// Fingerprint is of the public key, as SHA256:hex.
	Fingerprint string
	// Renewal tells that an agent asks for exactly the identity that it has.
	Renewal bool
	// Problem says why no machine may approve it; empty if one may.
	Problem string
}

// Rules let agents in without a person. Both methods tell by which rule.
type Rules interface {
	// Match finds a rule that gives the certificate of a request that no machine is
	// kept from approving. labels are those of what the requester signed in with.
	Match(request Request, labels map[string]string) (rule string, ok bool)
	// Accepts finds a rule that accepts a cluster, which creator introduced.
	Accepts(cluster *ocmv1.ManagedCluster, creator string) (rule string, ok bool)
}

// errNotAgent is of requests that are none of ours.
var errNotAgent = errors.New("it is not the request of a cluster's agent")

// Read reads the request of an agent for its certificate (contract section 2.3).
// It is an error if the request is for somebody else: an add-on, a person. One
// that is for an agent, but not as agents ask, has a Problem.
func Read(csr *certificatesv1.CertificateSigningRequest) (Request, error) {
	cluster := csr.Labels[ocmv1.ClusterNameLabel]
	if cluster == "" || csr.Labels[ocmv1.AddonNameLabel] != "" {
		return Request{}, errNotAgent
	}
	requester := authenticationv1.UserInfo{Username: csr.Spec.Username, UID: csr.Spec.UID, Groups: csr.Spec.Groups}
	for key, values := range csr.Spec.Extra {
		if requester.Extra == nil {
			requester.Extra = map[string]authenticationv1.ExtraValue{}
		}
		requester.Extra[key] = authenticationv1.ExtraValue(values)
	}
	request := Request{Cluster: cluster, Requester: requester}
	parsed, err := parseRequest(csr.Spec.Request)
	if err != nil {
		request.Problem = err.Error()
		return request, nil
	}
	sum := sha256.Sum256(parsed.RawSubjectPublicKeyInfo)
	request.Fingerprint = "SHA256:" + hex.EncodeToString(sum[:])
	agent, ok := ParseAgent(parsed.Subject.CommonName)
	request.Agent = agent.Name
	switch {
	case !ok:
		request.Problem = "the common name is not that of an agent, " + AgentPrefix + "CLUSTER:AGENT"
	case agent.Cluster != cluster:
		request.Problem = fmt.Sprintf("the common name is of cluster %s, the label of %s", agent.Cluster, cluster)
	default:
		request.Problem = shapeProblem(csr, parsed, cluster)
	}
	request.judgeRequester(agent, parsed.Subject.Organization)
	return request, nil
}

// shapeProblem looks for more than an agent asks for (contract section 2.4).
func shapeProblem(csr *certificatesv1.CertificateSigningRequest, parsed *x509.CertificateRequest, cluster string) string {
	groups := parsed.Subject.Organization
	switch {
	case csr.Spec.SignerName != certificatesv1.KubeAPIServerClientSignerName:
		return "the signer is " + csr.Spec.SignerName + ", not " + certificatesv1.KubeAPIServerClientSignerName
	case !slices.Contains(groups, Group(cluster)):
		return "the organization " + Group(cluster) + " is missing"
	case slices.ContainsFunc(groups, func(group string) bool { return group != Group(cluster) && group != allAgentsGroup }):
		return "the organizations are more than those of an agent"
	case len(parsed.Subject.Names) != 1+len(groups):
		return "the subject holds more than common name and organizations"
	case len(parsed.DNSNames)+len(parsed.EmailAddresses)+len(parsed.IPAddresses)+len(parsed.URIs) > 0:
		return "it asks for alternative names"
	case !clientUsages(csr.Spec.Usages):
		return "its usages are not those of a client: client auth, digital signature, key encipherment"
	}
	return checkName(cluster)
}

// judgeRequester tells a renewal: who asks is already, word for word, whom the
// request is for. Any other agent may not ask for anybody.
func (r *Request) judgeRequester(asked Agent, organizations []string) {
	mine, isAgent := ParseAgent(r.Requester.Username)
	if !isAgent {
		isAgent = slices.Contains(r.Requester.Groups, allAgentsGroup)
	}
	if !isAgent || r.Problem != "" {
		return
	}
	missing := slices.ContainsFunc(organizations, func(group string) bool { return !slices.Contains(r.Requester.Groups, group) })
	if mine != asked || missing {
		r.Problem = "an agent renews its own certificate only, and " + r.Requester.Username + " is not the identity asked for"
		return
	}
	r.Renewal = true
}

func parseRequest(data []byte) (*x509.CertificateRequest, error) {
	block, rest := pem.Decode(data)
	if block == nil || block.Type != "CERTIFICATE REQUEST" || len(strings.TrimSpace(string(rest))) > 0 {
		return nil, errors.New("it is not one PEM block of type CERTIFICATE REQUEST")
	}
	parsed, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, errors.New("it is not a PKCS #10 request")
	}
	if err := parsed.CheckSignature(); err != nil {
		return nil, errors.New("its signature does not match its key")
	}
	return parsed, nil
}

func clientUsages(usages []certificatesv1.KeyUsage) bool {
	known := []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment, certificatesv1.UsageClientAuth}
	return slices.Contains(usages, certificatesv1.UsageClientAuth) &&
		!slices.ContainsFunc(usages, func(usage certificatesv1.KeyUsage) bool { return !slices.Contains(known, usage) })
}
