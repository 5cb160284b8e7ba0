package identity

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"

	"muster.dev/muster/backend/agentapi"
	"muster.dev/muster/backend/apis"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/registration"
	"muster.dev/muster/backend/token"
)

const (
	// helperLifetime is how long a registration helper's certificate is valid.
	// It is the least a signer grants; a register needs seconds.
	helperLifetime = 10 * time.Minute
	// helperPrefix starts the name of a helper's request; the cluster's name and
	// five random characters follow (contract section 6.2 step 4).
	helperPrefix = "agent-rbac-generator-"
	randomSuffix = 5

	tokenUserPrefix = "system:bootstrap:"

	// impersonatorSuffix is reserved: the agent of a cluster named x-impersonator
	// would own the Secret that holds x's proxy credential (contract section 3.2).
	impersonatorSuffix = "-impersonator"
)

// CheckName says whether an identity of this cluster name can be given out.
func CheckName(cluster string) error {
	if err := registration.ValidateName(cluster); err != nil {
		return err
	}
	if strings.HasSuffix(cluster, impersonatorSuffix) {
		return fault.Invalid("%q cannot name a cluster: names that end in %s are reserved for credentials", cluster, impersonatorSuffix).
			WithField("clusterName", "must not end in "+impersonatorSuffix)
	}
	return nil
}

// agentRequest is a certificate request for an agent's identity, or for that of
// the helper an unmodified client registers with.
type agentRequest struct {
	cluster string
	helper  bool
}

// parseAgentRequest reads a request for an agent's or the helper's identity. It
// refuses anything else (contract section 6.5): the identity is common name and
// organization, with nothing beside them that could be read as another one.
func parseAgentRequest(name, signer string, usages []certificatesv1.KeyUsage, request []byte) (agentRequest, error) {
	if signer != agentapi.SignerName {
		return agentRequest{}, fmt.Errorf("the signer is %q, not %s", signer, agentapi.SignerName)
	}
	parsed, err := parseCertificateRequest(request)
	if err != nil {
		return agentRequest{}, err
	}
	commonName := parsed.Subject.CommonName
	switch {
	case !strings.HasPrefix(commonName, apis.AgentUserPrefix):
		return agentRequest{}, fmt.Errorf("the common name is not that of an agent, %s…", apis.AgentUserPrefix)
	case !slices.Equal(parsed.Subject.Organization, []string{apis.AgentGroup}) || len(parsed.Subject.Names) != 2:
		return agentRequest{}, fmt.Errorf("the subject holds more or less than the common name and organization %s", apis.AgentGroup)
	case len(parsed.DNSNames)+len(parsed.EmailAddresses)+len(parsed.IPAddresses)+len(parsed.URIs) > 0:
		return agentRequest{}, errors.New("it asks for alternative names")
	case !agentUsages(usages):
		return agentRequest{}, errors.New("its usages are not those of a client: digital signature, client auth and at most key encipherment")
	}
	asked := agentRequest{cluster: strings.TrimPrefix(commonName, apis.AgentUserPrefix), helper: commonName == apis.RBACGeneratorUser}
	if asked.helper {
		if asked.cluster, err = helperCluster(name); err != nil {
			return agentRequest{}, err
		}
	}
	if err := CheckName(asked.cluster); err != nil {
		return agentRequest{}, err
	}
	return asked, nil
}

func parseCertificateRequest(data []byte) (*x509.CertificateRequest, error) {
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

func agentUsages(usages []certificatesv1.KeyUsage) bool {
	needed := map[certificatesv1.KeyUsage]bool{certificatesv1.UsageDigitalSignature: false, certificatesv1.UsageClientAuth: false}
	for _, usage := range usages {
		if _, ok := needed[usage]; ok {
			needed[usage] = true
		} else if usage != certificatesv1.UsageKeyEncipherment {
			return false
		}
	}
	return needed[certificatesv1.UsageDigitalSignature] && needed[certificatesv1.UsageClientAuth]
}

// helperCluster is the cluster a helper's request is about, as its name says.
func helperCluster(name string) (string, error) {
	rest, ok := strings.CutPrefix(name, helperPrefix)
	if !ok || len(rest) <= randomSuffix {
		return "", fmt.Errorf("a helper's request is named %sCLUSTER and %d random characters", helperPrefix, randomSuffix)
	}
	return rest[:len(rest)-randomSuffix], nil
}

// tokenOf is the id of the join token a user signed in with.
func tokenOf(user string) (id string, ok bool) {
	id, ok = strings.CutPrefix(user, tokenUserPrefix)
	return id, ok && id != ""
}

// csrFacts is what the approval of an agent's request depends on.
type csrFacts struct {
	agentRequest
	requester string
	groups    []string
	// token is the join token of the requester, nil for other requesters.
	token *token.Token
	// registered tells that a Cluster of this name exists.
	registered bool
	now        time.Time
}

// csrVerdict is what becomes of a request. Without a refusal, it is approved if
// the requester may create one of the virtual subresources (contract 6.5), which
// is how an administrator turns automatic approval off.
type csrVerdict struct {
	subresources []string
	refusal      *fault.Error
}

const (
	subresourceAgent     = "clusteragent"
	subresourceSelfAgent = "selfclusteragent"
)

// decideCSR applies contract section 6.5, tightened: a token gives out the
// identity of a name that is free, or of the one name it is bound to; an agent
// renews only its own. Who is refused here can still be approved by hand.
func decideCSR(f csrFacts) csrVerdict {
	switch {
	case !f.helper && f.requester == apis.AgentUserPrefix+f.cluster:
		return csrVerdict{subresources: []string{subresourceSelfAgent, subresourceAgent}}
	case slices.Contains(f.groups, apis.AgentGroup):
		return csrVerdict{refusal: fault.Forbidden("an agent may ask for its own identity only").WithCode(registration.CodeCSRRefused)}
	case f.token == nil:
		return csrVerdict{subresources: []string{subresourceAgent}}
	}
	if err := f.token.Admits(f.cluster, f.now); err != nil {
		refusal, ok := fault.As(err)
		if !ok {
			refusal = fault.Forbidden("%s", err.Error()).WithCode(registration.CodeTokenBound)
		}
		return csrVerdict{refusal: refusal}
	}
	if !f.helper && f.registered && !boundToCluster(*f.token, f.cluster) {
		return csrVerdict{refusal: fault.Conflict("a cluster named %s is registered already, and token %s is not bound to it", f.cluster, f.token.ID).
			WithCode(registration.CodeNameTaken).
			WithFix("choose another name, use a token made for " + f.cluster + ", or let an administrator approve the request: kubectl certificate approve")}
	}
	return csrVerdict{subresources: []string{subresourceAgent}}
}

// boundToCluster says whether a token speaks for one cluster only, and for this
// one: it was made for it, or it may register one and has registered this.
func boundToCluster(t token.Token, cluster string) bool {
	return t.ClusterName == cluster || t.MaxClusters == 1 && slices.Equal(t.UsedBy, []string{cluster})
}
