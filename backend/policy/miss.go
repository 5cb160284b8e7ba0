package policy

import (
	"fmt"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
)

// Why a selector means no object.
const (
	// CauseNoKind: the hub serves no such kind.
	CauseNoKind = "no-kind"
	// CauseOtherVersion: the hub propagates the kind in another version, which
	// Miss.Instead names.
	CauseOtherVersion = "other-version"
	// CauseKindKept: objects of the kind are never propagated.
	CauseKindKept = "kind-kept"
	// CauseNoNamespace: there is no such namespace.
	CauseNoNamespace = "no-namespace"
	// CauseNamespaceKept: nothing is propagated from the namespace.
	CauseNamespaceKept = "namespace-kept"
	// CauseNoName: there is no object of the name; Miss.Instead is a namespace
	// that has one.
	CauseNoName = "no-name"
	// CauseNoLabels: no object of the kind has the labels.
	CauseNoLabels = "no-labels"
	// CauseNoObject: there is no object of the kind.
	CauseNoObject = "no-object"
)

// Miss is a selector that means no object of the hub, and why.
type Miss struct {
	Selector Selector `json:"selector"`
	Cause    string   `json:"cause" enums:"no-kind,other-version,kind-kept,no-namespace,namespace-kept,no-name,no-labels,no-object"`
	// Instead is what there is: the version that is served, or another namespace
	// with an object of the name.
	Instead string `json:"instead,omitempty" validate:"optional"`
}

// SelectorOf shows a selector. Labels beside a name do not count and are left out.
func SelectorOf(s *policyv1alpha1.ResourceSelector) Selector {
	shown := Selector{APIVersion: s.APIVersion, Kind: s.Kind, Namespace: s.Namespace, Name: s.Name}
	if s.LabelSelector != nil && s.Name == "" {
		shown.LabelSelector = metav1.FormatLabelSelector(s.LabelSelector)
	}
	return shown
}

// String says what is missing and what to do about it.
func (m *Miss) String() string {
	s := &m.Selector
	kind, place := s.APIVersion+" "+s.Kind, "on the hub"
	if s.Namespace != "" {
		place = "in namespace " + s.Namespace
	}
	switch m.Cause {
	case CauseNoKind:
		return fmt.Sprintf("the hub serves no %s: install its definition, or correct apiVersion and kind", kind)
	case CauseOtherVersion:
		return fmt.Sprintf("the hub propagates %s as %s, not as %s: correct apiVersion", s.Kind, m.Instead, s.APIVersion)
	case CauseKindKept:
		return fmt.Sprintf("objects of %s stay on the hub: choose another kind", kind)
	case CauseNoNamespace:
		return fmt.Sprintf("there is no namespace %s: create it, or correct the selector", s.Namespace)
	case CauseNamespaceKept:
		return fmt.Sprintf("nothing is propagated from namespace %s: move the objects to another", s.Namespace)
	case CauseNoName:
		text := fmt.Sprintf("there is no %s %s %s: create it, or correct the selector", s.Kind, s.Name, place)
		if m.Instead != "" {
			text += fmt.Sprintf("; namespace %s has one", m.Instead)
		}
		return text
	case CauseNoLabels:
		return fmt.Sprintf("no %s %s has the labels %s: label one, or correct the selector", s.Kind, place, s.LabelSelector)
	}
	return fmt.Sprintf("there is no %s %s: create one, or correct the selector", s.Kind, place)
}

// missesTold is how many selectors an Event names.
const missesTold = 3

// TellMisses says in a sentence why a policy selects nothing.
func TellMisses(misses []Miss) string {
	var texts []string
	for i := range misses[:min(missesTold, len(misses))] {
		texts = append(texts, misses[i].String())
	}
	text := "the policy selects nothing: " + strings.Join(texts, "; ")
	if more := len(misses) - missesTold; more > 0 {
		text += fmt.Sprintf("; and %d more selectors", more)
	}
	return text
}

// Misses are the policies that select nothing, each with what its selectors miss.
// One controller tells it, the Service shows it.
type Misses struct {
	mu      sync.RWMutex
	of      map[Target][]Miss
	changed func(Target)
}

// Target names a policy.
type Target struct {
	// Resource is its kind as in paths; Namespace is empty for a cluster-scoped one.
	Resource, Namespace, Name string
}

// NewMisses returns an empty Misses.
func NewMisses() *Misses { return &Misses{of: map[Target][]Miss{}} }

// Set takes in what a policy misses; nil stands for a policy that selects
// something, or is gone.
func (m *Misses) Set(target Target, misses []Miss) {
	m.mu.Lock()
	if len(misses) > 0 {
		m.of[target] = misses
	} else {
		delete(m.of, target)
	}
	changed := m.changed
	m.mu.Unlock()
	if changed != nil {
		changed(target)
	}
}

// Of is what a policy misses, nil if it selects something as far as is known.
func (m *Misses) Of(target Target) []Miss {
	if m == nil {
		return nil
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.of[target]
}

// follow has changed told of every change from now on.
func (m *Misses) follow(changed func(Target)) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changed = changed
}
