package expression

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// The types that expressions make changes of: Object for a configuration, Object.spec for
// the member spec of one and so on, and JSONPatch for an operation.
const (
	madeObject = "Object"
	madePatch  = "JSONPatch"
)

var (
	configurationType = types.NewObjectType(madeObject)
	patchType         = types.NewObjectType(madePatch)
	patchesType       = types.NewListType(patchType)
)

// makes reports whether a name is one of these types, where expressions make changes.
func (p *provider) makes(name string) bool {
	return p.declared.Changes && (name == madePatch || name == madeObject || strings.HasPrefix(name, madeObject+"."))
}

// madeField is the access to a member of such a type. Objects may have any.
func madeField(of, name string) (*types.FieldType, bool) {
	is := types.DynType
	if of == madePatch {
		switch name {
		case "op", "path", "from":
			is = types.StringType
		case "value":
		default:
			return nil, false
		}
	}
	return &types.FieldType{Type: is,
		IsSet: func(target any) bool { m, ok := target.(*made); return ok && m.members[name] != nil },
		GetFrom: func(target any) (any, error) {
			if m, ok := target.(*made); ok && m.members[name] != nil {
				return m.members[name], nil
			}
			return nil, noSuchKey(name)
		}}, true
}

// NewValue implements types.Provider.
func (p *provider) NewValue(name string, members map[string]ref.Val) ref.Val {
	if p.makes(name) {
		return &made{types.NewObjectType(name), members}
	}
	return p.Provider.NewValue(name, members)
}

// made is an object of a type for changes.
type made struct {
	is      *types.Type
	members map[string]ref.Val
}

// ConvertToNative implements ref.Val.
func (m *made) ConvertToNative(to reflect.Type) (any, error) {
	return nil, fmt.Errorf("type conversion error from '%s' to '%v'", m.is.TypeName(), to)
}

// ConvertToType implements ref.Val.
func (m *made) ConvertToType(to ref.Type) ref.Val { return convertTo(m, m.is, to) }

// Equal implements ref.Val.
func (m *made) Equal(other ref.Val) ref.Val {
	with, ok := other.(*made)
	if !ok || m.is.TypeName() != with.is.TypeName() || len(m.members) != len(with.members) {
		return types.False
	}
	for name, v := range m.members {
		if w := with.members[name]; w == nil || v.Equal(w) != types.True {
			return types.False
		}
	}
	return types.True
}

// IsZeroValue implements traits.Zeroer.
func (m *made) IsZeroValue() bool { return len(m.members) == 0 }

// Type implements ref.Val.
func (m *made) Type() ref.Type { return m.is }

// Value implements ref.Val: the object itself, which members are taken from.
func (m *made) Value() any { return m }

// ErrLarge ends the writing of a value that is too large.
var ErrLarge = errors.New("the value is too large")

// maxDepth bounds the depth of values that are written as JSON.
const maxDepth = 512

// AppendJSON writes a value as JSON, of at most so many bytes. Objects of types for changes
// have to be of those of their places: a member spec of an Object is an Object.spec.
func AppendJSON(dst []byte, v Value, most int) ([]byte, error) {
	w := &jsonWriter{dst: dst, most: most}
	path := ""
	if m, ok := v.(*made); ok {
		path = m.is.TypeName()
	}
	if err := w.value(v, path, 0); err != nil {
		return nil, err
	}
	return w.dst, nil
}

type jsonWriter struct {
	dst  []byte
	most int
}

func (w *jsonWriter) value(v ref.Val, path string, depth int) error {
	if len(w.dst) > w.most || depth > maxDepth {
		return ErrLarge
	}
	switch v := v.(type) {
	case *made:
		if v.is.TypeName() != path && path != "" {
			return fmt.Errorf("type mismatch: unexpected type name %q, expected %q, which matches field name path from root Object type", v.is.TypeName(), path)
		}
		return w.members(v, path, depth)
	case *object:
		w.dst = v.v.AppendJSON(w.dst)
		return nil
	case types.Null:
		w.dst = append(w.dst, "null"...)
		return nil
	case *types.Err:
		return v
	case *types.Optional:
		return fmt.Errorf("an optional value has to be given with ? or orValue")
	case traits.Mapper:
		return w.entries(v, path, depth)
	case traits.Lister:
		return w.elements(v, path, depth)
	case types.Bytes, types.String, types.Bool, types.Int, types.Uint, types.Double:
		text, err := json.Marshal(v.Value())
		w.dst = append(w.dst, text...)
		return err
	}
	text := v.ConvertToType(types.StringType) // durations, times and the like
	if s, ok := text.(types.String); ok {
		return w.value(s, "", depth)
	}
	return fmt.Errorf("a value of type %s has no form in JSON", v.Type().TypeName())
}

func (w *jsonWriter) members(m *made, path string, depth int) error {
	names := make([]string, 0, len(m.members))
	for name := range m.members {
		names = append(names, name)
	}
	slices.Sort(names)
	w.dst = append(w.dst, '{')
	for i, name := range names {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		text, err := json.Marshal(Unescape(name))
		if err != nil {
			return err
		}
		w.dst = append(append(w.dst, text...), ':')
		below := path + "." + name
		if path == "" {
			below = ""
		}
		if err := w.value(m.members[name], below, depth+1); err != nil {
			return err
		}
	}
	w.dst = append(w.dst, '}')
	return nil
}

func (w *jsonWriter) entries(m traits.Mapper, path string, depth int) error {
	w.dst = append(w.dst, '{')
	for it, i := m.Iterator(), 0; it.HasNext() == types.True; i++ {
		key := it.Next()
		name, ok := key.(types.String)
		if !ok {
			return fmt.Errorf("map key %v is of type %s, not string", key.Value(), key.Type().TypeName())
		}
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		text, err := json.Marshal(string(name))
		if err != nil {
			return err
		}
		w.dst = append(append(w.dst, text...), ':')
		if err := w.value(m.Get(key), path, depth+1); err != nil {
			return err
		}
	}
	w.dst = append(w.dst, '}')
	return nil
}

func (w *jsonWriter) elements(l traits.Lister, path string, depth int) error {
	w.dst = append(w.dst, '[')
	for it, i := l.Iterator(), 0; it.HasNext() == types.True; i++ {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		if err := w.value(it.Next(), path, depth+1); err != nil {
			return err
		}
	}
	w.dst = append(w.dst, ']')
	return nil
}

// AppendPatch writes a list of JSONPatch operations as a JSON patch. The value of one has
// types of its own.
func AppendPatch(dst []byte, v Value, most int) ([]byte, error) {
	list, ok := v.(traits.Lister)
	if !ok {
		return nil, fmt.Errorf("type mismatch: JSONPatchType.expression should evaluate to array")
	}
	dst = append(dst, '[')
	for it, i := list.Iterator(), 0; it.HasNext() == types.True; i++ {
		op, ok := it.Next().(*made)
		if !ok {
			return nil, fmt.Errorf("type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch")
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '{')
		for k, name := range [...]string{"op", "path", "from", "value"} {
			member := op.members[name]
			if member == nil && k > 1 {
				continue
			}
			if k > 0 {
				dst = append(dst, ',')
			}
			dst = append(append(append(dst, '"'), name...), `":`...)
			if member == nil {
				member = types.String("")
			}
			var err error
			if dst, err = AppendJSON(dst, member, most); err != nil {
				return nil, err
			}
		}
		dst = append(dst, '}')
	}
	return append(dst, ']'), nil
}

var pointerEscapes = strings.NewReplacer("/", "~1", "~", "~0")

// patchFunctions help to write patches.
func patchFunctions() map[string][]cel.FunctionOpt {
	return map[string][]cel.FunctionOpt{"jsonpatch.escapeKey": {function("string_jsonpatch_escapeKey_string", types.StringType,
		ofText(func(s string) ref.Val { return types.String(pointerEscapes.Replace(s)) }), types.StringType)}}
}
