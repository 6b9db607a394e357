package emit

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// OpenAPI30 makes an OpenAPI document of each version of the chosen groups, the one that
// the server publishes.
func OpenAPI30(m *model.Model, groups []string) ([]File, []schema.Error, error) {
	return exportOpenAPI(m, groups, version3)
}

// OpenAPI31 makes the same in version 3.1, with the words of JSON Schema.
func OpenAPI31(m *model.Model, groups []string) ([]File, []schema.Error, error) {
	return exportOpenAPI(m, groups, version31)
}

func exportOpenAPI(m *model.Model, groups []string, d dialect) (files []File, lost []schema.Error, err error) {
	for _, gv := range m.GroupVersions {
		if !gv.Served || !slices.Contains(groups, gv.Group) {
			continue
		}
		p := newPaths(m, d)
		p.name(ownGroup(m, gv))
		if err := p.groupVersion(gv); err != nil {
			return nil, nil, err
		}
		doc, err := p.document()
		if err != nil {
			return nil, nil, err
		}
		data, err := writeDocument(doc)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, File{strings.ReplaceAll(strings.TrimPrefix(groupPath(gv), "/"), "/", "_") + ".json", data})
		lost = append(lost, unpublished(gv, d)...)
	}
	return files, lost, nil
}

// unpublished lists the rules of the types of a group version that a form has no words for.
func unpublished(gv *model.GroupVersion, d dialect) (lost []schema.Error) {
	for _, t := range gv.Types {
		if len(t.Schema.Rules) > 0 {
			lost = append(lost, schema.Error{Pos: t.Schema.Pos, What: t.Name + ": rules across members are not published", Fix: "say them in the description"})
		}
		if d.standard {
			continue
		}
		eachPart(t.Schema, func(s *schema.Schema) {
			if f := s.Further; f != nil && (f.Contains != nil || f.PropertyNames != nil || len(f.PatternProperties) > 0) {
				lost = append(lost, schema.Error{Pos: s.Pos, What: t.Name + ": OpenAPI 3.0 has no contains, propertyNames and patternProperties",
					Fix: "export openapi-3.1"})
			}
		})
	}
	return lost
}

// eachPart visits a schema and those of its members, elements and values.
func eachPart(s *schema.Schema, visit func(*schema.Schema)) {
	visit(s)
	for _, p := range s.Properties {
		eachPart(p.Schema, visit)
	}
	for _, part := range []*schema.Schema{s.Items, s.Additional} {
		if part != nil {
			eachPart(part, visit)
		}
	}
}

// JSONSchemas makes a JSON Schema of each kind of the chosen groups, in the places where
// catalogs have them, and an index that finds the schema of any object. They are of the
// draft that editors of YAML know best.
func JSONSchemas(m *model.Model, groups []string) (files []File, lost []schema.Error, err error) {
	var all []any
	var versions, kinds []string
	for _, gv := range m.GroupVersions {
		if !gv.Served || !slices.Contains(groups, gv.Group) {
			continue
		}
		lost = append(lost, unpublished(gv, editors)...)
		for _, r := range gv.Resources {
			if r.Type == nil || r.Type.GV != gv {
				continue
			}
			doc, err := kindSchema(m, r)
			if err != nil {
				return nil, nil, err
			}
			name := path.Join(schemaFolder(gv), strings.ToLower(r.Kind)+"_"+gv.Version+".json")
			if slices.ContainsFunc(files, func(f File) bool { return f.Path == name }) {
				continue // a second resource of the kind
			}
			data, err := writeSchema(doc)
			if err != nil {
				return nil, nil, err
			}
			files = append(files, File{name, data})
			head := object{"apiVersion": object{"const": apiVersion(gv)}, "kind": object{"const": r.Kind}}
			all = append(all, object{"if": object{"required": []string{"apiVersion", "kind"}, "properties": head}, "then": object{"$ref": name}})
			versions, kinds = append(versions, apiVersion(gv)), append(kinds, r.Kind)
		}
	}
	if files == nil {
		return nil, lost, nil
	}
	slices.Sort(versions)
	slices.Sort(kinds)
	index, err := writeSchema(object{"$schema": draft7, "type": "object", "required": []string{"apiVersion", "kind"}, "properties": object{
		"apiVersion": object{"enum": slices.Compact(versions), "description": "Group and version of the object."},
		"kind":       object{"enum": slices.Compact(kinds), "description": "Type of the object."}}, "allOf": all})
	return append(files, File{"index.json", index}), lost, err
}

const draft7 = "http://json-schema.org/draft-07/schema#"

func schemaFolder(gv *model.GroupVersion) string {
	if gv.Group == "" {
		return "core"
	}
	return gv.Group
}

// kindSchema is the schema of the objects of a resource, with all types that they have.
func kindSchema(m *model.Model, r *model.Resource) (object, error) {
	c := newComponents(m, editors)
	name := strings.TrimPrefix(c.ref(r.Type)["$ref"].(string), c.prefix)
	if err := c.flush(); err != nil {
		return nil, err
	}
	root := maps.Clone(c.done[name].(object))
	if delete(c.done, name); refers(root, c.prefix+name) {
		c.done[name] = maps.Clone(root)
	}
	members, ok := root["properties"].(object)
	if !ok {
		return nil, fmt.Errorf("%s: the kind %s has no members", r.Pos, r.Kind)
	}
	properties := maps.Clone(members)
	root["properties"] = properties
	properties["apiVersion"] = object{"const": apiVersion(r.GV), "description": "Group and version of a " + r.Kind + "."}
	properties["kind"] = object{"const": r.Kind, "description": "Type of the object."}
	required, _ := root["required"].([]string)
	root["required"] = append([]string{"apiVersion", "kind"}, required...)
	root["$schema"], root["title"] = draft7, r.Kind+" ("+apiVersion(r.GV)+")"
	if len(c.done) > 0 {
		root["definitions"] = c.done
	}
	return root, nil
}

func refers(v any, ref string) bool {
	text, err := json.Marshal(v)
	return err == nil && strings.Contains(string(text), `"`+ref+`"`)
}

func writeSchema(doc object) ([]byte, error) {
	text, err := json.MarshalIndent(doc, "", " ")
	return append(text, '\n'), err
}
