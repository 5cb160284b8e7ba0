package token

import (
	"crypto/rand"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/fault"
)

// Kubernetes' bootstrap-token format (contract section 5.1).
const (
	// Namespace holds the Secrets of all tokens.
	Namespace = metav1.NamespaceSystem
	// SecretPrefix followed by the token id is the name of a token's Secret.
	SecretPrefix = "bootstrap-token-"
	// SecretType is the type of a token's Secret.
	SecretType corev1.SecretType = "bootstrap.kubernetes.io/token"

	keyID          = "token-id"
	keySecret      = "token-secret"
	keyDescription = "description"
	keyExpiration  = "expiration"
	keyGroups      = "auth-extra-groups"
	keyUsage       = "usage-bootstrap-"
)

// Usages a token can have.
const (
	UsageSigning        = "signing"
	UsageAuthentication = "authentication"
)

const (
	// DefaultGroup is the group that registering clients get unless others are
	// asked for; the hub's approval rules name it.
	DefaultGroup = apis.BootstrapTokenGroup
	// DefaultTTL is how long a token lives unless told otherwise.
	DefaultTTL = 24 * time.Hour
	// MaxTTL bounds a token made through REST; only an administrator may go
	// beyond it, by asking for a token that never expires.
	MaxTTL = 30 * 24 * time.Hour
	// MaxDescription bounds a description, in bytes.
	MaxDescription = 1024
)

// Annotations of the hub on a token's Secret. All are optional: a token without
// them is bound to no cluster and unlimited, as compatible clients expect.
const (
	AnnotationClusterName  = "muster.dev/cluster-name"
	AnnotationMaxClusters  = "muster.dev/max-clusters"
	AnnotationUsedBy       = "muster.dev/used-by"
	AnnotationRegistration = "muster.dev/registration"
	AnnotationCreatedBy    = "muster.dev/created-by"
)

// Codes of failures that a token is the reason of.
const (
	CodeUnknown = "MU-101"
	CodeSecret  = "MU-102"
	CodeExpired = "MU-103"
	CodeBound   = "MU-104"
)

// The halves of a token and the groups it may carry (contract section 5.1).
var (
	idPattern    = regexp.MustCompile(`\A[a-z0-9]{6}\z`)
	tokenPattern = regexp.MustCompile(`\A([a-z0-9]{6})\.([a-z0-9]{16})\z`)
	groupPattern = regexp.MustCompile(`\Asystem:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]\z`)
)

// Token is a join token as the hub shows it, without its secret half.
type Token struct {
	ID          string     `json:"id"`
	Description string     `json:"description"`
	Usages      []string   `json:"usages"`
	Groups      []string   `json:"groups"`
	CreatedAt   time.Time  `json:"createdAt"`
	ExpiresAt   *time.Time `json:"expiresAt,omitempty" validate:"optional"`
	Expired     bool       `json:"expired"`
	// ClusterName is the only name the token may register.
	ClusterName string `json:"clusterName,omitempty" validate:"optional"`
	// MaxClusters is how many clusters the token may register; 0 is no limit.
	MaxClusters int `json:"maxClusters,omitempty" validate:"optional"`
	// UsedBy names the clusters the token has registered, in order of use.
	UsedBy         []string `json:"usedBy"`
	CreatedBy      string   `json:"createdBy,omitempty" validate:"optional"`
	RegistrationID string   `json:"registrationId,omitempty" validate:"optional"`
}

// Spec is what a new token shall be.
type Spec struct {
	Description string
	// TTL is the token's life; 0 is for ever.
	TTL time.Duration
	// Usages default to signing and authentication, Groups to DefaultGroup.
	Usages []string
	Groups []string
	// ClusterName binds the token to one name, MaxClusters bounds how many
	// clusters it registers; empty and 0 leave it open.
	ClusterName    string
	MaxClusters    int
	CreatedBy      string
	RegistrationID string
}

// Generate draws the two halves of a token from the system's random source.
// The wire format holds 22 characters of 36, 16 of them secret.
func Generate() (id, secret string) {
	text := randomText(6 + 16)
	return text[:6], text[6:]
}

// randomText draws n characters, each with the same probability: bytes from
// which a remainder would prefer the first letters are dropped.
func randomText(n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	const fair = 256 - 256%len(letters)
	text, buffer := make([]byte, 0, n), make([]byte, 2*n)
	for len(text) < n {
		_, _ = rand.Read(buffer) // never fails: the runtime ends the program instead
		for _, b := range buffer {
			if int(b) < fair && len(text) < n {
				text = append(text, letters[int(b)%len(letters)])
			}
		}
	}
	return string(text)
}

// Parse splits a token's text. The error does not repeat it.
func Parse(text string) (id, secret string, err error) {
	match := tokenPattern.FindStringSubmatch(strings.TrimSpace(text))
	if match == nil {
		return "", "", fault.Invalid("this is not a join token").WithFix("a token looks like abcdef.0123456789abcdef: six and sixteen small letters or digits")
	}
	return match[1], match[2], nil
}

// ParseID takes a token's id, alone or as part of the whole token. The error
// repeats neither.
func ParseID(text string) (string, error) {
	if id, _, err := Parse(text); err == nil {
		return id, nil
	}
	if id := strings.TrimSpace(text); idPattern.MatchString(id) {
		return id, nil
	}
	return "", fault.Invalid("this is neither a token nor a token id").WithFix("give the six characters before the dot, as `muster token list` shows them")
}

// SecretName is the name of the Secret of the token with this id.
func SecretName(id string) string { return SecretPrefix + id }

// withDefaults fills what was left open.
func (s Spec) withDefaults() Spec {
	if len(s.Usages) == 0 {
		s.Usages = []string{UsageSigning, UsageAuthentication}
	}
	if len(s.Groups) == 0 {
		s.Groups = []string{DefaultGroup}
	}
	return s
}

// Validate checks the Spec, naming the field that is wrong.
func (s Spec) Validate() error {
	s = s.withDefaults()
	if s.TTL < 0 {
		return fault.Invalid("a token cannot live for a negative time").WithField("ttlSeconds", "must not be negative")
	}
	if s.TTL > 0 && s.TTL < time.Second {
		return fault.Invalid("a token lives for at least a second").WithField("ttlSeconds", "must be 0 or at least 1")
	}
	for _, usage := range s.Usages {
		if usage != UsageSigning && usage != UsageAuthentication {
			return fault.Invalid("usage %q is not known", usage).WithField("usages", "use signing, authentication or both")
		}
	}
	for _, group := range s.Groups {
		if !groupPattern.MatchString(group) {
			return fault.Invalid("group %q is not one that a join token may carry", group).WithField("groups", "must begin with system:bootstrappers: and end in a small letter or digit")
		}
	}
	if len(s.Description) > MaxDescription {
		return fault.Invalid("the description is longer than %d bytes", MaxDescription).WithField("description", "too long")
	}
	if strings.ContainsFunc(s.Description, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return fault.Invalid("the description holds control characters").WithField("description", "must be one line of text")
	}
	if s.ClusterName != "" && !validClusterName(s.ClusterName) {
		return fault.Invalid("%q cannot name a cluster", s.ClusterName).WithField("clusterName", "must be a DNS label of at most 48 characters")
	}
	if s.MaxClusters < 0 {
		return fault.Invalid("a token cannot register a negative number of clusters").WithField("maxClusters", "must not be negative")
	}
	return nil
}

// validClusterName says whether a cluster may have this name (contract 1.2).
func validClusterName(name string) bool {
	return len(validation.IsDNS1123Label(name)) == 0 && len(name) <= clusterv1alpha1.MaxNameLength && name != apis.RBACGeneratorName
}

// Secret is the Secret that makes id and secret a token as s says.
func (s Spec) Secret(id, secret string, now time.Time) *corev1.Secret {
	s = s.withDefaults()
	data := map[string][]byte{
		keyID: []byte(id), keySecret: []byte(secret), keyGroups: []byte(strings.Join(s.Groups, ",")),
	}
	if s.Description != "" {
		data[keyDescription] = []byte(s.Description)
	}
	if s.TTL > 0 {
		data[keyExpiration] = []byte(now.Add(s.TTL).UTC().Format(time.RFC3339))
	}
	for _, usage := range s.Usages {
		data[keyUsage+usage] = []byte("true")
	}
	annotations := map[string]string{
		AnnotationClusterName: s.ClusterName, AnnotationRegistration: s.RegistrationID, AnnotationCreatedBy: s.CreatedBy,
	}
	if s.MaxClusters > 0 {
		annotations[AnnotationMaxClusters] = strconv.Itoa(s.MaxClusters)
	}
	maps.DeleteFunc(annotations, func(_, value string) bool { return value == "" })
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: SecretName(id), Namespace: Namespace, Annotations: annotations},
		Type:       SecretType,
		Data:       data,
	}
}

// FromSecret reads a token from its Secret. A Secret that Kubernetes would not
// take for a token is refused, with a reason that holds none of its secrets.
func FromSecret(secret *corev1.Secret, now time.Time) (Token, error) {
	id := string(secret.Data[keyID])
	switch {
	case secret.Type != SecretType:
		return Token{}, fault.Invalid("secret %s is not of type %s", secret.Name, SecretType)
	case !idPattern.MatchString(id):
		return Token{}, fault.Invalid("secret %s has no valid %s", secret.Name, keyID)
	case secret.Name != SecretName(id):
		return Token{}, fault.Invalid("secret %s should be named %s", secret.Name, SecretName(id))
	case !tokenPattern.MatchString(id + "." + string(secret.Data[keySecret])):
		return Token{}, fault.Invalid("secret %s has no valid %s", secret.Name, keySecret)
	}
	token := Token{
		ID:             id,
		Description:    string(secret.Data[keyDescription]),
		Usages:         usagesOf(secret),
		Groups:         splitList(string(secret.Data[keyGroups])),
		CreatedAt:      secret.CreationTimestamp.UTC(),
		ClusterName:    secret.Annotations[AnnotationClusterName],
		UsedBy:         splitList(secret.Annotations[AnnotationUsedBy]),
		CreatedBy:      secret.Annotations[AnnotationCreatedBy],
		RegistrationID: secret.Annotations[AnnotationRegistration],
	}
	if text := string(secret.Data[keyExpiration]); text != "" {
		expires, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return Token{}, fault.Invalid("secret %s has an expiration that is not RFC 3339", secret.Name)
		}
		expires = expires.UTC()
		token.ExpiresAt, token.Expired = &expires, !now.Before(expires)
	}
	if text := secret.Annotations[AnnotationMaxClusters]; text != "" {
		limit, err := strconv.Atoi(text)
		if err != nil || limit < 0 {
			return Token{}, fault.Invalid("secret %s has an annotation %s that is not a number", secret.Name, AnnotationMaxClusters)
		}
		token.MaxClusters = limit
	}
	return token, nil
}

// Text is the whole token, id and secret half, of its Secret. It is for the
// owner of the hub's administrator kubeconfig; REST never calls it.
func Text(secret *corev1.Secret) string {
	return string(secret.Data[keyID]) + "." + string(secret.Data[keySecret])
}

func usagesOf(secret *corev1.Secret) []string {
	usages := []string{}
	for _, usage := range []string{UsageAuthentication, UsageSigning} {
		if string(secret.Data[keyUsage+usage]) == "true" {
			usages = append(usages, usage)
		}
	}
	return usages
}

func splitList(text string) []string {
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
	if parts == nil {
		parts = []string{}
	}
	return parts
}

// Admits says whether the token may register a cluster of this name: nil, or a
// fault with code MU-103 or MU-104. Registering the same name again is always
// admitted while the token lives, so that a failed attempt can be repeated.
func (t Token) Admits(cluster string, now time.Time) error {
	switch {
	case t.ExpiresAt != nil && !now.Before(*t.ExpiresAt):
		return fault.Forbidden("the token %s expired at %s", t.ID, t.ExpiresAt.Format(time.RFC3339)).WithCode(CodeExpired).
			WithFix("make a new token")
	case t.ClusterName != "" && t.ClusterName != cluster:
		return fault.Forbidden("the token %s was made for cluster %s, not for %s", t.ID, t.ClusterName, cluster).WithCode(CodeBound).
			WithFix("make a token for " + cluster + ", or register as " + t.ClusterName)
	case slices.Contains(t.UsedBy, cluster):
		return nil
	case t.MaxClusters > 0 && len(t.UsedBy) >= t.MaxClusters:
		return fault.Forbidden("the token %s has registered all the clusters it may: %s", t.ID, strings.Join(t.UsedBy, ", ")).WithCode(CodeBound).
			WithFix("make a new token for " + cluster)
	}
	return nil
}

// maxUsedBy bounds the names kept of an unlimited token, newest last.
const maxUsedBy = 100

// MarkUsed notes on a token's Secret that it registered a cluster. It reports
// whether the Secret changed.
func MarkUsed(secret *corev1.Secret, cluster string) bool {
	used := splitList(secret.Annotations[AnnotationUsedBy])
	if slices.Contains(used, cluster) {
		return false
	}
	if secret.Annotations == nil {
		secret.Annotations = map[string]string{}
	}
	used = append(used, cluster)
	if extra := len(used) - maxUsedBy; extra > 0 && secret.Annotations[AnnotationMaxClusters] == "" {
		used = used[extra:]
	}
	secret.Annotations[AnnotationUsedBy] = strings.Join(used, ",")
	return true
}
