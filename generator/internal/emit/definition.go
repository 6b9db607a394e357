package emit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Definitions makes a manifest with a custom resource definition of each resource of the
// chosen groups. What definitions cannot say is listed.
func Definitions(m *model.Model, groups []string) ([]File, []schema.Error, error) {
	d := &definitions{components: newComponents(m, version3), suffix: m.Profile.GroupSuffix, said: map[string]bool{}}
	byName := map[string][]*model.Resource{} // the stored version first
	for _, gv := range m.GroupVersions {
		for _, r := range gv.Resources {
			if !gv.Served || !slices.Contains(groups, gv.Group) {
				continue
			}
			d.resource = r
			if !r.Stored || !strings.Contains(gv.Group, ".") {
				d.lose(r.Pos, "leave it to the server that has it", "%s of the group %q are no custom resources", r.Plural, gv.Group)
				continue
			}
			name := r.Plural + "." + gv.Group
			if byName[name] = append(byName[name], r); r.StoredAs == nil {
				slices.Reverse(byName[name])
			}
		}
	}
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		o, err := d.definition(name, byName[name])
		if err != nil {
			return nil, nil, err
		}
		text, err := blockYAML(o)
		if err != nil {
			return nil, nil, err
		}
		b.WriteString("---\n")
		b.Write(text)
	}
	if b.Len() == 0 {
		return nil, d.lost, nil
	}
	return []File{{"definitions.yaml", b.Bytes()}}, d.lost, nil
}

// blockYAML is a value as YAML with its keys sorted.
func blockYAML(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	var plain func(n *yaml.Node)
	plain = func(n *yaml.Node) {
		n.Style = 0
		for _, part := range n.Content {
			plain(part)
		}
	}
	plain(&doc)
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err = e.Encode(&doc)
	return b.Bytes(), err
}

// definitions are the custom resource definitions that are being made.
type definitions struct {
	*components
	suffix   string // of the group of definitions
	resource *model.Resource
	path     []string      // of the field that is being described
	within   []*model.Type // the types around it
	lost     []schema.Error
	said     map[string]bool
}

// lose notes, once for each kind, what a definition cannot say.
func (d *definitions) lose(pos schema.Position, fix, format string, args ...any) {
	e := schema.Error{Pos: pos, What: d.resource.Kind + ": " + fmt.Sprintf(format, args...), Fix: fix}
	if !d.said[e.Error()] {
		d.said[e.Error()] = true
		d.lost = append(d.lost, e)
	}
}

func (d *definitions) definition(name string, versions []*model.Resource) (object, error) {
	first := versions[0]
	names := object{"plural": first.Plural, "kind": first.Kind, "listKind": first.ListKind}
	if first.Singular != "" {
		names["singular"] = first.Singular
	}
	if len(first.ShortNames) > 0 {
		names["shortNames"] = first.ShortNames
	}
	if len(first.Categories) > 0 {
		names["categories"] = first.Categories
	}
	scope := "Cluster"
	if first.Namespaced {
		scope = "Namespaced"
	}
	slices.SortStableFunc(versions, func(a, b *model.Resource) int { return b.GV.VersionPriority - a.GV.VersionPriority })
	var all []object
	for _, r := range versions {
		v, err := d.version(r)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return object{"apiVersion": "apiextensions." + d.suffix + "/v1", "kind": "CustomResourceDefinition", "metadata": object{"name": name},
		"spec": object{"group": first.GV.Group, "names": names, "scope": scope, "versions": all}}, nil
}

func (d *definitions) version(r *model.Resource) (object, error) {
	d.resource, d.path, d.within = r, nil, nil
	d.switches(r)
	root, err := d.schema(r.Type, r.Type.Schema, nil)
	if err != nil {
		return nil, err
	}
	properties, _ := root["properties"].(object)
	if properties == nil {
		properties = object{}
		root["properties"] = properties
	}
	properties["metadata"] = object{"type": "object"}
	addTypeMeta(properties)
	root["required"] = slices.DeleteFunc(slices.Clone(r.Type.Schema.Required), func(name string) bool { return name == "metadata" })
	if len(root["required"].([]string)) == 0 {
		delete(root, "required")
	}
	v := object{"name": r.GV.Version, "served": true, "storage": r.StoredAs == nil, "schema": object{"openAPIV3Schema": root}}
	if r.DeprecatedSince != "" {
		v["deprecated"] = true
	}
	if sub := d.subresources(r); len(sub) > 0 {
		v["subresources"] = sub
	}
	if columns := d.columns(r); len(columns) > 0 {
		v["additionalPrinterColumns"] = columns
	}
	var fields []object
	for _, s := range r.Selectable {
		if s.Path == "" || s.Else != "" || s.Default != "" || s.Path != "."+s.Name {
			d.lose(s.Pos, "name the field by its path", "the selectable field %s is more than a path", s.Name)
			continue
		}
		fields = append(fields, object{"jsonPath": s.Path})
	}
	if fields != nil {
		v["selectableFields"] = fields
	}
	return v, nil
}

// switches notes what a resource says that definitions have no words for.
func (d *definitions) switches(r *model.Resource) {
	for _, k := range []struct {
		key  string
		said bool
	}{{"verbs", len(r.Verbs) < 8}, {"nameFormat", r.NameFormat != "dns1123-subdomain"}, {"hooks", len(r.Hooks) > 0}, {"graceful",
		r.Graceful != nil}, {"expires", r.Expires},
		{"completes", r.Completes}, {"statusOnCreate", r.StatusOnCreate}, {"deleteReturnsObject", r.DeleteReturnsObject}, {"role", r.Role != ""},
		{"keeps", len(r.Keeps) > 0},
		{"dependents", r.Dependents != ""}, {"protectedNames", len(r.ProtectedNames) > 0}, {"conditionalUpdate", r.ConditionalUpdate},
		{"carries", len(r.Carries) > 0},
		{"conversion", r.Conversion != nil && !r.Conversion.Same && len(r.Carries) == 0}} {
		if k.said {
			d.lose(r.Pos, "do it in a webhook or a controller", "a definition has no %s", k.key)
		}
	}
}

func (d *definitions) subresources(r *model.Resource) object {
	all := object{}
	for _, s := range r.Subresources {
		switch s.Endpoint {
		case "status":
			all["status"] = object{}
		case "scale":
			scale := object{"specReplicasPath": dotted(s.SpecReplicas), "statusReplicasPath": dotted(s.StatusReplicas)}
			if s.Selector != "" {
				scale["labelSelectorPath"] = dotted(s.Selector)
			}
			all["scale"] = scale
		default:
			d.lose(s.Pos, "offer it in an extension server", "a definition has no subresource %s", s.Name)
		}
	}
	return all
}

func dotted(path string) string { return "." + strings.TrimPrefix(path, ".") }

// mostInlined bounds the depth of types in each other: a definition has no references.
const mostInlined = 100

// schema is the schema of a value, all types in place. The rules are those that its object
// has for it.
func (d *definitions) schema(t *model.Type, s *schema.Schema, rules []celRule) (object, error) {
	if s.Ref != "" {
		target, err := d.types.resolve(t, s)
		if err != nil {
			return nil, err
		}
		if slices.Contains(d.within, target) || len(d.within) > mostInlined {
			d.lose(s.Pos, "end it at some depth", "%s is a type that holds itself: any JSON is kept in it", strings.Join(d.path, "."))
			return object{"type": "object", d.ext + "preserve-unknown-fields": true, "description": s.Description}, nil
		}
		d.within = append(d.within, target)
		o, err := d.schema(target, target.Schema, rules)
		d.within = d.within[:len(d.within)-1]
		maps.Copy(o, d.words(s))
		return o, err
	}
	o := d.words(s)
	var below []celRule
	var all []object
	for _, r := range append(d.rules(s), rules...) {
		if inner, ok := r.ofElements(); ok && (s.Items != nil || s.Additional != nil) {
			below = append(below, inner)
		} else {
			all = append(all, r.node())
		}
	}
	if err := d.value(t, s, o, below); err != nil {
		return nil, err
	}
	if all != nil {
		o[d.ext+"validations"] = all
	}
	return o, nil
}

// words are the annotations that definitions may have.
func (d *definitions) words(s *schema.Schema) object {
	o := d.annotations(s)
	for _, name := range []string{"readOnly", "writeOnly", "deprecated", d.ext + "patch-strategy", d.ext + "patch-merge-key"} {
		if o[name] != nil {
			delete(o, name)
			d.lose(s.Pos, "say it in the description", "a definition has no %s", name)
		}
	}
	return o
}

// inner adds the schemas of members, elements and values, the latter two with their rules.
func (d *definitions) inner(t *model.Type, s *schema.Schema, o object, rules []celRule) error {
	below := func(name string, part *schema.Schema, rules []celRule) (object, error) {
		d.path = append(d.path, name)
		defer func() { d.path = d.path[:len(d.path)-1] }()
		return d.schema(t, part, rules)
	}
	for key, part := range map[string]*schema.Schema{"items": s.Items, "additionalProperties": s.Additional} {
		if part == nil {
			continue
		}
		inner, err := below("[]", part, rules)
		if err != nil {
			return err
		}
		o[key] = inner
	}
	if s.Type == "object" && s.Additional == nil && len(s.Required) > 0 {
		o["required"] = s.Required
	}
	for _, name := range s.RequiredEnforced {
		required, _ := o["required"].([]string)
		o["required"] = append(slices.Clone(required), name)
	}
	if len(s.Properties) == 0 {
		return nil
	}
	properties := object{}
	for _, p := range s.Properties {
		if len(d.path) == 0 && p.Name == "metadata" {
			continue
		}
		inner, err := below(p.Name, p.Schema, d.memberRules(s, p))
		if err != nil {
			return err
		}
		properties[p.Name] = inner
	}
	o["properties"] = properties
	return nil
}
