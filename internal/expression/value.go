package expression

import (
	"math"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/kube-openapi/pkg/validation/strfmt"

	"github.com/capstan-dev/capstan/internal/document"
)

// valueOf is a tree as a value of CEL. Objects, maps and lists are views of it.
func valueOf(v document.Value, t *Type) ref.Val {
	kind := v.Kind()
	if kind == document.Null || kind == document.Absent {
		if t.Nullable || t.Kind == Dynamic || t.Kind == Opaque {
			return types.NullValue
		}
		return types.NewErr("invalid data, got null for schema with nullable=false")
	}
	switch t.Kind {
	case Dynamic:
		return dynamicValue(v, kind)
	case Opaque:
		return opaque{v}
	case Object, Map:
		if kind == document.Object {
			return &object{v: v, t: t, size: -1}
		}
		return wrongKind("a map", kind)
	case List:
		if kind == document.Array {
			return &list{v: v, t: t}
		}
		return wrongKind("an array", kind)
	case Boolean:
		if kind == document.Bool {
			return types.Bool(v.Bool())
		}
		return wrongKind("bool", kind)
	case Integer, Number:
		return numberValue(v, t.Kind)
	case IntOrString:
		if kind == document.Number {
			return numberValue(v, Integer)
		}
	}
	if kind != document.String {
		return wrongKind("string", kind)
	}
	return textValue(v.Text(), t.Kind)
}

func wrongKind(want string, got document.Kind) ref.Val {
	return types.NewErr("invalid data, expected %s, got %s", want, got)
}

// dynamicValue is a tree without a declared type.
func dynamicValue(v document.Value, kind document.Kind) ref.Val {
	switch kind {
	case document.Bool:
		return types.Bool(v.Bool())
	case document.Number:
		if n, ok := v.Int(); ok {
			return types.Int(n)
		}
		return numberValue(v, Number)
	case document.String:
		return types.String(v.Text())
	case document.Array:
		return &list{v: v, t: dynamic}
	}
	return &object{v: v, t: dynamic, size: -1}
}

func numberValue(v document.Value, kind Kind) ref.Val {
	n, whole := v.Int()
	f, ok := v.Float()
	switch {
	case v.Kind() != document.Number || !ok:
		return wrongKind("number", v.Kind())
	case kind == Number:
		return types.Double(f)
	case whole:
		return types.Int(n)
	case f == math.Trunc(f) && math.Abs(f) < 1<<63:
		return types.Int(f)
	}
	return types.NewErr("invalid data, expected int, got float64")
}

// textValue is a string, or the value that its format has.
func textValue(text string, kind Kind) ref.Val {
	switch kind {
	case Bytes:
		var b strfmt.Base64
		if err := b.UnmarshalText([]byte(text)); err != nil {
			return types.NewErr("Invalid byte formatted string %s: %v", text, err)
		}
		return types.Bytes(b)
	case Duration:
		d, err := strfmt.ParseDuration(text)
		if err != nil {
			return types.NewErr("Invalid duration %s: %v", text, err)
		}
		return types.Duration{Duration: d}
	case Date:
		d, err := time.Parse(strfmt.RFC3339FullDate, text)
		if err != nil {
			return types.NewErr("Invalid date formatted string %s: %v", text, err)
		}
		return types.Timestamp{Time: d}
	case DateTime:
		d, err := strfmt.ParseDateTime(text)
		if err != nil {
			return types.NewErr("Invalid date-time formatted string %s: %v", text, err)
		}
		return types.Timestamp{Time: time.Time(d)}
	}
	return types.String(text)
}

// costly reports whether a value is worth to be kept for another look at it.
func costly(v ref.Val) bool {
	switch v := v.(type) {
	case *object, *list:
		return true
	case types.String:
		return len(v) > 64
	case types.Bytes:
		return true
	}
	return false
}
