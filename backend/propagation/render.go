package propagation

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/apis/work/manifest"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/override"
	"muster.dev/muster/backend/propagation/work"
)

// Reviser writes the number of replicas into an object of any kind.
// *interpret.Interpreter is one.
type Reviser interface {
	Revise(ctx context.Context, o *unstructured.Unstructured, replicas int32) (*unstructured.Unstructured, error)
}

// Source is what the Works of a binding are made from. None of it is changed.
type Source struct {
	// Template is the object of the hub.
	Template *unstructured.Unstructured
	// Binding says where it goes.
	Binding workv1alpha2.Binding
	// Overrides are policies in any order; those that do not mean the template
	// are left out.
	Overrides override.Policies
}

// Rendered is a template as a cluster gets it. Clusters that get the same share
// it, so it must not be changed.
type Rendered struct {
	// Object is without what belongs to the hub, and without the hub's marks.
	Object *unstructured.Unstructured
	// Cluster and Namespaced are the overrides that were applied.
	Cluster, Namespaced []override.Applied
	// Changes are what the overrides changed.
	Changes []override.Change

	form *work.Form
}

// Renderer makes the Works of one binding. What clusters get alike is made once.
// Its methods may be called side by side.
type Renderer struct {
	source      Source
	reviser     Reviser
	selected    override.Policies
	completions map[string]int64 // of a divided Job, by cluster

	mu   sync.Mutex
	made map[string]*rendering
}

// rendering is one distinct result, made by the first who asks.
type rendering struct {
	once   sync.Once
	result *Rendered
	err    error
}

// NewRenderer returns a renderer.
func NewRenderer(source Source, reviser Reviser) *Renderer {
	return &Renderer{
		source: source, reviser: reviser,
		selected:    override.Select(source.Overrides, source.Template),
		completions: completions(source.Template, source.Binding.BindingSpec()),
		made:        map[string]*rendering{},
	}
}

// Render makes what one target gets, for callers that need no other.
func Render(ctx context.Context, source Source, reviser Reviser, target Target, cluster *clusterv1alpha1.Cluster) (*Rendered, error) {
	return NewRenderer(source, reviser).Render(ctx, target, cluster)
}

// Render makes what a target gets (contract section 11.1): the template with the
// target's replicas, then the overrides. An error names the policy at fault.
func (r *Renderer) Render(ctx context.Context, target Target, cluster *clusterv1alpha1.Cluster) (*Rendered, error) {
	state := r.preserved(target)
	key := r.key(target, cluster, state)
	r.mu.Lock()
	one := r.made[key]
	if one == nil {
		one = &rendering{}
		r.made[key] = one
	}
	r.mu.Unlock()
	one.once.Do(func() { one.result, one.err = r.render(ctx, target, cluster, state) })
	return one.result, one.err
}

// key is equal for targets that get the same.
func (r *Renderer) key(target Target, cluster *clusterv1alpha1.Cluster, state map[string]string) string {
	var b strings.Builder
	if target.Scheduled && isWorkload(r.source.Binding.BindingSpec()) {
		b.WriteString(strconv.Itoa(int(target.Replicas)))
	}
	if n, ok := r.completions[target.Cluster]; ok {
		fmt.Fprintf(&b, " of %d", n)
	}
	if len(state) > 0 {
		encoded, _ := json.Marshal(state) // maps of strings always encode
		b.Write(encoded)
	}
	b.WriteByte('\n')
	b.WriteString(override.Signature(cluster, r.selected))
	return b.String()
}

// preserved are the labels that the copies of an application take along when it
// fails over: they go to clusters that did not run it before.
func (r *Renderer) preserved(target Target) map[string]string {
	var state map[string]string
	tasks := r.source.Binding.BindingSpec().GracefulEvictionTasks
	for i := range tasks {
		task := &tasks[i]
		if !target.Scheduled || len(task.PreservedLabelState) == 0 || task.FromCluster == target.Cluster || slices.Contains(task.ClustersBeforeFailover, target.Cluster) {
			continue
		}
		if state == nil {
			state = map[string]string{}
		}
		for key, value := range task.PreservedLabelState {
			state[key] = value
		}
	}
	return state
}

func (r *Renderer) render(ctx context.Context, target Target, cluster *clusterv1alpha1.Cluster, state map[string]string) (*Rendered, error) {
	object := r.source.Template
	if target.Scheduled && isWorkload(r.source.Binding.BindingSpec()) {
		revised, err := r.reviser.Revise(ctx, object, target.Replicas)
		if err != nil {
			return nil, fmt.Errorf("set replicas of %s: %w", title(object), err)
		}
		object = revised
	}
	if n, ok := r.completions[target.Cluster]; ok {
		object = object.DeepCopy()
		if err := unstructured.SetNestedField(object.Object, n, "spec", "completions"); err != nil {
			return nil, fmt.Errorf("set completions of %s: %w", title(object), err)
		}
	}
	if len(state) > 0 {
		object = object.DeepCopy()
		labels := maps.Clone(object.GetLabels())
		if labels == nil {
			labels = map[string]string{}
		}
		maps.Copy(labels, state)
		object.SetLabels(labels)
	}
	overridden, err := override.Apply(object, cluster, r.selected)
	if err != nil {
		return nil, &overrideError{err}
	}
	manifest.Prune(overridden.Object)
	rendered := &Rendered{Object: overridden.Object, Cluster: overridden.Cluster, Namespaced: overridden.Namespaced, Changes: overridden.Changes}
	if rendered.form, err = work.NewForm(rendered.Object, r.marks()); err != nil {
		return nil, err
	}
	return rendered, nil
}

// overrideError tells a policy's failure from others: it has an event of its own.
type overrideError struct{ error }

// Unwrap lets callers look at the policy's error.
func (e *overrideError) Unwrap() error { return e.error }

// marks are what the hub puts on the object besides the marks of its Work
// (contract section 11.3).
func (r *Renderer) marks() work.Marks {
	template, binding := r.source.Template, r.source.Binding
	key, id := binding.PermanentID()
	m := work.Marks{
		Labels: map[string]string{apis.ManagedLabel: apis.LabelTrue, key: id},
		Annotations: map[string]string{
			apis.TemplateUIDAnnotation:                string(template.GetUID()),
			workv1alpha1.ConflictResolutionAnnotation: r.conflictResolution(),
		},
	}
	for key, value := range backReference(binding) {
		m.Annotations[key] = value
	}
	if generation := template.GetGeneration(); generation > 0 {
		m.Annotations[apis.TemplateGenerationAnnotation] = strconv.FormatInt(generation, 10)
	}
	return m
}

// backReference are the annotations by which a Work or object names its binding.
func backReference(binding workv1alpha2.Binding) map[string]string {
	if binding.GetNamespace() == "" {
		return map[string]string{workv1alpha2.ClusterResourceBindingNameAnnotation: binding.GetName()}
	}
	return map[string]string{
		workv1alpha2.ResourceBindingNamespaceAnnotation: binding.GetNamespace(),
		workv1alpha2.ResourceBindingNameAnnotation:      binding.GetName(),
	}
}

// conflictResolution says what happens to an object that a member already has.
// The template's own word counts more than the policy's.
func (r *Renderer) conflictResolution() string {
	switch own := r.source.Template.GetAnnotations()[workv1alpha1.ConflictResolutionAnnotation]; {
	case own != "" && knownConflictResolution(own):
		return own
	case r.source.Binding.BindingSpec().ConflictResolution == policyv1alpha1.ConflictOverwrite:
		return workv1alpha1.ConflictResolutionOverwrite
	}
	return workv1alpha1.ConflictResolutionAbort
}

func knownConflictResolution(value string) bool {
	return value == "" || value == workv1alpha1.ConflictResolutionOverwrite || value == workv1alpha1.ConflictResolutionAbort
}

// oddConflictResolution says that the template asks for a conflict resolution that
// there is none of, and what to write; "" if it does not.
func (r *Renderer) oddConflictResolution() string {
	asks := r.source.Template.GetAnnotations()[workv1alpha1.ConflictResolutionAnnotation]
	if knownConflictResolution(asks) {
		return ""
	}
	return fmt.Sprintf("annotation %s is %.40q, which means nothing: where a member has the object already, its policy decides (%s); write %q to take that over or %q to leave it alone, or take the annotation away",
		workv1alpha1.ConflictResolutionAnnotation, asks, r.conflictResolution(), workv1alpha1.ConflictResolutionOverwrite, workv1alpha1.ConflictResolutionAbort)
}

// task returns what a target of the binding is to get.
func (r *Renderer) task(target Target, rendered *Rendered) (*work.Task, error) {
	spec := r.source.Binding.BindingSpec()
	key, id := r.source.Binding.PermanentID()
	t := &work.Task{
		Cluster: target.Cluster, Form: rendered.form,
		Labels: map[string]string{key: id}, Annotations: backReference(r.source.Binding),
		Suspend:  ptr.To(suspended(spec, target.Cluster)),
		Preserve: ptr.To(ptr.Deref(spec.PreserveResourcesOnDeletion, false)),
	}
	t.Annotations[workv1alpha1.ConflictResolutionAnnotation] = r.conflictResolution()
	return t, t.NoteOverrides(rendered.Cluster, rendered.Namespaced)
}

// title names an object in messages: "Deployment default/nginx".
func title(o *unstructured.Unstructured) string {
	if namespace := o.GetNamespace(); namespace != "" {
		return o.GetKind() + " " + namespace + "/" + o.GetName()
	}
	return o.GetKind() + " " + o.GetName()
}
