// Package object shows the hooks of an API that is not a part of this module the objects
// that they check and complete.
package object

import (
	"encoding/json"
	"iter"

	"github.com/capstan-dev/capstan/internal/document"
)

// Value is a place in an object: the object itself, a member, an element. Reads are safe on
// every value: of an absent one, or of another kind, they return an absent value or zero.
// A value lives as long as the hook that it was passed to.
type Value struct{ v document.Value }

// Exists reports whether there is a value, null included.
func (v Value) Exists() bool { return v.v.Exists() }

// IsNull reports whether the value is null.
func (v Value) IsNull() bool { return v.v.IsNull() }

// At is the value below this one at a path of member names.
func (v Value) At(path ...string) Value { return Value{v.v.At(path...)} }

// Text is the text of a string, "" for other values.
func (v Value) Text() string { return v.v.Text() }

// Texts are the texts of the strings in a list.
func (v Value) Texts() []string { return v.v.Texts() }

// Int is an integer; false for other values.
func (v Value) Int() (int64, bool) { return v.v.Int() }

// Float is a number; false for other values.
func (v Value) Float() (float64, bool) { return v.v.Float() }

// Bool reports whether the value is true.
func (v Value) Bool() bool { return v.v.Bool() }

// Len is the number of members or elements.
func (v Value) Len() int { return v.v.Len() }

// Elements are the elements of a list.
func (v Value) Elements() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		for i, e := range v.v.Elements() {
			if !yield(i, Value{e}) {
				return
			}
		}
	}
}

// Members are the members of an object or the entries of a map.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for name, m := range v.v.Members() {
			if !yield(name, Value{m}) {
				return
			}
		}
	}
}

// Path is the path of the value from its object, as errors name it:
// "spec.stops[0].street".
func (v Value) Path() string { return v.v.Path() }

// JSON is the value as JSON, "null" when it is absent.
func (v Value) JSON() []byte {
	if !v.Exists() {
		return []byte("null")
	}
	return v.v.AppendJSON(nil)
}

// Same reports whether two values are equal; absent ones are.
func (v Value) Same(other Value) bool {
	return v.Exists() == other.Exists() && string(v.JSON()) == string(other.JSON())
}

// Into decodes the value into a Go value, for example a pointer to a type in gen/.
func (v Value) Into(to any) error { return json.Unmarshal(v.JSON(), to) }

// Set sets a member of an object: to a Value, or to anything that json.Marshal takes. A
// value that the member's type does not allow is an error, and changes nothing.
func (v Value) Set(name string, to any) error {
	switch to := to.(type) {
	case Value:
		v.v.Put(name, to.v)
		return nil
	case string:
		v.v.SetString(name, to)
		return nil
	case bool:
		v.v.SetBool(name, to)
		return nil
	}
	text, err := json.Marshal(to)
	if err != nil {
		return err
	}
	return v.v.SetRaw(name, text)
}

// Object is a member of an object, which becomes an empty object if it is not one.
func (v Value) Object(name string) Value { return Value{v.v.SetObject(name)} }

// Remove removes a member.
func (v Value) Remove(name string) { v.v.Remove(name) }
