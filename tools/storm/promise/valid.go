package promise

import (
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/record"
)

// valid compares the custom objects at rest with the schemas of their definitions: those that were
// written after the last change of the specification pass, but for values that no write has
// touched since. A migration writes objects as they are.
func valid(r *record.Record) (wrong []string) {
	if r.Migrated {
		return nil
	}
	last, since := make(map[string]*record.Object), make(map[string]uint64)
	for _, e := range r.Tape {
		if e.Resource != definitionsResource {
			continue
		}
		key := e.Meta.Name
		switch before := last[key]; {
		case e.Type == history.Deleted:
			delete(last, key)
			continue
		case before == nil || before.Meta.UID != e.Meta.UID || !reflect.DeepEqual(before.Field("spec"), e.Field("spec")):
			since[key] = e.Revision
		}
		last[key] = e.Object
	}
	for name, d := range last {
		resource, _, _ := strings.Cut(name, ".")
		schema, _ := item(d, []string{"spec", "versions"}, "schema", "openAPIV3Schema").(map[string]any)
		for _, o := range r.Rest[resource] {
			if o.Revision <= since[name] || o.Meta.DeletionTimestamp != "" || schema == nil {
				continue
			}
			content := maps.Clone(o.Content)
			maps.DeleteFunc(content, func(name string, _ any) bool { return name != "spec" && name != "status" })
			for _, text := range mistakes("", schema, content, earlier(r, o, since[name])) {
				wrong = append(wrong, fmt.Sprintf("%s@%d was written under the schema of %d: %s", o.Key(), o.Revision, since[name], text))
			}
		}
	}
	return wrong
}

// earlier is the content of an object at a revision, nil for none.
func earlier(r *record.Record, o *record.Object, at uint64) (content map[string]any) {
	for _, e := range r.Tape {
		if e.Revision <= at && e.Meta.UID == o.Meta.UID && e.Type != history.Deleted {
			content = e.Content
		}
	}
	return content
}

// mistakes are those of a value under a schema, as far as the definitions of a storm use
// its words. A value that is the same as before the schema may be out of its bounds.
func mistakes(path string, schema map[string]any, value, before any) (wrong []string) {
	say := func(what string) { wrong = append(wrong, fmt.Sprintf("%s is %v, %s", path, value, what)) }
	switch v := value.(type) {
	case nil:
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		was, _ := before.(map[string]any)
		for name, inner := range v {
			if below, known := properties[name].(map[string]any); known {
				wrong = append(wrong, mistakes(path+"."+name, below, inner, was[name])...)
			} else if schema["x-kubernetes-preserve-unknown-fields"] != true {
				say("the schema has no " + name)
			}
		}
		for name, below := range properties {
			if b, _ := below.(map[string]any); b["default"] != nil && v[name] == nil {
				say("the default of " + name + " is missing")
			}
		}
	case float64:
		if most, bounded := schema["maximum"].(float64); bounded && v > most && value != before {
			say(fmt.Sprintf("the maximum is %v", most))
		}
		if schema["type"] != "integer" {
			say("no integer")
		}
	case string:
		if schema["type"] != "string" {
			say("no string")
		}
	}
	return wrong
}
