package main

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// openAPI is the part of a release's OpenAPI 2 document that the tables are made of.
type openAPI struct {
	Definitions map[string]*schema
	Paths       map[string]map[string]json.RawMessage
}

type schema struct {
	Ref        string `json:"$ref"`
	Type       string
	Format     string
	Items      *schema
	Additional *schema `json:"additionalProperties"`
	Properties map[string]*schema
	Required   []string
	Default    json.RawMessage
	Enum       []string
	ListType   string   `json:"x-kubernetes-list-type"`
	ListKeys   []string `json:"x-kubernetes-list-map-keys"`
	MapType    string   `json:"x-kubernetes-map-type"`
	Strategy   string   `json:"x-kubernetes-patch-strategy"`
	MergeKey   string   `json:"x-kubernetes-patch-merge-key"`
	Any        bool     `json:"x-kubernetes-preserve-unknown-fields"`
	IntOrText  bool     `json:"x-kubernetes-int-or-string"`
}

// typeName is "core/v1.Pod" for io.k8s.api.core.v1.Pod.
func typeName(definition string) string {
	parts := strings.Split(definition, ".")
	n := len(parts)
	if n < 3 {
		return definition
	}
	return parts[n-3] + "/" + parts[n-2] + "." + parts[n-1]
}

func (s *schema) form() string {
	switch {
	case s == nil:
		return "any"
	case s.Ref != "":
		return typeName(strings.TrimPrefix(s.Ref, "#/definitions/"))
	case s.IntOrText:
		return "int-or-string"
	case s.Type == "array":
		return "[]" + s.Items.form()
	case s.Type == "object" && s.Additional != nil:
		return "map:" + s.Additional.form()
	case s.Type == "":
		return "any"
	case s.Format != "":
		return s.Type + ":" + s.Format
	}
	return s.Type
}

// fields are the rows of all types with fields. numbers are those of the binary form.
func (d *openAPI) fields(numbers map[string]map[string]string, structs structures) (rows []string) {
	for name, s := range d.Definitions {
		own := typeName(name)
		if s.MapType != "" { // of the type, wherever it is used
			rows = append(rows, strings.Join([]string{own, ".", "object", "n", "-", "-", "-", "-", s.MapType, "-", "-", "-", "-"}, "\t"))
		}
		for field, p := range s.Properties {
			value := "-"
			if p.Default != nil {
				value = string(p.Default)
			}
			rows = append(rows, strings.Join([]string{own, field, p.form(), yes(slices.Contains(s.Required, field)),
				dash(structs.presence(own, field)), dash(structs.number(own, field, numbers)), dash(p.ListType),
				dash(strings.Join(p.ListKeys, ",")), dash(p.MapType), dash(p.Strategy), dash(p.MergeKey), value,
				dash(strings.Join(slices.Sorted(slices.Values(p.Enum)), ","))}, "\t"))
		}
	}
	return rows
}

var (
	pathOf = regexp.MustCompile(`^/(?:api/(v\d\w*)|apis/([^/]+)/([^/]+))/(?:namespaces/\{namespace\}/)?([a-z][a-z0-9]*)` +
		`(?:/\{name\}(?:/([a-z]+)(?:/\{path\})?)?)?$`)
	verbOf = map[string]string{"get": "get", "list": "list", "post": "create", "put": "update", "patch": "patch", "delete": "delete",
		"deletecollection": "deletecollection", "watch": "watch", "watchlist": "watch", "connect": "connect"}
)

// resources are the rows of all resources and subresources.
func (d *openAPI) resources() (rows []string) {
	type resource struct{ group, version, name string }
	type found struct {
		kind       string
		namespaced bool
		verbs      map[string]bool
	}
	all := map[resource]*found{}
	for path, item := range d.Paths {
		plain := strings.Replace(path, "/watch/", "/", 1)
		m := pathOf.FindStringSubmatch(plain)
		if m == nil {
			continue
		}
		r := resource{m[2], m[1] + m[3], m[4]}
		if m[5] != "" {
			r.name += "/" + m[5]
		}
		for _, raw := range item {
			var operation struct {
				Action string                                `json:"x-kubernetes-action"`
				Kind   struct{ Group, Version, Kind string } `json:"x-kubernetes-group-version-kind"`
			}
			if json.Unmarshal(raw, &operation) != nil || operation.Action == "" {
				continue
			}
			f := all[r]
			if f == nil {
				f = &found{verbs: map[string]bool{}}
				all[r] = f
			}
			if f.kind == "" || operation.Action != "delete" {
				f.kind = operation.Kind.Kind
			}
			f.namespaced = f.namespaced || strings.Contains(path, "/{namespace}/")
			f.verbs[verbOf[operation.Action]] = true
		}
	}
	for r, f := range all {
		group := r.group
		if group == "" {
			group = "core"
		}
		rows = append(rows, strings.Join([]string{group, r.version, r.name, f.kind, yes(f.namespaced), strings.Join(slices.Sorted(maps.Keys(f.verbs)), ",")}, "\t"))
	}
	return rows
}
