package interpret

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/clock"

	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
)

// webhook asks a server that somebody else runs.
type webhook struct {
	source  string // "webhook CONFIGURATION/NAME"
	spec    configv1alpha1.ResourceInterpreterWebhook
	client  *webhookClient
	breaker *breaker
}

// SetWebhooks replaces the webhook configurations. Configurations are asked in
// the order of their names, the webhooks of one in their own order. The list must
// not be changed afterwards.
func (i *Interpreter) SetWebhooks(list []configv1alpha1.ResourceInterpreterWebhookConfiguration) {
	defer i.fed.got(listWebhooks)
	i.mu.Lock()
	i.lists.webhooks = list
	i.mu.Unlock()
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b configv1alpha1.ResourceInterpreterWebhookConfiguration) int {
		return strings.Compare(a.Name, b.Name)
	})
	i.mu.Lock()
	old := i.rules.webhooks
	var next []*webhook
	for n := range list {
		for _, spec := range list[n].Webhooks {
			hook := newWebhook(list[n].Name, spec)
			same := slices.IndexFunc(old, func(known *webhook) bool {
				return known.source == hook.source && equality.Semantic.DeepEqual(known.spec, hook.spec)
			})
			if same >= 0 {
				hook = old[same]
			}
			next = append(next, hook)
		}
	}
	i.rules.webhooks = next
	i.mu.Unlock()
	var changed []*webhook
	for _, hook := range slices.Concat(old, next) {
		if !slices.Contains(old, hook) || !slices.Contains(next, hook) {
			changed = append(changed, hook)
		}
	}
	i.tell(func(kind schema.GroupVersionKind) bool {
		return slices.ContainsFunc(changed, func(h *webhook) bool { return h.about(kind) })
	})
}

func newWebhook(configuration string, spec configv1alpha1.ResourceInterpreterWebhook) *webhook {
	return &webhook{source: "webhook " + configuration + "/" + spec.Name, spec: *spec.DeepCopy(),
		client: newWebhookClient(&spec), breaker: &breaker{clock: clock.RealClock{}}}
}

// about says whether any operation on a kind is asked.
func (w *webhook) about(kind schema.GroupVersionKind) bool {
	return slices.ContainsFunc(Operations, func(o Operation) bool { return w.answers(o, kind) })
}

// answers says whether an operation on a kind is asked.
func (w *webhook) answers(operation Operation, kind schema.GroupVersionKind) bool {
	has := func(list []string, value string) bool {
		return slices.Contains(list, "*") || slices.Contains(list, value)
	}
	return slices.ContainsFunc(w.spec.Rules, func(r configv1alpha1.RuleWithOperations) bool {
		return (slices.Contains(r.Operations, configv1alpha1.InterpreterOperationAll) || slices.Contains(r.Operations, operation)) &&
			has(r.APIGroups, kind.Group) && has(r.APIVersions, kind.Version) && has(r.Kinds, kind.Kind)
	})
}

// ask implements rule.
func (w *webhook) ask(ctx context.Context, q *Question) (*Answer, error) {
	if err := w.breaker.refuse(); err != nil {
		return nil, w.wrap(q, err)
	}
	request, err := w.request(q)
	if err != nil {
		w.breaker.done(nil)
		return nil, w.wrap(q, err)
	}
	response, err := w.client.ask(ctx, request)
	if ctx.Err() != nil {
		w.breaker.abandoned()
		return nil, ctx.Err()
	}
	var silent *silentError
	if errors.As(err, &silent) && !silent.busy {
		w.breaker.done(err)
	} else {
		w.breaker.done(nil)
	}
	if err != nil {
		return nil, w.wrap(q, err)
	}
	a, err := readResponse(q, response)
	if err != nil {
		return nil, w.wrap(q, err)
	}
	return a, nil
}

func (w *webhook) wrap(q *Question, err error) error {
	e := &Error{Source: w.source, Operation: q.Operation, Object: describe(q.Object), Reason: err.Error(), Fix: "correct what the webhook answers"}
	var silent *silentError
	if errors.As(err, &silent) {
		e.Fix = "see whether it runs at " + w.client.address + " and whether caBundle is right"
	}
	return e
}

// contextVersion is the version of the review object that we speak.
const contextVersion = "v1alpha1"

func (w *webhook) request(q *Question) (*configv1alpha1.ResourceInterpreterRequest, error) {
	if !slices.Contains(w.spec.InterpreterContextVersions, contextVersion) {
		return nil, fmt.Errorf("it understands %s only, not %s", strings.Join(w.spec.InterpreterContextVersions, ", "), contextVersion)
	}
	kind := q.Object.GroupVersionKind()
	r := &configv1alpha1.ResourceInterpreterRequest{
		UID: uuid.NewUUID(), Kind: metav1.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind},
		Name: q.Object.GetName(), Namespace: q.Object.GetNamespace(), Operation: q.Operation, AggregatedStatus: q.Items,
	}
	raw, err := json.Marshal(q.Object.Object)
	if err != nil {
		return nil, fmt.Errorf("encode the object: %w", err)
	}
	r.Object.Raw = raw
	if q.Observed != nil {
		if raw, err = json.Marshal(q.Observed.Object); err != nil {
			return nil, fmt.Errorf("encode the observed object: %w", err)
		}
		r.ObservedObject = &runtime.RawExtension{Raw: raw}
	}
	if q.Operation == configv1alpha1.InterpreterOperationReviseReplica {
		r.DesiredReplicas = &q.Replicas
	}
	return r, nil
}

// readResponse checks an answer and takes from it what the question is about.
func readResponse(q *Question, r *configv1alpha1.ResourceInterpreterResponse) (*Answer, error) {
	if !r.Successful {
		why := "it says that it cannot answer"
		if r.Status != nil && r.Status.Message != "" {
			why = fmt.Sprintf("it says: %s (%d)", clip([]byte(r.Status.Message)), r.Status.Code)
		}
		return nil, errors.New(why)
	}
	a := &Answer{}
	switch q.Operation {
	case configv1alpha1.InterpreterOperationInterpretReplica:
		if r.Replicas == nil || *r.Replicas < 0 {
			return nil, errors.New("its answer has no replicas")
		}
		a.Replicas, a.Need = *r.Replicas, r.ReplicaRequirements
	case configv1alpha1.InterpreterOperationInterpretComponent:
		a.Components = r.Components
	case configv1alpha1.InterpreterOperationInterpretHealth:
		if r.Healthy == nil {
			return nil, errors.New("its answer has no healthy")
		}
		a.Healthy = *r.Healthy
	case configv1alpha1.InterpreterOperationInterpretStatus:
		if r.RawStatus != nil && !nothing(r.RawStatus.Raw) {
			a.Status = r.RawStatus
		}
	case configv1alpha1.InterpreterOperationInterpretDependency:
		a.Dependencies = r.Dependencies
		return a, checkDependencies(a)
	default:
		var err error
		a.Object, err = patched(q.Object, r)
		return a, err
	}
	return a, nil
}

// patched returns the object as the answer's patch makes it.
func patched(o *unstructured.Unstructured, r *configv1alpha1.ResourceInterpreterResponse) (*unstructured.Unstructured, error) {
	if len(r.Patch) == 0 {
		return o.DeepCopy(), nil
	}
	if r.PatchType == nil || *r.PatchType != configv1alpha1.PatchTypeJSONPatch {
		return nil, fmt.Errorf("its patch is not of type %s", configv1alpha1.PatchTypeJSONPatch)
	}
	patch, err := jsonpatch.DecodePatch(r.Patch)
	if err != nil {
		return nil, errors.New("its patch is no JSON patch")
	}
	before, err := json.Marshal(o.Object)
	if err != nil {
		return nil, fmt.Errorf("encode the object: %w", err)
	}
	after, err := patch.Apply(before)
	if err != nil {
		return nil, fmt.Errorf("its patch does not fit the object: %w", err)
	}
	changed, err := decodeObject(after)
	if err != nil {
		return nil, err
	}
	return changed, sameObject(o, changed)
}
