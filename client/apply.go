package client

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"strings"
)

// applyType is YAML by its name; JSON is YAML.
const applyType = "application/apply-patch+yaml"

// Apply creates the object or changes it, so that the fields that are set in obj have these
// values and belong to o.FieldManager, which is required, and those that it applied before
// and that are not set now are removed, if they belong to nobody else. It is a conflict when
// another manager has set a field to another value, unless o.Force.
//
// An object is its own apply configuration: a field is set unless it has the zero value of
// its Go type, so a pointer to 0, an empty list that is not nil and an element of a list or a
// map are set. Status, times and everything else that the server sets are not sent.
func (r *Resource[P]) Apply(ctx context.Context, obj P, o WriteOptions) (P, error) {
	return apply(ctx, r, obj, o)
}

// ApplyStatus is Apply for the status of an existing object: it sends nothing else.
func (r *Resource[P]) ApplyStatus(ctx context.Context, obj P, o WriteOptions) (P, error) {
	return apply(ctx, r, obj, o, "status")
}

func apply[P Object](ctx context.Context, r *Resource[P], obj P, o WriteOptions, subresource ...string) (applied P, err error) {
	if o.FieldManager == "" {
		return applied, errors.New("apply: FieldManager is missing: it owns the fields that are set")
	}
	obj.SetKind()
	body, err := json.Marshal(configuration(obj, len(subresource) > 0))
	if err != nil {
		return applied, err
	}
	return r.Patch(ctx, obj.GetName(), RawPatch(applyType, body), o, subresource...)
}

// configuration is the part of an object that a client may apply: its status or the rest.
func configuration(obj any, status bool) map[string]any {
	out, _ := sparse(reflect.ValueOf(obj)).(map[string]any)
	metadata, _ := out["metadata"].(map[string]any)
	if status {
		maps.DeleteFunc(metadata, func(name string, _ any) bool {
			return name != "name" && name != "namespace" && name != "uid" && name != "resourceVersion"
		})
		maps.DeleteFunc(out, func(name string, _ any) bool {
			return name != "kind" && name != "apiVersion" && name != "metadata" && name != "status"
		})
		return out
	}
	delete(out, "status")
	for _, name := range []string{"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields", "selfLink"} {
		delete(metadata, name)
	}
	return out
}

// sparse is a value as it is written in JSON, without members that have their zero value.
func sparse(v reflect.Value) any {
	if !v.IsValid() {
		return nil
	}
	if _, ok := v.Interface().(json.Marshaler); ok {
		return v.Interface()
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return sparse(v.Elem())
	case reflect.Struct:
		out := map[string]any{}
		for i := range v.NumField() {
			field := v.Type().Field(i)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if !field.IsExported() || name == "-" || isZero(v.Field(i)) {
				continue
			}
			value := sparse(v.Field(i))
			inner, isObject := value.(map[string]any)
			switch {
			case field.Anonymous && name == "" && isObject:
				maps.Copy(out, inner)
			case name == "":
				out[field.Name] = value
			default:
				out[name] = value
			}
		}
		return out
	case reflect.Map:
		if v.Type().Key().Kind() != reflect.String || v.IsNil() {
			break
		}
		out := map[string]any{}
		for key, value := range v.Seq2() {
			out[key.String()] = sparse(value)
		}
		return out
	case reflect.Slice:
		if v.IsNil() || v.Type().Elem().Kind() == reflect.Uint8 {
			break
		}
		out := make([]any, v.Len())
		for i := range out {
			out[i] = sparse(v.Index(i))
		}
		return out
	}
	return v.Interface()
}

func isZero(v reflect.Value) bool {
	if z, ok := v.Interface().(interface{ IsZero() bool }); ok && v.Kind() != reflect.Pointer {
		return z.IsZero()
	}
	return v.IsZero()
}
