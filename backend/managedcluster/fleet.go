package managedcluster

import (
	"encoding/json"
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The fleet shows every member in both dialects (contract section 5). The object
// that a member was registered by speaks for itself; the other one is its mirror,
// marked by registration.AnnotationOrigin and written by the FleetReconciler:
//
//	ManagedCluster, accepted ──► Cluster         syncMode Pull, tainted by registration.TaintOtherDialect
//	Cluster ──► ManagedCluster                   accepted by its creator, Joined
//	both of their own making                     nothing is mirrored
//
// A mirror is never the source of a mirror, so nothing runs in circles. What is
// brought over are facts of the member (its writer there: the mirror alone) and
// settings of users, where each change is brought once: whoever sets the same on
// the mirror afterwards keeps it. System taints and the label domains of either
// project stay where they are.

// annotationBrought on a mirror holds, as JSON, what was last brought to it.
const annotationBrought = "muster.dev/brought"

// Reasons of Events about mirrors.
const (
	EventMirrorRefused  = "MirrorRefused"
	EventRemovalCarried = "RemovalCarriedOver"
)

// brought is what a mirror was last given of settings that others may change on
// it as well.
type brought struct {
	Labels map[string]string `json:"labels,omitempty"`
	// Taints are values by key; their effect is the same for all.
	Taints map[string]string `json:"taints,omitempty"`
	Fields map[string]string `json:"fields,omitempty"`
}

// broughtTo reads what a mirror was last given. What cannot be read counts as
// nothing: then whatever is on the mirror is left there.
func broughtTo(mirror metav1.Object) brought {
	var last brought
	if json.Unmarshal([]byte(mirror.GetAnnotations()[annotationBrought]), &last) != nil {
		return brought{}
	}
	return last
}

// note writes it down.
func (b brought) note(mirror metav1.Object) error {
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	annotations := maps.Clone(mirror.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[annotationBrought] = string(text)
	mirror.SetAnnotations(annotations)
	return nil
}

// bring returns the mirror's values after the changes of the origin since they
// were last brought. A value that somebody changed on the mirror meanwhile stays.
// Brought twice, nothing changes any more.
func bring(last, origin, mirror map[string]string) map[string]string {
	after := maps.Clone(mirror)
	if after == nil {
		after = map[string]string{}
	}
	keys := maps.Clone(last)
	if keys == nil {
		keys = map[string]string{}
	}
	maps.Copy(keys, origin)
	for key := range keys {
		before, had := last[key]
		now, has := origin[key]
		if had == has && before == now {
			continue // nothing new from the origin
		}
		if there, is := mirror[key]; is != had || there != before {
			continue // somebody else's by now
		}
		if has {
			after[key] = now
		} else {
			delete(after, key)
		}
	}
	return after
}

// systemDomains are those of labels and taints that mean something to a dialect
// or to us.
var systemDomains = []string{"karmada.io", "open-cluster-management.io", "muster.dev"}

// users tells that the key of a label or taint is not of a system's domain.
func users(key string) bool {
	domain, _, ok := strings.Cut(key, "/")
	if !ok {
		return true
	}
	for _, system := range systemDomains {
		if domain == system || strings.HasSuffix(domain, "."+system) {
			return false
		}
	}
	return true
}

func userLabels(labels map[string]string) map[string]string {
	kept := map[string]string{}
	for key, value := range labels {
		if users(key) {
			kept[key] = value
		}
	}
	return kept
}
