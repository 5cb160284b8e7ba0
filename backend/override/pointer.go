package override

import (
	"strconv"
	"strings"
)

// pointer is a JSON pointer (RFC 6901) in parts, without escapes.
type pointer []string

var (
	unescape = strings.NewReplacer("~1", "/", "~0", "~")
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
)

// parsePointer takes a pointer apart. The empty one is the whole document.
func parsePointer(text string) (pointer, bool) {
	if text == "" {
		return pointer{}, true
	}
	if !strings.HasPrefix(text, "/") {
		return nil, false
	}
	parts := strings.Split(text[1:], "/")
	for i := range parts {
		parts[i] = unescape.Replace(parts[i])
	}
	return parts, true
}

// pointer parses the pointer of the overrider at work.
func (e *editor) pointer(text string) (pointer, error) {
	at, ok := parsePointer(text)
	if !ok {
		return nil, e.refuse(text, "write a JSON pointer, such as /spec/replicas, where ~ inside a name is ~0 and / is ~1", "the path %q does not begin with a slash", text)
	}
	return at, nil
}

// String is the pointer with escapes.
func (p pointer) String() string {
	var b strings.Builder
	for _, part := range p {
		b.WriteByte('/')
		b.WriteString(escape.Replace(part))
	}
	return b.String()
}

// key points at a key of what p points at. p stays as it is.
func (p pointer) key(name string) pointer {
	return append(p[:len(p):len(p)], name)
}

// index points at an element of what p points at.
func (p pointer) index(i int) pointer {
	return p.key(strconv.Itoa(i))
}

// lookup finds the value at a pointer.
func lookup(document any, at pointer) (any, bool) {
	for _, part := range at {
		switch value := document.(type) {
		case map[string]any:
			inner, found := value[part]
			if !found {
				return nil, false
			}
			document = inner
		case []any:
			i, ok := element(part, len(value))
			if !ok {
				return nil, false
			}
			document = value[i]
		default:
			return nil, false
		}
	}
	return document, true
}

// assign sets the value at a pointer that lookup finds, and tells whether it
// could: the whole document cannot be set.
func assign(document any, at pointer, value any) bool {
	if len(at) == 0 {
		return false
	}
	last := at[len(at)-1]
	parent, _ := lookup(document, at[:len(at)-1])
	switch holder := parent.(type) {
	case map[string]any:
		holder[last] = value
		return true
	case []any:
		if i, ok := element(last, len(holder)); ok {
			holder[i] = value
			return true
		}
	}
	return false
}

// element is the position a part means in a list of a length. As in the JSON
// patches of Kubernetes a negative one counts from the end.
func element(part string, length int) (int, bool) {
	i, err := strconv.Atoi(part)
	if err != nil {
		return 0, false
	}
	if i < 0 {
		i += length
	}
	return i, i >= 0 && i < length
}
