package apply

import (
	"crypto/sha256"
	"encoding/json"
	"errors"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/backend/apis/work/manifest"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

// action is what to do with one object of the member.
type action int

const (
	create   action = iota // it is absent
	update                 // it is ours, or to be taken over, and differs
	nothing                // it is what it should be
	conflict               // it exists and is not ours
	wait                   // it is ours, but being deleted
)

// decide compares what a Work wants with what the member has (nil if nothing).
// unchanged says that both are those of which we know that nothing is to be done.
// For update it also returns the object to send, which retain makes of the two.
func decide(desired, observed *unstructured.Unstructured, unchanged bool, retain retainer) (action, *unstructured.Unstructured, error) {
	if observed == nil {
		return create, nil, nil
	}
	overwrite := desired.GetAnnotations()[workv1alpha1.ConflictResolutionAnnotation] == workv1alpha1.ConflictResolutionOverwrite
	if !managed(observed) && !overwrite {
		return conflict, nil, nil
	}
	if observed.GetDeletionTimestamp() != nil {
		return wait, nil, nil
	}
	if managed(observed) && unchanged {
		return nothing, nil, nil
	}
	merged, err := retain(desired, observed)
	if err != nil {
		return nothing, nil, err
	}
	if managed(observed) && equal(merged, observed) {
		return nothing, nil, nil
	}
	return update, merged, nil
}

// retainer returns desired with what belongs to the member.
type retainer func(desired, observed *unstructured.Unstructured) (*unstructured.Unstructured, error)

func equal(a, b *unstructured.Unstructured) bool {
	a, b = a.DeepCopy(), b.DeepCopy()
	manifest.Prune(a)
	manifest.Prune(b)
	return equality.Semantic.DeepEqual(a.Object, b.Object)
}

// memo remembers a pair of which we know that it needs no update: what was
// wanted, and what the server made of it. Servers fill in defaults, so that the
// two seldom look equal.
type memo struct {
	desired, observed [sha256.Size]byte
	version           string // of the object observed
}

// remember makes a memo of a manifest and an object of the member. What is known
// of the same version of the object is not computed again.
func remember(manifest []byte, observed *unstructured.Unstructured, last memo) memo {
	now := memo{desired: sha256.Sum256(manifest), observed: last.observed, version: observed.GetResourceVersion()}
	if now.version == "" || now.version != last.version {
		now.observed = hash(observed)
	}
	return now
}

// same says whether two memos are of the same pair: an object whose version
// changed and nothing else that we care for is the same.
func (m memo) same(other memo) bool {
	return m.desired == other.desired && m.observed == other.observed
}

func hash(o *unstructured.Unstructured) [sha256.Size]byte {
	pruned := o.DeepCopy()
	manifest.Prune(pruned)
	data, err := json.Marshal(pruned.Object) // keys are sorted
	if err != nil {
		return [sha256.Size]byte{}
	}
	return sha256.Sum256(data)
}

// errConflict says that an object exists which we may not touch. Which one, the
// caller says.
var errConflict = errors.New("it exists in the cluster and is not managed by the hub, which leaves it alone; to take it over, set the annotation " +
	workv1alpha1.ConflictResolutionAnnotation + "=" + workv1alpha1.ConflictResolutionOverwrite + " on the template")
