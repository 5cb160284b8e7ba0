package template

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
)

// ownKeys is part of every key of labels and annotations that Karmada's
// components use (contract section 3.9).
const ownKeys = ".karmada.io"

// changes says what became of a template. content is set where a member would
// see a difference, user where somebody else than the hub's controllers made it,
// claim where another policy has it, or none: members see that by the binding. An
// update of the status alone is none of them.
func changes(old, current *unstructured.Unstructured) (content, user, claim bool) {
	if old == nil || current == nil {
		return true, true, true
	}
	content = (old.GetDeletionTimestamp() == nil) != (current.GetDeletionTimestamp() == nil) || !sameBody(old.Object, current.Object)
	user = content
	for _, pair := range []struct {
		old, current map[string]string
		claim        []string
	}{{old.GetLabels(), current.GetLabels(), claimLabels}, {old.GetAnnotations(), current.GetAnnotations(), claimAnnotations}} {
		if maps.Equal(pair.old, pair.current) {
			continue
		}
		claim = claim || !maps.Equal(only(pair.claim, pair.old), only(pair.claim, pair.current))
		content = content || !maps.Equal(replaced(pair.old, pair.claim, nil), replaced(pair.current, pair.claim, nil))
		user = user || !maps.Equal(foreign(pair.old), foreign(pair.current))
	}
	return content, user, claim
}

func only(keys []string, all map[string]string) map[string]string {
	kept := maps.Clone(all)
	maps.DeleteFunc(kept, func(key, _ string) bool { return !slices.Contains(keys, key) })
	return kept
}

// sameBody compares all but metadata and status.
func sameBody(a, b map[string]any) bool {
	return covers(a, b) && covers(b, a)
}

func covers(a, b map[string]any) bool {
	for key, value := range a {
		if key == "metadata" || key == "status" {
			continue
		}
		other, ok := b[key]
		if !ok || !equality.Semantic.DeepEqual(value, other) {
			return false
		}
	}
	return true
}

func foreign(all map[string]string) map[string]string {
	kept := maps.Clone(all)
	maps.DeleteFunc(kept, func(key, _ string) bool { return strings.Contains(key, ownKeys) })
	return kept
}

// mark is what has happened to a template since it was last handled.
type mark uint8

const (
	// markContent: a member would see a difference.
	markContent mark = 1 << iota
	// markUser: somebody else than the hub's controllers has changed it.
	markUser
	// markPolicy: a policy that means it, or meant it, has changed.
	markPolicy
	// markInitial: it was there when the hub started.
	markInitial
)

func (m mark) has(other mark) bool { return m&other != 0 }

// follows says whether a binding takes over what its policy says now. With lazy
// activation it does so only when somebody changes the template (contract
// section 8.2). What was there when the hub started may have come a moment before
// that: it counts as changed unless the policy is the younger one, or the binding
// there.
func follows(p PolicyObject, o *unstructured.Unstructured, m mark, bound bool) bool {
	if SpecOf(p).ActivationPreference != policyv1alpha1.LazyActivation || m.has(markUser) {
		return true
	}
	policyMade, made := p.GetCreationTimestamp(), o.GetCreationTimestamp()
	return m.has(markInitial) && !bound && !made.Before(&policyMade)
}
