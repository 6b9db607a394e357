package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
)

// Patch is a change of parts of an object. Make one with JSONPatch, MergePatch,
// StrategicPatch, Difference or RawPatch.
type Patch struct {
	contentType string
	body        []byte
	err         error
}

// Operation is one step of a JSON patch (RFC 6902).
type Operation struct {
	Op    string `json:"op"`             // add, remove, replace, move, copy or test
	Path  string `json:"path"`           // "/spec/replicas"
	From  string `json:"from,omitempty"` // of move and copy
	Value any    `json:"value"`
}

// JSONPatch does the operations in their order, or none of them.
func JSONPatch(operations ...Operation) Patch {
	return newPatch("application/json-patch+json", operations)
}

// MergePatch sets what part has: an object of which only some fields are set, or a map, in
// which nil removes a member. Lists are replaced.
func MergePatch(part any) Patch {
	return newPatch("application/merge-patch+json", sparse(reflect.ValueOf(part)))
}

// StrategicPatch is a MergePatch that merges the lists whose elements have keys. Custom
// resources do not have it.
func StrategicPatch(part any) Patch {
	return newPatch("application/strategic-merge-patch+json", sparse(reflect.ValueOf(part)))
}

// RawPatch is a patch of any content type.
func RawPatch(contentType string, body []byte) Patch {
	return Patch{contentType: contentType, body: body}
}

// Difference is the merge patch that makes one object the other.
func Difference[P any](from, to P) Patch {
	old, err := members(from)
	if err != nil {
		return Patch{err: err}
	}
	now, err := members(to)
	if err != nil {
		return Patch{err: err}
	}
	return newPatch("application/merge-patch+json", difference(old, now))
}

func newPatch(contentType string, body any) Patch {
	p := Patch{contentType: contentType}
	p.body, p.err = json.Marshal(body)
	return p
}

// difference has the members that a merge has to set, null for those that it removes.
func difference(old, now map[string]any) map[string]any {
	out := map[string]any{}
	for name := range old {
		if _, ok := now[name]; !ok {
			out[name] = nil
		}
	}
	for name, value := range now {
		a, isObject := old[name].(map[string]any)
		b, both := value.(map[string]any)
		switch {
		case isObject && both:
			if d := difference(a, b); len(d) > 0 {
				out[name] = d
			}
		case !reflect.DeepEqual(old[name], value):
			out[name] = value
		}
	}
	return out
}

// members are the members of an object in JSON, numbers as they are written.
func members(obj any) (map[string]any, error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	return out, decoder.Decode(&out)
}

// Copy returns a copy of an object that shares nothing with it.
func Copy[P any](obj P) (out P, err error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return out, err
	}
	err = json.Unmarshal(data, &out)
	return out, err
}

// Patch changes parts of an object, or of a subresource ("status") when one is named.
func (r *Resource[P]) Patch(ctx context.Context, name string, p Patch, o WriteOptions, subresource ...string) (stored P, err error) {
	at := r.at
	path, err := at.object(name, subresource...)
	if err != nil {
		return stored, err
	}
	if p.err != nil || p.contentType == "" {
		return stored, fmt.Errorf("patch of %s %q: no patch: %w", at.row.Plural, name, p.err)
	}
	return receive[P](ctx, at.rest, request{method: http.MethodPatch, path: path, query: o.query(), contentType: p.contentType, body: p.body})
}
