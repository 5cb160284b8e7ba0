package author

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	kjson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/policy"
	"muster.dev/muster/backend/template"
	"muster.dev/muster/backend/workload/manifest"
)

const (
	// codeInvalid is the code of an object that makes no sense.
	codeInvalid = "invalid-object"
	// codeExists is the code of an object that is there already.
	codeExists = "exists"
	// codeStale is the code of a change that somebody else's overtook.
	codeStale = "stale"
)

// read reads the one object of a text, without what servers set.
func read(text string) (*unstructured.Unstructured, error) {
	refuse := func(message string) error {
		return fault.Senseless("this is not the YAML of one object: %s", message).WithCode(codeInvalid).WithField("", message)
	}
	if documents(text) > 1 {
		return nil, refuse("it holds several objects; make them one after the other")
	}
	data, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		return nil, refuse(strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "))
	}
	object := &unstructured.Unstructured{}
	if err := kjson.Unmarshal(data, &object.Object); err != nil || len(object.Object) == 0 {
		return nil, refuse("there is no object in it")
	}
	problem := fault.Senseless("the object does not say what it is").WithCode(codeInvalid)
	metadata, _ := object.Object["metadata"].(map[string]any)
	for _, needed := range []struct {
		in         map[string]any
		key, field string
	}{{object.Object, "apiVersion", "apiVersion"}, {object.Object, "kind", "kind"}, {metadata, "name", "metadata.name"}} {
		if value, ok := needed.in[needed.key].(string); !ok || value == "" {
			problem.WithField(needed.field, "is required, a text")
		}
	}
	if value, given := metadata["namespace"]; given {
		if _, ok := value.(string); !ok {
			problem.WithField("metadata.namespace", "must be a text")
		}
	}
	if len(problem.Fields) > 0 {
		return nil, problem
	}
	delete(object.Object, "status")
	for _, key := range []string{"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink"} {
		delete(metadata, key)
	}
	return object, nil
}

// documents counts the documents of a text that hold more than comments.
func documents(text string) int {
	n := 0
	for reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text))); ; {
		document, err := reader.Read()
		if err != nil {
			return n
		}
		for line := range strings.Lines(string(document)) {
			if line = strings.TrimSpace(line); line != "" && line != "---" && !strings.HasPrefix(line, "#") {
				n++
				break
			}
		}
	}
}

// difference is what a change makes of the text that it began with: a JSON merge
// patch, in which null takes a field away.
type difference struct {
	ref         template.Ref
	base, patch map[string]any
}

// patchOf reads a change.
func patchOf(ref template.Ref, changed Changed) (difference, error) {
	base, err := read(changed.Base)
	if err != nil {
		return difference{}, fault.Invalid("the text that the change began with cannot be read").WithField("base", "is not the YAML of one object").Wrap(err)
	}
	desired, err := read(changed.YAML)
	if err != nil {
		return difference{}, err
	}
	if desired.GetNamespace() == "" && ref.Namespace != "" {
		desired.SetNamespace(base.GetNamespace())
	}
	if template.RefOf(desired) != template.RefOf(base) || template.RefOf(base) != ref {
		return difference{}, fault.Senseless("%s cannot become another object", ref).WithCode(codeInvalid).
			WithField("metadata.name", "apiVersion, kind, namespace and name stay as they are").WithFix("make a new object instead")
	}
	if err := kept(ref); err != nil {
		return difference{}, err
	}
	keepMaps(base, desired)
	return difference{ref, base.Object, mergePatch(base.Object, desired.Object)}, nil
}

// keepMaps lets a text without any labels or annotations take away those that the
// change began with, and none that it never showed: the editor leaves out what the
// hub notes there for itself.
func keepMaps(base, desired *unstructured.Unstructured) {
	if len(base.GetLabels()) > 0 && desired.GetLabels() == nil {
		_ = unstructured.SetNestedMap(desired.Object, map[string]any{}, "metadata", "labels")
	}
	if len(base.GetAnnotations()) > 0 && desired.GetAnnotations() == nil {
		_ = unstructured.SetNestedMap(desired.Object, map[string]any{}, "metadata", "annotations")
	}
}

// at is the patch for the object of one version only.
func (d difference) at(resourceVersion string) ([]byte, error) {
	patch := maps.Clone(d.patch)
	metadata, _ := patch["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	if metadata == nil {
		metadata = map[string]any{}
	}
	metadata["resourceVersion"] = resourceVersion
	patch["metadata"] = metadata
	body, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("write the change of %s: %w", d.ref, err)
	}
	return body, nil
}

// against refuses the change if somebody else made another one, of the same
// field, of what it began with; live is the object as it is now.
func (d difference) against(live *unstructured.Unstructured) error {
	clashes := clashing(nil, d.patch, mergePatch(d.base, live.Object))
	if len(clashes) == 0 {
		return nil
	}
	slices.Sort(clashes)
	problem := fault.Conflict("%s was changed by somebody else in the meantime", d.ref).WithCode(codeStale).WithFix("look at what is there now, then overwrite it or take it over")
	for _, path := range clashes {
		problem.WithField(path, "was changed by somebody else, too")
	}
	return problem
}

// write makes the change of the object as it is now, and returns what is stored
// then. It fails with an API conflict if that is not the object any more.
func (d difference) write(ctx context.Context, hub client.Client, force, dryRun bool) (*unstructured.Unstructured, error) {
	live, err := fetch(ctx, hub, d.ref)
	if err != nil {
		return nil, err
	}
	if err := d.against(manifest.Cleaned(live)); err != nil && !force {
		return nil, err
	}
	body, err := d.at(live.GetResourceVersion())
	if err != nil {
		return nil, err
	}
	options := []client.PatchOption{client.FieldOwner(policy.FieldManager), client.FieldValidation("Strict")}
	if dryRun {
		options = append(options, client.DryRunAll)
	}
	before := live.DeepCopy()
	if err := hub.Patch(ctx, live, client.RawPatch(types.MergePatchType, body), options...); err != nil {
		return nil, err
	}
	tell(ctx, before, live)
	return live, nil
}

// mergePatch is what turns one object into another.
func mergePatch(from, to map[string]any) map[string]any {
	patch := map[string]any{}
	for key := range from {
		if _, stays := to[key]; !stays {
			patch[key] = nil
		}
	}
	for key, value := range to {
		before, had := from[key]
		left, leftMap := before.(map[string]any)
		right, rightMap := value.(map[string]any)
		switch {
		case had && leftMap && rightMap:
			if inner := mergePatch(left, right); len(inner) > 0 {
				patch[key] = inner
			}
		case !had || !reflect.DeepEqual(before, value):
			patch[key] = value
		}
	}
	return patch
}

// clashing are the paths that two patches write differently.
func clashing(path []string, mine, theirs map[string]any) []string {
	var found []string
	for key, own := range mine {
		other, both := theirs[key]
		if !both || reflect.DeepEqual(own, other) {
			continue
		}
		at := append(path[:len(path):len(path)], key)
		left, leftMap := own.(map[string]any)
		right, rightMap := other.(map[string]any)
		if leftMap && rightMap {
			found = append(found, clashing(at, left, right)...)
		} else {
			found = append(found, strings.Join(at, "."))
		}
	}
	return found
}

// unknownField finds what strict validation names.
var unknownField = regexp.MustCompile(`(unknown|duplicate) field \\?"([^"\\]+)`)

// refusal is what the hub API refused, as a fault.
func refusal(ref template.Ref, err error) error {
	if _, ok := fault.As(err); ok {
		return err
	}
	known, ok := fault.As(kube.Fault(err))
	if !ok {
		return fmt.Errorf("write %s: %w", ref, err)
	}
	switch {
	case apierrors.IsAlreadyExists(err):
		return fault.Conflict("%s is there already", ref).WithCode(codeExists).WithField("metadata.name", "is taken").WithFix("choose another name, or change the one that is there").Wrap(err)
	case apierrors.IsConflict(err):
		return fault.Conflict("%s was changed by somebody else just now", ref).WithCode(codeStale).WithFix("try again").Wrap(err)
	case noNamespace(ref, err):
		return fault.Senseless("there is no namespace %s on the hub", ref.Namespace).WithCode(codeInvalid).WithField("metadata.namespace", "there is no such namespace on the hub").
			WithFix("make the namespace first, or use one that is there").Wrap(err)
	case known.Kind == fault.KindInvalid:
		known.Kind = fault.KindSenseless
		known.WithCode(codeInvalid)
		strict(known)
	}
	return known
}

// strict makes of the refusal of fields that a kind does not have one field each;
// of a change the API's own words repeat the whole object.
func strict(refused *fault.Error) {
	found := unknownField.FindAllStringSubmatch(refused.Message, -1)
	if len(found) == 0 {
		return
	}
	refused.Fields, refused.Message = nil, "the object has fields that its kind does not know"
	for _, one := range found {
		what := "is not known"
		if one[1] == "duplicate" {
			what = "is there twice"
		}
		refused.WithField(one[2], what)
	}
}

// noNamespace says whether an object was refused for want of its namespace.
func noNamespace(ref template.Ref, err error) bool {
	var refused apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &refused) || refused.Status().Details == nil {
		return false
	}
	return refused.Status().Details.Kind == "namespaces" && refused.Status().Details.Name == ref.Namespace
}
