package waiting

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/access"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/consent"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/token"
)

// Ways to introduce a cluster.
const (
	// TokenServiceAccount is a token of consent.BootstrapAccount, as `clusteradm get token`
	// makes it. The hub keeps nothing of it.
	TokenServiceAccount = "service-account"
	// TokenBootstrap is a bootstrap token, which can be labelled and revoked.
	TokenBootstrap = "bootstrap"
)

// Where the agents run.
const (
	ModeDefault   = "default"   // in the cluster, one Deployment for each of two agents
	ModeSingleton = "singleton" // in the cluster, one Deployment
	ModeHosted    = "hosted"    // in another cluster
)

// Lives of a token: what the hub API takes for a service account, and what is
// sensible.
const (
	defaultTokenLife = time.Hour
	leastTokenLife   = 10 * time.Minute
	mostAccountLife  = 24 * time.Hour
)

// Onboarding says which cluster is to be introduced, and how.
type Onboarding struct {
	ClusterName string
	Token       string
	// Life is how long the token works; 0 is an hour.
	Life time.Duration
	Mode string
	// ServerURL is where the cluster's own API is reached, if the agent shall tell.
	ServerURL string
	// TokenLabels are for rules of the kind token-label.
	TokenLabels map[string]string
}

// Onboarded is all that a cluster needs to introduce itself. Token, Commands and
// Manifest hold a secret that is shown this once.
type Onboarded struct {
	// Secret is the token, for whoever hides it on a screen.
	Secret string `json:"secret"`
	// TokenID names a bootstrap token.
	TokenID string `json:"tokenId,omitempty" validate:"optional"`
	// Command is for clusteradm, where kubectl reaches the cluster.
	Command string `json:"command"`
	// AcceptCommand gives both consents by clusteradm, where kubectl reaches the
	// hub.
	AcceptCommand string `json:"acceptCommand"`
	// AgentCommand runs our agent without installing anything.
	AgentCommand string `json:"agentCommand"`
	// Manifest is for a cluster that has the operator.
	Manifest string `json:"manifest"`
	// ManifestSteps are commands that follow it, none for most.
	ManifestSteps string    `json:"manifestSteps,omitempty" validate:"optional"`
	ExpiresAt     time.Time `json:"expiresAt"`
	// WaitFor is the name to look for in the waiting room.
	WaitFor string `json:"waitFor"`
}

// prepare fills what was left open and checks the rest.
func (o *Onboarding) prepare() error {
	if o.Token == "" {
		o.Token = TokenServiceAccount
	}
	if o.Mode == "" {
		o.Mode = ModeDefault
	}
	if o.Life == 0 {
		o.Life = defaultTokenLife
	}
	most := token.MaxTTL
	if o.Token == TokenServiceAccount {
		most = mostAccountLife
	}
	problem := consent.CheckName(o.ClusterName)
	switch {
	case o.ClusterName == "":
		return fault.Invalid("the cluster needs a name").WithField("clusterName", "is missing")
	case problem != "":
		return fault.Invalid("%q cannot name a cluster: %s", o.ClusterName, problem).WithField("clusterName", problem)
	case o.Token != TokenServiceAccount && o.Token != TokenBootstrap:
		return fault.Invalid("there is no token of the kind %q", o.Token).WithField("token", "use service-account or bootstrap")
	case o.Mode != ModeDefault && o.Mode != ModeSingleton && o.Mode != ModeHosted:
		return fault.Invalid("there is no mode %q", o.Mode).WithField("mode", "use default, singleton or hosted")
	case o.Life < leastTokenLife || o.Life > most:
		return fault.Invalid("the token lives for %s to %s", leastTokenLife, most).WithField("ttlSeconds", "too short, or too long")
	case len(o.TokenLabels) > 0 && o.Token != TokenBootstrap:
		return fault.Invalid("only bootstrap tokens have labels").WithField("tokenLabels", "leave them out, or ask for a bootstrap token")
	}
	if parsed, err := url.Parse(o.ServerURL); o.ServerURL != "" && (err != nil || parsed.Scheme != "https" || parsed.Host == "") {
		return fault.Invalid("the address of the cluster's API is an https URL").WithField("serverUrl", "is no https URL")
	}
	for key, value := range o.TokenLabels {
		if len(validation.IsQualifiedName(key)) > 0 || len(validation.IsValidLabelValue(value)) > 0 {
			return fault.Invalid("%q is no label", key+"="+value).WithField("tokenLabels", "write key=value")
		}
	}
	return nil
}

// Onboard makes a token and says what to do with it. Operators may.
func (s *Service) Onboard(ctx context.Context, asked Onboarding) (Onboarded, error) {
	if err := asked.prepare(); err != nil {
		return Onboarded{}, err
	}
	action := audit.Action{Verb: "onboard", Kind: kindCluster, Name: asked.ClusterName, Needs: access.RoleOperator, Detail: map[string]string{
		"by": asked.Token, "mode": asked.Mode, "valid": asked.Life.String(),
	}}
	made := Onboarded{WaitFor: asked.ClusterName}
	err := s.Audit.Do(ctx, action, func(ctx context.Context) error {
		actor, hub, err := s.as(ctx)
		if err != nil {
			return err
		}
		if asked.Token == TokenBootstrap {
			return s.bootstrapToken(ctx, actor, hub, asked, &made)
		}
		return accountToken(ctx, hub, asked, &made)
	})
	if err != nil {
		return Onboarded{}, err
	}
	return made, s.explain(asked, &made)
}

// accountToken asks for a token of the account that introduces clusters.
func accountToken(ctx context.Context, hub client.Client, asked Onboarding, made *Onboarded) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: consent.BootstrapAccount, Namespace: consent.BootstrapNamespace}}
	life := int64(asked.Life / time.Second)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &life}}
	if err := kube.Fault(hub.SubResource("token").Create(ctx, account, request)); err != nil {
		if fault.Is(err, fault.KindNotFound) {
			return fault.NotFound("the hub has no service account %s/%s", consent.BootstrapNamespace, consent.BootstrapAccount).
				WithFix("it is made when the hub starts; restart the hub, or use a bootstrap token").Wrap(err)
		}
		return fmt.Errorf("ask for a token of %s: %w", consent.BootstrapUser, err)
	}
	made.Secret, made.ExpiresAt = request.Status.Token, request.Status.ExpirationTimestamp.UTC()
	return nil
}

// bootstrapToken makes a bootstrap token that gives no other right than to
// introduce clusters.
func (s *Service) bootstrapToken(ctx context.Context, actor access.Actor, hub client.Client, asked Onboarding, made *Onboarded) error {
	id, secret := token.Generate()
	spec := token.Spec{
		Description: "introduces " + asked.ClusterName + " by Open Cluster Management", TTL: asked.Life,
		Usages: []string{token.UsageAuthentication}, Groups: []string{consent.BootstrapGroup}, CreatedBy: actor.Name,
	}
	object := spec.Secret(id, secret, s.Now())
	object.Labels = map[string]string{clusteradmTokenLabel: clusteradmTokenLabelValue}
	maps.Copy(object.Labels, asked.TokenLabels)
	audit.SetDetail(ctx, "bootstrap", id)
	if err := kube.Fault(hub.Create(ctx, object)); err != nil {
		return fmt.Errorf("create bootstrap token %s: %w", id, err)
	}
	made.TokenID, made.Secret, made.ExpiresAt = id, id+"."+secret, s.Now().Add(asked.Life).UTC().Truncate(time.Second)
	return nil
}

// clusteradm looks for its bootstrap tokens by this label (contract section 4.2).
const (
	clusteradmTokenLabel      = "app"
	clusteradmTokenLabelValue = "cluster-manager"
)

// hubCAFile is where the commands put the hub's CA.
const hubCAFile = "muster-hub-ca.crt"

// explain spells out what to do with a token. The commands carry the hub's CA:
// without it clusteradm would send the token to whoever answers first.
func (s *Service) explain(asked Onboarding, made *Onboarded) error {
	server := "https://" + strings.TrimPrefix(s.Hub.Address, "https://")
	join := []string{"clusteradm", "join", "--hub-token", made.Secret, "--hub-apiserver", server, "--cluster-name", asked.ClusterName, "--ca-file", hubCAFile}
	switch asked.Mode {
	case ModeSingleton:
		join = append(join, "--singleton")
	case ModeHosted:
		join = append(join, "--mode", "hosted", "--managed-cluster-kubeconfig", managedKubeconfig)
	}
	made.Command = "printf %s " + base64.StdEncoding.EncodeToString(s.Hub.CA) + " | base64 -d > " + hubCAFile + " &&\n" + fold(join)
	made.AcceptCommand = "clusteradm accept --clusters " + asked.ClusterName
	kubeconfig, err := bootstrapKubeconfig(server, s.Hub.CA, made.Secret)
	if err != nil {
		return err
	}
	made.AgentCommand = agentCommand(asked, kubeconfig)
	made.Manifest, made.ManifestSteps, err = klusterlet(asked, kubeconfig)
	return err
}

// fold puts each flag on a line of its own.
func fold(words []string) string {
	var text strings.Builder
	for i, word := range words {
		switch {
		case i == 0:
		case strings.HasPrefix(word, "--"):
			text.WriteString(" \\\n  ")
		default:
			text.WriteString(" ")
		}
		text.WriteString(word)
	}
	return text.String()
}
