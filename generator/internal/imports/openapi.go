package imports

import (
	"cmp"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/generator/internal/foreign"
	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/schemas"
)

// openAPI makes documents of an OpenAPI document: of the resources in its paths, and of the
// types that they need.
type openAPI struct {
	*result
	file     *foreign.File
	schemas  foreign.Place
	prefixes map[string]string // of names of components, to the folder of their types
	due      []string          // components that are referred to
	done     map[string]bool
	kinds    map[string]string // by component
}

// document reads an OpenAPI document, with the names in discovery if a server has it.
func (r *result) document(f *foreign.File, discovered []foreign.Discovered) {
	o := &openAPI{result: r, file: f, schemas: f.Roots[0].At("components").At("schemas"), prefixes: map[string]string{}, done: map[string]bool{},
		kinds: map[string]string{}}
	o.findKinds()
	found := o.resources()
	if len(found) == 0 {
		f.Fail(f.Roots[0].At("paths"), "describe resources by paths like /apis/GROUP/VERSION/PLURAL, and their kinds by the extension group-version-kind; or write a schema of each kind by hand", "no path of the document is that of a resource")
		return
	}
	for _, res := range found {
		if i := slices.IndexFunc(discovered, func(d foreign.Discovered) bool { return d.Name == res.Plural }); i >= 0 {
			discovered[i].Rename(res.Resource)
		}
		if r.wanted(res.group) {
			o.resource(res)
		}
	}
	r.shared = r.shared || len(o.due) > 0
	for len(o.due) > 0 {
		name := o.due[0]
		if o.due = o.due[1:]; !o.done[name] {
			o.done[name] = true
			o.component(name)
		}
	}
}

var (
	versionWord = regexp.MustCompile(`^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$`)
	typeName    = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
)

// findKinds notes the folders of the components that say their group and version: other
// components with such names are there too.
func (o *openAPI) findKinds() {
	o.schemas.Each(func(name string, _, value foreign.Place) {
		rows := value.Extension("group-version-kind").Items()
		if len(rows) != 1 {
			return
		}
		o.kinds[name] = rows[0].At("kind").Text()
		if prefix, last := cut(name); last == o.kinds[name] && !strings.Contains(prefix, ".apimachinery.") {
			o.prefixes[prefix] = o.folder(rows[0].At("group").Text()) + "/" + rows[0].At("version").Text()
		}
	})
}

func cut(name string) (prefix, last string) {
	i := strings.LastIndexByte(name, '.')
	return name[:max(i, 0)], name[i+1:]
}

// typeOf is the folder and the name of the type of a component.
func (o *openAPI) typeOf(component string) (dir, name string) {
	prefix, name := cut(component)
	if !typeName.MatchString(name) {
		name = camel(name)
	}
	if dir := o.prefixes[prefix]; dir != "" {
		return dir, name
	}
	words := strings.Split(prefix, ".")
	if n := len(words); n > 1 && versionWord.MatchString(words[n-1]) {
		if _, group, ok := strings.Cut(prefix, ".api."); ok {
			return strings.TrimSuffix(group, "."+words[n-1]) + "/" + words[n-1], name
		}
		return words[n-2] + "/" + words[n-1], name
	}
	return "", name
}

// scalars are the components of others that are formats here.
var scalars = map[string]string{"Time": "date-time", "MicroTime": "micro-time", "Duration": "duration", "Quantity": "quantity", "IntOrString": "int-or-string"}

// refer is the schema of a reference: of a type, a scalar, or any JSON.
func (o *openAPI) refer(ref foreign.Place, out mapping) {
	component, ok := strings.CutPrefix(ref.Text(), "#/components/schemas/")
	line := foreign.LineOf(ref)
	switch {
	case !ok:
		o.file.Fail(ref, "write #/components/schemas/Name of the same file", "$ref %q leads out of the document; nothing is fetched", ref.Text())
		return
	case !o.schemas.At(component).Here():
		o.file.Fail(ref, "add the schema", "$ref %q leads nowhere", ref.Text())
		return
	}
	prefix, last := cut(component)
	shared := strings.Contains(prefix, ".apimachinery.")
	switch format := scalars[last]; {
	case shared && (format == "quantity" || format == "int-or-string"):
		out.text("format", format, line)
	case shared && format != "":
		out.text("type", "string", line)
		out.text("format", format, line)
	case shared && (last == "RawExtension" || last == "FieldsV1" || last == "Patch"):
		out.yes("x-cluster-preserve-unknown-fields", line)
		out.text("x-cluster-binary-form", "raw", line)
	case strings.HasSuffix(component, ".JSON"):
		out.yes("x-cluster-preserve-unknown-fields", line)
		out.text("x-cluster-binary-form", "json", line)
	case anyJSON(o.schemas.At(component)):
		out.yes("x-cluster-preserve-unknown-fields", line)
	default:
		dir, name := o.typeOf(component)
		if dir == "" {
			o.file.Fail(ref, "name it like com.example.v1.Name, or write it in place", "the type %s has no group and version in its name", component)
			return
		}
		out.text("$ref", "/"+dir+"/"+name, line)
		o.due = append(o.due, component)
	}
}

// anyJSON reports whether a component says nothing of its values, but for people.
func anyJSON(component foreign.Place) bool {
	any := component.Here()
	component.Each(func(key string, _, _ foreign.Place) {
		any = any && (key == "description" || key == "title")
	})
	return any
}

// component makes the document of a type, unless it is a built-in one of the project.
func (o *openAPI) component(name string) {
	at := o.schemas.At(name)
	dir, last := o.typeOf(name)
	out := "schemas/" + dir + "/" + last + ".yaml"
	if o.roots[out].Node != nil || o.builtIn(dir, last) {
		return
	}
	if at.Kind != yaml.MappingNode {
		o.file.Fail(at, "write keys and values", "a schema is not a mapping")
		return
	}
	k := &kind{result: o.result, file: o.file, name: last, dir: dir, refer: o.refer, head: at.Extension("group-version-kind").Here()}
	o.taken[dir+"."+last] = true
	doc := k.document(at)
	if v := at.Extension("map-type"); v.Text() == "atomic" {
		doc.text("x-cluster-map-type", "atomic", foreign.LineOf(v))
	}
	if metadata := at.At("properties").At("metadata").Here(); metadata != k.head {
		doc.set("x-cluster-kind", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: fmt.Sprint(k.head), Line: doc.Line})
	}
	if form := k.form(at); form == "any" && at.At("type").Text() == "object" {
		doc.text("type", "object", doc.Line)
		doc.yes("x-cluster-preserve-unknown-fields", doc.Line)
	} else if form != "object" {
		o.file.Fail(at, "write an object, or the schema in place", "the type %s is not an object with members", name)
		return
	}
	o.roots[out], o.files[out] = doc, o.file.Name
}

// builtIn reports whether the project has the built-in types, and this is one.
func (o *openAPI) builtIn(dir, name string) bool {
	if dir == "meta/v1" {
		return true
	}
	if o.hasProfile() {
		return false
	}
	if _, err := fs.Stat(schemas.Documents, dir+"/"+name+".yaml"); err == nil {
		return true
	}
	files, _ := fs.Glob(schemas.Documents, dir+"/*.yaml")
	for _, file := range files {
		text, err := fs.ReadFile(schemas.Documents, file)
		if err == nil && strings.Contains(string(text), "\n  "+name+":") {
			return true
		}
	}
	return false
}

// served is a resource in the paths of the document.
type served struct {
	*model.Resource
	group, version string
	at             foreign.Place
}

// resources are those in the paths of the document.
func (o *openAPI) resources() (all []served) {
	o.file.Roots[0].At("paths").Each(func(path string, key, value foreign.Place) {
		op, ok := foreign.OperationsOf(path, value)
		if !ok {
			if !strings.HasPrefix(path, "/api") && path != "/version/" && path != "/openid/v1/jwks/" {
				o.note(o.file.Position(key), "serve it in another way", "the path "+path+" is not that of a resource")
			}
			return
		}
		i := slices.IndexFunc(all, func(s served) bool { return s.Plural == op.Plural && s.group == op.Group && s.version == op.Version })
		if i < 0 {
			i = len(all)
			all = append(all, served{&model.Resource{Pos: o.file.Position(key), Plural: op.Plural, Stored: true}, op.Group, op.Version, key})
		}
		all[i].Kind = cmp.Or(all[i].Kind, map[bool]string{true: op.Kind}[op.Subresource == ""])
		op.AddTo(all[i].Resource, o.file.Position(key))
	})
	return all
}

// resource adds the entry of a resource, and asks for its type.
func (o *openAPI) resource(s served) {
	dir := o.folder(s.group) + "/" + s.version
	if !slices.Contains(s.Verbs, "get") {
		o.note(s.Pos, "add it with the endpoint that does its work", s.Plural+" are not kept: the resource is not taken over")
		return
	}
	component := ""
	for name, kind := range o.kinds {
		if where, _ := o.typeOf(name); kind == s.Kind && where == dir {
			component = name
		}
	}
	if s.Kind == "" || component == "" {
		o.file.Fail(s.at, "add the extension group-version-kind to the operations and the schema of the kind",
			"the kind of %s is not known, or has no schema", s.Plural)
		return
	}
	o.due = append(o.due, component)
	if i := slices.IndexFunc(s.Subresources, func(sub model.Subresource) bool { return sub.Name == "scale" }); i >= 0 {
		sub := &s.Subresources[i]
		sub.SpecReplicas, sub.StatusReplicas = ".spec.replicas", ".status.replicas"
		o.schemas.Each(func(name string, _, _ foreign.Place) {
			if strings.HasSuffix(name, ".autoscaling.v1.Scale") {
				o.due = append(o.due, name)
			}
		})
		o.note(sub.Pos, "check the paths, and add selector", s.Plural+": OpenAPI does not say where the replicas of a scale are")
	}
	k := &kind{result: o.result, file: o.file, name: s.Kind, dir: dir}
	s.Resource.ListKind, s.Resource.Columns = cmp.Or(s.ListKind, s.Kind+"List"), []model.Column{{Pos: s.Pos, Name: "Age", Type: "date", Path: created}}
	stored := ""
	key := s.group + " " + s.Plural
	if as := o.stored[key]; as != "" {
		stored = as
		o.note(s.Pos, "name another one by storedAs", s.Plural+": OpenAPI does not say in which version objects are stored: it is "+as)
	}
	if stored == "" {
		o.stored[key] = dir + "/" + s.Kind
	}
	entry := k.resource(s.Resource, foreign.Place{}, stored)
	if c := o.conversions[dir+"/"+s.Plural]; stored != "" {
		entry.texts("carries", c.carries, entry.Line)
		if c.hook {
			entry.texts("hooks", []string{"convert"}, entry.Line)
		}
	}
	o.addResource(o.file, s.at, s.group, dir, s.Plural, entry)
}
