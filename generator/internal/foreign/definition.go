package foreign

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Version is a version of a custom resource definition, with its resource but for the group
// version and the type.
type Version struct {
	Group, Name    string
	At, Root       Place // in the definition; its schema, which is there if the version is served
	Definition     Place // the spec that it is a part of
	Served, Stored bool
	Resource       *model.Resource
	Others         int // the number of versions after it
}

var allVerbs = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

// Definitions are the versions of all custom resource definitions among the objects of a
// file, also of those in lists; other objects are passed over.
func (f *File) Definitions() (all []Version) {
	found := false
	for objects := f.Roots; len(objects) > 0; {
		at := objects[0]
		objects = objects[1:]
		group, version, _ := strings.Cut(at.At("apiVersion").Text(), "/")
		switch kind := at.At("kind").Text(); {
		case kind == "CustomResourceDefinitionList" || kind == "List":
			objects = append(objects, at.At("items").Items()...)
		case kind != "CustomResourceDefinition" || !strings.HasPrefix(group, "apiextensions."):
		case version != "v1":
			found = true
			f.Fail(at.At("apiVersion"), "write "+group+"/v1, with a schema for each version", "the definition is of the version %s", version)
		default:
			found = true
			all = append(all, f.versions(at.At("spec"))...)
		}
	}
	if !found {
		f.Fail(Place{}, "name a file with custom resource definitions, or an OpenAPI 3 document", "the file has neither a custom resource definition nor OpenAPI")
	}
	return all
}

func (f *File) versions(spec Place) (all []Version) {
	group, names := spec.At("group").Text(), spec.At("names")
	plural, kind := names.At("plural").Text(), names.At("kind").Text()
	if group == "" || plural == "" || kind == "" {
		f.Fail(spec, "add what is missing", "a definition needs group, names.plural and names.kind")
		return nil
	}
	versions := spec.At("versions").Items()
	stored := ""
	for _, v := range versions {
		if v.At("storage").Yes() {
			stored = v.At("name").Text()
		}
	}
	if stored == "" {
		f.Fail(spec, "write storage: true in one of the versions", "no version of %s is stored", plural)
	}
	for i, v := range versions {
		one := Version{Group: group, Name: v.At("name").Text(), At: v, Root: v.At("schema").At("openAPIV3Schema"), Definition: spec, Served: v.At("served").Yes(),
			Stored: v.At("storage").Yes(),
			Others: len(versions) - i - 1}
		if one.Served && !one.Root.Here() {
			f.Fail(v, "add schema.openAPIV3Schema", "the version %s of %s has no schema", one.Name, plural)
			continue
		}
		one.Resource = &model.Resource{Pos: f.Position(v), Plural: plural, Singular: names.At("singular").Text(), Kind: kind,
			ListKind:   cmp.Or(names.At("listKind").Text(), kind+"List"),
			Namespaced: spec.At("scope").Text() == "Namespaced", Stored: true, ShortNames: names.At("shortNames").Texts(), Categories: names.At("categories").Texts(),
			Verbs: allVerbs, NameFormat: "dns1123-subdomain", StorageVersion: stored}
		f.parts(one.Resource, v)
		all = append(all, one)
	}
	return all
}

// parts reads what a version says besides its schema.
func (f *File) parts(r *model.Resource, v Place) {
	if sub := v.At("subresources").At("status"); sub.Node != nil {
		r.HasStatus = true
		r.Subresources = append(r.Subresources, model.Subresource{Pos: f.Position(sub), Name: "status", Endpoint: "status",
			Verbs: []string{"get", "patch", "update"}})
	}
	if scale := v.At("subresources").At("scale"); scale.Here() {
		r.Subresources = append(r.Subresources, model.Subresource{Pos: f.Position(scale), Name: "scale", Endpoint: "scale", Verbs: []string{"get", "patch", "update"},
			SpecReplicas: scale.At("specReplicasPath").Text(), StatusReplicas: scale.At("statusReplicasPath").Text(), Selector: scale.At("labelSelectorPath").Text()})
	}
	for _, c := range v.At("additionalPrinterColumns").Items() {
		r.Columns = append(r.Columns, model.Column{Pos: f.Position(c), Name: c.At("name").Text(), Type: c.At("type").Text(), Format: c.At("format").Text(),
			Description: c.At("description").Text(), Priority: c.At("priority").Count(0), Path: jsonPath(c.At("jsonPath").Text())})
	}
	if !v.At("additionalPrinterColumns").Here() { // the server adds it
		r.Columns = []model.Column{{Pos: f.Position(v), Name: "Age", Type: "date", Path: ".metadata.creationTimestamp"}}
	}
	for _, s := range v.At("selectableFields").Items() {
		path := s.At("jsonPath").Text()
		r.Selectable = append(r.Selectable, model.Selectable{Pos: f.Position(s), Name: strings.TrimPrefix(path, "."), Path: path})
	}
	if v.At("deprecated").Yes() {
		r.DeprecatedSince = "0.0" // the release is not known
	}
}

var (
	condition = regexp.MustCompile(`\[\?\(\s*@\.(\w+)\s*==\s*'([^'"]*)'\s*\)\]`)
	bracket   = regexp.MustCompile(`\[['"]([^'"*]+)['"]\]`)
)

// jsonPath is the one spelling of a path: texts in double quotes, keys after dots.
func jsonPath(path string) string {
	path = condition.ReplaceAllString(path, `[?(@.$1=="$2")]`)
	return bracket.ReplaceAllStringFunc(path, func(key string) string {
		return "." + strings.ReplaceAll(strings.ReplaceAll(key[2:len(key)-2], `\.`, "."), ".", `\.`)
	})
}

// Position is the file and line of a place.
func (f *File) Position(p Place) schema.Position {
	return schema.Position{File: f.Name, Line: LineOf(p)}
}
