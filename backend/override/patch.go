package override

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
)

// applyPlaintext applies JSON patch operations to the whole object. It is read
// and written once for all of them.
func (e *editor) applyPlaintext(list []policyv1alpha1.PlaintextOverrider) error {
	if len(list) == 0 {
		return nil
	}
	document, err := json.Marshal(e.object.Object)
	if err != nil {
		return fmt.Errorf("encode %s for plaintext overriders: %w", e.object.GetKind(), err)
	}
	for i := range list {
		e.index = i
		if document, err = e.patch(document, list[i].Operator, list[i].Path, list[i].Value); err != nil {
			return err
		}
	}
	var object map[string]any
	if err := kjson.Unmarshal(document, &object); err != nil || object == nil {
		return e.refuse("", "patch what is inside the object", "the plaintext overriders leave no object")
	}
	e.object.Object = object
	return nil
}

// patch applies one operation to the object's JSON and notes the change.
func (e *editor) patch(document []byte, operator policyv1alpha1.OverriderOperator, path string, value *apiextensionsv1.JSON) ([]byte, error) {
	at, err := e.pointer(path)
	if err != nil {
		return nil, err
	}
	patched, err := patchJSON(document, operator, path, value)
	if err != nil {
		return nil, e.refusePatch(path, operator, path, err)
	}
	before, after, path := difference(document, patched, operator, at)
	e.changed(path, before, after)
	return patched, nil
}

// difference tells what an operation did, and where: an element that was added
// to a list or removed from it pushes others along, which are no changes.
func difference(old, new []byte, operator policyv1alpha1.OverriderOperator, at pointer) (before, after any, path string) {
	if len(at) > 0 {
		at = at[:len(at):len(at)]
		if list, ok := read(old, at[:len(at)-1]).([]any); ok {
			last := at[len(at)-1]
			length := len(list)
			if operator == policyv1alpha1.OverriderOpAdd {
				length++
			}
			i, inside := element(last, length)
			if last == "-" {
				i, inside = length-1, true
			}
			if inside {
				at = at[:len(at)-1].index(i)
			}
			switch operator {
			case policyv1alpha1.OverriderOpAdd:
				return nil, read(new, at), at.String()
			case policyv1alpha1.OverriderOpRemove:
				return read(old, at), nil, at.String()
			}
		}
	}
	return read(old, at), read(new, at), at.String()
}

// read decodes the value at a pointer, and nothing beside it: an object may be
// large. What is not there is nil.
func read(document []byte, at pointer) any {
	raw := json.RawMessage(document)
	for _, part := range at {
		var object map[string]json.RawMessage
		if json.Unmarshal(raw, &object) == nil {
			inner, found := object[part]
			if !found {
				return nil
			}
			raw = inner
			continue
		}
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			return nil
		}
		i, ok := element(part, len(list))
		if !ok {
			return nil
		}
		raw = list[i]
	}
	var value any
	if kjson.Unmarshal(raw, &value) != nil {
		return nil
	}
	return value
}

// applyField applies operations to a document that a string of the object holds.
func (e *editor) applyField(o *policyv1alpha1.FieldOverrider) error {
	at, err := e.pointer(o.FieldPath)
	if err != nil {
		return err
	}
	value, found := lookup(e.object.Object, at)
	before, isString := value.(string)
	if !found || !isString {
		return e.refuse(o.FieldPath, "let fieldPath point at a string that holds JSON or YAML, for example /data/config.yaml of a ConfigMap",
			"there is no string at %s of %s", o.FieldPath, e.object.GetKind())
	}
	if (len(o.JSON) > 0) == (len(o.YAML) > 0) {
		return e.refuse(o.FieldPath, "give exactly one of the two", "json and yaml exclude each other")
	}
	var after string
	if len(o.JSON) > 0 {
		after, err = e.patchText(o.FieldPath, []byte(before), o.JSON)
	} else {
		after, err = e.patchYAML(o.FieldPath, before, o.YAML)
	}
	if err != nil {
		return err
	}
	if !assign(e.object.Object, at, after) {
		return e.refuse(o.FieldPath, "let fieldPath point at a string inside the object", "%q cannot be set", o.FieldPath)
	}
	e.changed(at.String(), before, after)
	return nil
}

func (e *editor) patchText(path string, document []byte, operations []policyv1alpha1.FieldPatchOperation) (string, error) {
	if !json.Valid(document) {
		return "", e.refuse(path, "correct the document, or point at another one", "the string at %s is no JSON", path)
	}
	for i, operation := range operations {
		patched, err := patchJSON(document, operation.Operator, operation.SubPath, operation.Value)
		if err != nil {
			return "", e.refusePatch(path, operation.Operator, fmt.Sprintf("%s (operation %d on %s)", operation.SubPath, i, path), err)
		}
		document = patched
	}
	return string(document), nil
}

func (e *editor) patchYAML(path, document string, operations []policyv1alpha1.FieldPatchOperation) (string, error) {
	// What a parser says may quote the document, which may be a Secret's.
	invalid := e.refuse(path, "correct the document, or point at another one", "the string at %s is no YAML of one document", path)
	asJSON, err := yaml.YAMLToJSON([]byte(document))
	if err != nil {
		return "", invalid
	}
	if string(asJSON) == "null" {
		return "", e.refuse(path, "put {} there on the hub, so that there is something to change", "the document at %s is empty", path)
	}
	patched, err := e.patchText(path, asJSON, operations)
	if err != nil {
		return "", err
	}
	asYAML, err := yaml.JSONToYAML([]byte(patched))
	if err != nil {
		return "", invalid
	}
	return string(asYAML), nil
}

// patchJSON applies one operation of RFC 6902.
func patchJSON(document []byte, operator policyv1alpha1.OverriderOperator, path string, value *apiextensionsv1.JSON) ([]byte, error) {
	operation := jsonpatch.Operation{"op": quoted(string(operator)), "path": quoted(path)}
	switch operator {
	case policyv1alpha1.OverriderOpAdd, policyv1alpha1.OverriderOpReplace:
		given := json.RawMessage("null")
		if value != nil && len(value.Raw) > 0 {
			given = value.Raw
		}
		if !json.Valid(given) {
			return nil, errors.New("the value is no JSON")
		}
		operation["value"] = &given
	case policyv1alpha1.OverriderOpRemove:
	default:
		return nil, fmt.Errorf("there is no operator %q", operator)
	}
	return jsonpatch.Patch{operation}.Apply(document)
}

func quoted(text string) *json.RawMessage {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string always has a JSON form
	}
	raw := json.RawMessage(data)
	return &raw
}

// refusePatch says what the object lacks for an operation.
func (e *editor) refusePatch(path string, operator policyv1alpha1.OverriderOperator, where string, err error) error {
	fix := "correct the path or the operator: remove and replace need something there, add needs the parent of the path"
	switch {
	case errors.Is(err, jsonpatch.ErrMissing) && operator == policyv1alpha1.OverriderOpAdd:
		return e.refuse(path, "add the parent first, or correct the path", "cannot add %s: its parent is not there", where)
	case errors.Is(err, jsonpatch.ErrMissing):
		return e.refuse(path, "use add, limit the policy to objects that have it, or correct the path", "cannot %s %s: it is not there", operator, where)
	case errors.Is(err, jsonpatch.ErrInvalidIndex):
		return e.refuse(path, "use a position inside the list, or - to add at its end", "cannot %s %s: the list has no such position", operator, where)
	case strings.Contains(err.Error(), "no operator"):
		return e.refuse(path, "use add, remove or replace", "%v", err)
	}
	return e.refuse(path, fix, "cannot %s %s", operator, where)
}
