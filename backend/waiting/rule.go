package waiting

import (
	"crypto/rand"
	"fmt"
	"path"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"muster.dev/muster/backend/fault"
)

// Kinds of approval rules: by whom an agent is introduced, by a label of the
// bootstrap token that it came with, by the name of its cluster.
const (
	RuleIdentity    = "identity"
	RuleTokenLabel  = "token-label"
	RuleClusterName = "cluster-name"
)

// Where a rule comes from.
const (
	RuleFromDashboard = "dashboard"
	RuleFromFlag      = "flag"
)

// Limits of a rule's texts, in bytes.
const (
	maxRuleValue = 253
	maxRuleNote  = 256
)

// Rule lets agents in without a person. There is none unless somebody makes one.
type Rule struct {
	ID   string `json:"id"`
	Kind string `json:"kind" enums:"identity,token-label,cluster-name"`
	// Value is a user name, key=value pairs with commas between, or a pattern of
	// cluster names in which * stands for any text and ? for one character.
	Value string `json:"value"`
	// Approve gives the certificate.
	Approve bool `json:"approve"`
	// Accept accepts the cluster.
	Accept bool   `json:"accept"`
	Note   string `json:"note,omitempty" validate:"optional"`
	// Source is flag for a rule of the command line, which only a restart changes.
	Source    string    `json:"source" enums:"dashboard,flag"`
	CreatedBy string    `json:"createdBy,omitempty" validate:"optional"`
	CreatedAt time.Time `json:"createdAt"`
	// Uses is how many consents it gave.
	Uses       int64      `json:"uses"`
	LastUsedAt *time.Time `json:"lastUsedAt,omitempty" validate:"optional"`
}

// String is how audit and conditions name the rule.
func (r *Rule) String() string { return r.Kind + " " + r.Value }

// NewRuleID draws the id of a rule.
func NewRuleID() string { return strings.ToLower(rand.Text()[:12]) }

// strangers are identities that anybody has.
var strangers = map[string]bool{"system:anonymous": true, "system:unauthenticated": true, "system:authenticated": true}

// Validate checks a rule, naming the field that is wrong.
func (r *Rule) Validate() error {
	refuse := func(field, format string, a ...any) error {
		text := fmt.Sprintf(format, a...)
		return fault.Invalid("this makes no approval rule: %s", text).WithField(field, text)
	}
	switch {
	case r.Value == "" || strings.TrimSpace(r.Value) != r.Value:
		return refuse("value", "the value is empty or begins or ends with a blank")
	case len(r.Value) > maxRuleValue:
		return refuse("value", "the value is longer than %d bytes", maxRuleValue)
	case strings.ContainsFunc(r.Value+r.Note, isControl):
		return refuse("value", "value and note are one line of text each")
	case len(r.Note) > maxRuleNote:
		return refuse("note", "the note is longer than %d bytes", maxRuleNote)
	case !r.Approve && !r.Accept:
		return refuse("approve", "a rule approves, accepts, or both")
	}
	switch r.Kind {
	case RuleIdentity:
		if strangers[r.Value] {
			return refuse("value", "%s is everybody", r.Value)
		}
	case RuleTokenLabel:
		if pairs, err := labels.ConvertSelectorToLabelsMap(r.Value); err != nil || len(pairs) == 0 {
			return refuse("value", "write labels as key=value, with commas between")
		}
	case RuleClusterName:
		if strings.Trim(r.Value, "abcdefghijklmnopqrstuvwxyz0123456789-*?") != "" {
			return refuse("value", "a pattern holds small letters, digits and dashes, * and ?")
		}
	default:
		return refuse("kind", "the kind is identity, token-label or cluster-name")
	}
	return nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// candidate is what rules look at.
type candidate struct {
	cluster, identity string
	token             map[string]string
}

// fits says whether a valid rule means a candidate.
func (r *Rule) fits(c candidate) bool {
	switch r.Kind {
	case RuleIdentity:
		return r.Value == c.identity
	case RuleTokenLabel:
		pairs, err := labels.ConvertSelectorToLabelsMap(r.Value)
		return err == nil && len(pairs) > 0 && labels.SelectorFromSet(pairs).Matches(labels.Set(c.token))
	case RuleClusterName:
		matched, err := path.Match(r.Value, c.cluster)
		return err == nil && matched
	}
	return false
}
