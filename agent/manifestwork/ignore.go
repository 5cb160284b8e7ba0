package manifestwork

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/itchyny/gojq"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/jsonpath"

	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
)

// hashAnnotation holds, on an object with fields that are ignored once they are
// changed in the member, what was applied last.
const hashAnnotation = "open-cluster-management.io/object-hash"

// mostMatches bounds how many fields one expression may name.
const mostMatches = 1000

// ignore takes out of wanted the fields that a work leaves to the member: their
// values become what the member has there, so that applying neither changes nor
// removes them. changed says that the work asks for something else than was applied
// last; then fields changed in the member are taken back.
func ignore(wanted, observed *unstructured.Unstructured, fields []ocmworkv1.IgnoreField, changed bool) error {
	for _, f := range fields {
		if f.Condition == ocmworkv1.IgnoreOnSpokeChange && changed {
			continue
		}
		paths, err := pathsOf(wanted, f)
		if err != nil {
			return err
		}
		for _, p := range paths {
			yield(wanted.Object, observed.Object, p)
		}
	}
	return nil
}

// pathsOf resolves what names fields to the paths of those that the object has.
// Steps are strings and ints.
func pathsOf(o *unstructured.Unstructured, f ocmworkv1.IgnoreField) ([][]any, error) {
	var paths [][]any
	for _, pointer := range f.JSONPointers {
		if p, ok := pointed(o.Object, pointer); ok {
			paths = append(paths, p)
		}
	}
	for _, text := range f.JSONPaths {
		found, err := jsonPathMatches(o.Object, text)
		if err != nil {
			return nil, fmt.Errorf("ignored field %s: %w", text, err)
		}
		paths = append(paths, found...)
	}
	for _, text := range f.JQPathExpressions {
		found, err := jqMatches(o.Object, text)
		if err != nil {
			return nil, fmt.Errorf("ignored field %s: %w", text, err)
		}
		paths = append(paths, found...)
	}
	return paths, nil
}

// pointed resolves a JSON pointer.
func pointed(root any, pointer string) ([]any, bool) {
	if !strings.HasPrefix(pointer, "/") {
		return nil, false
	}
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	var path []any
	for token := range strings.SplitSeq(pointer[1:], "/") {
		switch v := root.(type) {
		case map[string]any:
			key := unescape.Replace(token)
			next, ok := v[key]
			if !ok {
				return nil, false
			}
			path, root = append(path, key), next
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			path, root = append(path, i), v[i]
		default:
			return nil, false
		}
	}
	return path, true
}

func jqMatches(root map[string]any, text string) ([][]any, error) {
	query, err := gojq.Parse("path(" + text + ")")
	if err != nil {
		return nil, err
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, err
	}
	var paths [][]any
	for results := code.Run(plain(root)); len(paths) < mostMatches; {
		value, ok := results.Next()
		if !ok {
			break
		}
		if err, isError := value.(error); isError {
			return nil, err
		}
		if path, ok := value.([]any); ok && has(root, path) {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// plain turns numbers into those that jq knows.
func plain(value any) any {
	switch v := value.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, element := range v {
			m[key] = plain(element)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, element := range v {
			l[i] = plain(element)
		}
		return l
	case int64:
		return int(v)
	}
	return value
}

func has(root any, path []any) bool {
	_, ok := at(root, path)
	return ok
}

// at follows a path.
func at(root any, path []any) (any, bool) {
	for _, step := range path {
		switch v := root.(type) {
		case map[string]any:
			key, isKey := step.(string)
			next, ok := v[key]
			if !isKey || !ok {
				return nil, false
			}
			root = next
		case []any:
			i, isIndex := step.(int)
			if !isIndex || i < 0 || i >= len(v) {
				return nil, false
			}
			root = v[i]
		default:
			return nil, false
		}
	}
	return root, true
}

// jsonPathMatches resolves a path of the kind that kubectl knows.
func jsonPathMatches(root map[string]any, text string) ([][]any, error) {
	parser, err := jsonpath.Parse("ignored", "{"+strings.TrimSuffix(strings.TrimPrefix(text, "{"), "}")+"}")
	if err != nil {
		return nil, err
	}
	var nodes []jsonpath.Node
	for _, n := range parser.Root.Nodes {
		if list, ok := n.(*jsonpath.ListNode); ok {
			nodes = append(nodes, list.Nodes...)
		}
	}
	matches := []match{{value: root}}
	for _, n := range nodes {
		var next []match
		for _, m := range matches {
			found, err := m.step(n)
			if err != nil {
				return nil, err
			}
			if next = append(next, found...); len(next) > mostMatches {
				return nil, fmt.Errorf("the path names more than %d fields", mostMatches)
			}
		}
		matches = next
	}
	paths := make([][]any, 0, len(matches))
	for _, m := range matches {
		if len(m.path) > 0 {
			paths = append(paths, m.path)
		}
	}
	return paths, nil
}

// match is a value that a path names.
type match struct {
	path  []any
	value any
}

func (m match) child(step, value any) match {
	return match{append(append([]any{}, m.path...), step), value}
}

func (m match) step(n jsonpath.Node) ([]match, error) {
	switch n := n.(type) {
	case *jsonpath.FieldNode:
		if n.Value == "" {
			return []match{m}, nil
		}
		if fields, ok := m.value.(map[string]any); ok {
			if value, ok := fields[n.Value]; ok {
				return []match{m.child(n.Value, value)}, nil
			}
		}
		return nil, nil
	case *jsonpath.WildcardNode:
		return m.children(), nil
	case *jsonpath.ArrayNode:
		return m.slice(n), nil
	case *jsonpath.FilterNode:
		return m.filter(n)
	}
	return nil, fmt.Errorf("%s is not understood in paths of fields that are ignored", n)
}

func (m match) children() []match {
	var all []match
	switch v := m.value.(type) {
	case map[string]any:
		for key, value := range v {
			all = append(all, m.child(key, value))
		}
	case []any:
		for i, value := range v {
			all = append(all, m.child(i, value))
		}
	}
	return all
}

func (m match) slice(n *jsonpath.ArrayNode) []match {
	list, ok := m.value.([]any)
	if !ok {
		return nil
	}
	from, to, step := 0, len(list), 1
	bound := func(i int) int {
		if i < 0 {
			i += len(list)
		}
		return min(max(i, 0), len(list))
	}
	if n.Params[0].Known {
		from = bound(n.Params[0].Value)
	}
	if n.Params[1].Known {
		if n.Params[1].Derived { // one element: of negative ones, the bound behind the last is 0
			to = min(from+1, len(list))
		} else {
			to = bound(n.Params[1].Value)
		}
	}
	if n.Params[2].Known && n.Params[2].Value > 0 {
		step = n.Params[2].Value
	}
	var all []match
	for i := from; i < to; i += step {
		all = append(all, m.child(i, list[i]))
	}
	return all
}

// filter keeps the elements of a list for which an expression over them holds.
func (m match) filter(n *jsonpath.FilterNode) ([]match, error) {
	list, ok := m.value.([]any)
	if !ok {
		return nil, nil
	}
	var all []match
	for i, value := range list {
		left, found, err := operand(n.Left, value)
		if err != nil {
			return nil, err
		}
		if n.Operator == "exists" {
			if found {
				all = append(all, m.child(i, value))
			}
			continue
		}
		right, _, err := operand(n.Right, value)
		if err != nil {
			return nil, err
		}
		holds := found && fmt.Sprint(left) == fmt.Sprint(right)
		switch n.Operator {
		case "==":
		case "!=":
			holds = !holds
		default:
			return nil, fmt.Errorf("operator %s is not understood in paths of fields that are ignored", n.Operator)
		}
		if holds {
			all = append(all, m.child(i, value))
		}
	}
	return all, nil
}

// operand evaluates one side of a filter for an element.
func operand(side *jsonpath.ListNode, element any) (value any, found bool, err error) {
	matches := []match{{value: element}}
	for _, n := range side.Nodes {
		switch literal := n.(type) {
		case *jsonpath.TextNode:
			return literal.Text, true, nil
		case *jsonpath.IntNode:
			return literal.Value, true, nil
		case *jsonpath.BoolNode:
			return literal.Value, true, nil
		case *jsonpath.FloatNode:
			return literal.Value, true, nil
		case *jsonpath.ListNode:
			return operand(literal, element)
		}
		var next []match
		for _, m := range matches {
			stepped, err := m.step(n)
			if err != nil {
				return nil, false, err
			}
			next = append(next, stepped...)
		}
		matches = next
	}
	if len(matches) != 1 {
		return nil, false, nil
	}
	return matches[0].value, true, nil
}

// yield makes a field of wanted what observed has there; elements of lists are
// found by their name. Without it there, the field is taken out.
func yield(wanted, observed any, path []any) {
	last := len(path) - 1
	for i, step := range path {
		switch w := wanted.(type) {
		case map[string]any:
			key, ok := step.(string)
			if !ok {
				return
			}
			o, _ := observed.(map[string]any)
			theirs, there := o[key]
			if i < last {
				wanted, observed = w[key], theirs
				continue
			}
			if there {
				w[key] = runtime.DeepCopyJSONValue(theirs)
			} else {
				delete(w, key)
			}
			return
		case []any:
			index, ok := step.(int)
			if !ok || index >= len(w) {
				return
			}
			theirs := counterpart(w[index], observed, index)
			if i < last {
				wanted, observed = w[index], theirs
				continue
			}
			if theirs != nil {
				w[index] = runtime.DeepCopyJSONValue(theirs)
			}
			return
		default:
			return
		}
	}
}

func counterpart(element, observed any, index int) any {
	list, ok := observed.([]any)
	if !ok {
		return nil
	}
	if fields, ok := element.(map[string]any); ok {
		if name, ok := fields["name"]; ok {
			for _, candidate := range list {
				if c, ok := candidate.(map[string]any); ok && c["name"] == name {
					return candidate
				}
			}
			return nil
		}
	}
	if index < len(list) {
		return list[index]
	}
	return nil
}
