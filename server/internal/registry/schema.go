package registry

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"github.com/capstan-dev/capstan/internal/document"
)

// appendSchema appends the schema of a custom resource. kube-apiserver keeps no text of its
// values in it, but what JSON says: members in the order of their names, and one spelling of
// numbers.
func appendSchema(dst []byte, v document.Value) []byte {
	return appendMembers(dst, v, func(dst []byte, name string, value document.Value) []byte {
		switch name {
		case "default", "example", "enum":
			return appendSorted(dst, value)
		case "properties", "patternProperties", "definitions", "dependencies":
			return appendMembers(dst, value, func(dst []byte, _ string, schema document.Value) []byte { return appendSchema(dst, schema) })
		case "items", "allOf", "oneOf", "anyOf":
			return appendEach(dst, value)
		case "not", "additionalItems", "additionalProperties":
			return appendSchema(dst, value)
		}
		return value.AppendJSON(dst)
	})
}

// appendMembers appends an object whose values a function appends, or another value as it is.
func appendMembers(dst []byte, v document.Value, appendValue func(dst []byte, name string, value document.Value) []byte) []byte {
	if v.Kind() != document.Object {
		return v.AppendJSON(dst)
	}
	dst = append(dst, '{')
	first := true
	for name, value := range v.Members() {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = appendValue(append(document.AppendQuoted(dst, name), ':'), name, value)
	}
	return append(dst, '}')
}

// appendEach appends a list of schemas, or a schema.
func appendEach(dst []byte, v document.Value) []byte {
	if v.Kind() != document.Array {
		return appendSchema(dst, v)
	}
	dst = append(dst, '[')
	for i, value := range v.Elements() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendSchema(dst, value)
	}
	return append(dst, ']')
}

// appendNumber appends a number in the spelling of kube-apiserver, which keeps numbers as
// int64 and float64.
func appendNumber(dst, text []byte) []byte {
	if !bytes.ContainsAny(text, ".eE") {
		if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
			return strconv.AppendInt(dst, n, 10)
		}
	}
	n, err := strconv.ParseFloat(string(text), 64)
	if err != nil || math.IsInf(n, 0) {
		return append(dst, text...)
	}
	spelled, err := json.Marshal(n)
	if err != nil {
		return append(dst, text...)
	}
	return append(dst, spelled...)
}
