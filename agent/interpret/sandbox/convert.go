package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	lua "github.com/yuin/gopher-lua"
)

// maxDepth bounds how deep a value may nest.
const maxDepth = 200

// converter turns JSON into Lua values and back. Lua has one kind of table for
// objects and lists, so that an empty one could be either: those that came from
// JSON are remembered, and for others the value in the same place of an argument
// decides.
type converter struct {
	state      *lua.LState
	lists      map[*lua.LTable]bool // by table that came from JSON: whether it was a list
	references []any                // the arguments
	dropEmpty  bool                 // leaves out empty tables that could be either
}

func newConverter(state *lua.LState) *converter {
	return &converter{state: state, lists: map[*lua.LTable]bool{}}
}

func (c *converter) decode(raw json.RawMessage) (lua.LValue, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	c.references = append(c.references, value)
	return c.toLua(value), nil
}

func (c *converter) toLua(value any) lua.LValue {
	switch v := value.(type) {
	case bool:
		return lua.LBool(v)
	case string:
		return lua.LString(v)
	case json.Number:
		n, _ := v.Float64() // out of range is infinite
		return lua.LNumber(n)
	case []any:
		table := c.state.CreateTable(len(v), 0)
		c.lists[table] = true
		for _, item := range v {
			table.Append(c.toLua(item))
		}
		return table
	case map[string]any:
		table := c.state.CreateTable(0, len(v))
		c.lists[table] = false
		for key, item := range v {
			table.RawSetString(key, c.toLua(item))
		}
		return table
	}
	return lua.LNil
}

func (c *converter) encode(value lua.LValue) (json.RawMessage, error) {
	plain, err := c.fromLua(value, c.references, 0)
	if err != nil {
		return nil, err
	}
	return json.Marshal(plain)
}

func (c *converter) fromLua(value lua.LValue, references []any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errors.New("it nests too deeply; does a table contain itself?")
	}
	switch v := value.(type) {
	case *lua.LNilType:
		return nil, nil
	case lua.LBool:
		return bool(v), nil
	case lua.LString:
		return string(v), nil
	case lua.LNumber:
		return number(float64(v))
	case *lua.LTable:
		return c.table(v, references, depth)
	}
	return nil, fmt.Errorf("a %s has no JSON form", value.Type())
}

// number writes whole numbers without a fraction, as API servers want them.
func number(n float64) (any, error) {
	switch {
	case math.IsNaN(n) || math.IsInf(n, 0):
		return nil, fmt.Errorf("%v is no number of JSON", n)
	case n == math.Trunc(n) && math.Abs(n) < 1<<53:
		return int64(n), nil
	}
	return json.Number(strconv.FormatFloat(n, 'g', -1, 64)), nil
}

func (c *converter) table(t *lua.LTable, references []any, depth int) (any, error) {
	fields, items := map[string]lua.LValue{}, 0
	var odd lua.LValue
	t.ForEach(func(key, value lua.LValue) {
		switch k := key.(type) {
		case lua.LString:
			fields[string(k)] = value
		case lua.LNumber:
			items++
		default:
			odd = key
		}
	})
	switch {
	case odd != nil:
		return nil, fmt.Errorf("a table has a %s as key", odd.Type())
	case items > 0 && len(fields) > 0:
		return nil, errors.New("a table is both list and object")
	case items == 0 && len(fields) == 0:
		if _, known := c.lists[t]; c.dropEmpty && !known {
			return nil, nil
		}
		if c.emptyList(t, references, depth) {
			return []any{}, nil
		}
		return map[string]any{}, nil
	case items > 0:
		return c.list(t, items, references, depth)
	}
	object := make(map[string]any, len(fields))
	for key, value := range fields {
		below := make([]any, 0, len(references))
		for _, reference := range references {
			if known, ok := reference.(map[string]any); ok && known[key] != nil {
				below = append(below, known[key])
			}
		}
		plain, err := c.fromLua(value, below, depth+1)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		object[key] = plain
	}
	return object, nil
}

func (c *converter) list(t *lua.LTable, items int, references []any, depth int) (any, error) {
	if t.MaxN() != items {
		return nil, errors.New("a list has holes")
	}
	list := make([]any, 0, items)
	for i := 1; i <= items; i++ {
		var below []any
		for _, reference := range references {
			if known, ok := reference.([]any); ok && len(known) >= i {
				below = append(below, known[i-1])
			}
		}
		plain, err := c.fromLua(t.RawGetInt(i), below, depth+1)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		list = append(list, plain)
	}
	return list, nil
}

// emptyList says whether an empty table is a list. One that the script made, at
// a place no argument knows, is a list unless it is an object's metadata, spec
// or status.
func (c *converter) emptyList(t *lua.LTable, references []any, depth int) bool {
	if list, known := c.lists[t]; known {
		return list
	}
	for _, reference := range references {
		switch reference.(type) {
		case []any:
			return true
		case map[string]any:
			return false
		}
	}
	return depth > 1
}
