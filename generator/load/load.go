// Package load reads the documents: openapi/ and schemas/, with positions, into
// a model. A mistake is reported as file:line: what is wrong; the mend. All
// mistakes are reported, not only the first.
package load

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/capstan-dev/capstan/generator/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Load reads the documents below root and compiles the table of every group
// version. The error joins one *schema.Error per mistake.
func Load(root string) (*model.Model, error) {
	r := &reader{root: root}
	m := &model.Model{Profile: r.profile(filepath.Join(root, "openapi", "profile.yaml"))}
	gvs := map[string]*model.GroupVersion{}
	types := map[string]*model.Type{}
	for _, name := range r.list("schemas", "examples") {
		r.types(name, gvs, types)
	}
	for _, name := range r.list("openapi", "released") {
		if name != "openapi/profile.yaml" {
			r.groupVersion(name, gvs, types)
		}
	}
	for _, dir := range sortedKeys(gvs) {
		gv := gvs[dir]
		sort.Slice(gv.Types, func(i, j int) bool { return gv.Types[i].Name < gv.Types[j].Name })
		sort.Slice(gv.Resources, func(i, j int) bool { return gv.Resources[i].Plural < gv.Resources[j].Plural })
		m.GroupVersions = append(m.GroupVersions, gv)
	}
	r.check(m, types)
	if err := r.err(); err != nil {
		return nil, err
	}
	if err := Compile(m); err != nil {
		return nil, err
	}
	r.checkCompiled(m)
	return m, r.err()
}

// list names the YAML files below a folder, sorted, relative to the root and
// with slashes; the folder below it named skip is left out.
func (r *reader) list(folder, skip string) []string {
	var names []string
	top := filepath.Join(r.root, folder)
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path == filepath.Join(top, skip) {
			return filepath.SkipDir
		}
		if !d.IsDir() && strings.HasSuffix(path, ".yaml") {
			rel, err := filepath.Rel(r.root, path)
			if err != nil {
				return err
			}
			names = append(names, filepath.ToSlash(rel))
		}
		return nil
	})
	if err != nil {
		r.fail(schema.Position{File: folder}, "run the generator at the root of the project", "the documents cannot be read: %v", err)
	}
	slices.Sort(names)
	return names
}

func (r *reader) profile(path string) model.Profile {
	var p model.Profile
	n, ok := r.file(path, "openapi/profile.yaml")
	if !ok {
		return p
	}
	fields := map[string]*string{"groupSuffix": &p.GroupSuffix, "labelDomain": &p.LabelDomain, "mediaTypeWord": &p.MediaTypeWord, "extensionPrefix": &p.ExtensionPrefix}
	set := map[string]func(node){}
	for name, to := range fields {
		set[name] = r.text(to)
	}
	r.object(n, "the profile", set)
	for _, name := range sortedKeys(fields) {
		if *fields[name] == "" {
			r.fail(n.pos(), "add it", "the profile does not say %s", name)
		}
	}
	if p.ExtensionPrefix != "" && (!strings.HasPrefix(p.ExtensionPrefix, "x-") || !strings.HasSuffix(p.ExtensionPrefix, "-")) {
		r.fail(n.pos(), `write something like "x-kubernetes-"`, "extensionPrefix %q does not begin with x- and end with -", p.ExtensionPrefix)
	}
	return p
}

// groupOf gives the group version of a directory, made on first sight.
func groupOf(gvs map[string]*model.GroupVersion, dir string) *model.GroupVersion {
	gv := gvs[dir]
	if gv == nil {
		group, version, _ := strings.Cut(dir, "/")
		gv = &model.GroupVersion{Dir: dir, Group: group, Version: version}
		gvs[dir] = gv
	}
	return gv
}

// types reads one file below schemas/: its root and its $defs.
func (r *reader) types(name string, gvs map[string]*model.GroupVersion, types map[string]*model.Type) {
	n, ok := r.file(filepath.Join(r.root, filepath.FromSlash(name)), name)
	if !ok {
		return
	}
	d := r.schemaDocument(n)
	id := strings.TrimSuffix(strings.TrimPrefix(name, "schemas/"), ".yaml")
	if d.root.ID != id {
		r.fail(n.pos(), "write $id: "+id, "$id %q does not match the file's path", d.root.ID)
	}
	slash := strings.LastIndexByte(id, '/')
	if strings.Count(id, "/") != 2 {
		r.fail(n.pos(), "move it to schemas/<group>/<version>/<Kind>.yaml", "the file is not two folders below schemas/")
		return
	}
	gv := groupOf(gvs, id[:slash])
	if d.group != "" {
		gv.Group = d.group
	}
	hasMeta := slices.ContainsFunc(d.root.Properties, func(p schema.Property) bool { return p.Name == "metadata" })
	kind := hasMeta
	if d.kind != nil {
		kind = *d.kind
	}
	r.addType(gv, types, &model.Type{GV: gv, Name: id[slash+1:], Root: true, Kind: kind, Schema: d.root})
	for _, def := range d.root.Defs {
		r.addType(gv, types, &model.Type{GV: gv, Name: def.Name, Schema: def.Schema})
	}
}

func (r *reader) addType(gv *model.GroupVersion, types map[string]*model.Type, t *model.Type) {
	t.ID = gv.Dir + "." + t.Name
	if other := types[t.ID]; other != nil {
		r.fail(t.Schema.Pos, "rename one of them, or move it to a file of its own", "the type %s is declared twice, first at %s", t.Name, other.Schema.Pos)
		return
	}
	types[t.ID] = t
	gv.Types = append(gv.Types, t)
}

// validOpenAPI checks that the document is OpenAPI, whatever else it says.
func (r *reader) validOpenAPI(name string) {
	text, err := os.ReadFile(filepath.Join(r.root, filepath.FromSlash(name)))
	if err == nil {
		loader := openapi3.NewLoader()
		var doc *openapi3.T
		if doc, err = loader.LoadFromData(text); err == nil {
			err = doc.Validate(loader.Context)
		}
	}
	if err != nil {
		r.fail(schema.Position{File: name, Line: 1}, "mend it; the x-cluster- blocks are not meant", "not a valid OpenAPI 3 document: %v", err)
	}
}

// Compile makes the table of every group version of a model.
func Compile(m *model.Model) error {
	named := map[string]*schema.Named{}
	for _, gv := range m.GroupVersions {
		for _, t := range gv.Types {
			named[t.ID] = &schema.Named{ID: t.ID, Dir: gv.Dir, Kind: t.Kind, Schema: t.Schema}
		}
	}
	for _, gv := range m.GroupVersions {
		roots := map[string]string{}
		for _, t := range gv.Types {
			roots[t.Name] = t.ID
		}
		for _, res := range gv.Resources {
			roots[res.Type.Name] = res.Type.ID
			for _, sub := range res.Subresources {
				roots[sub.Type.Name] = sub.Type.ID
			}
		}
		src := schema.Source{Group: gv.Group, Version: gv.Version, Types: named}
		for _, name := range sortedKeys(roots) {
			src.Roots = append(src.Roots, schema.RootName{Name: name, ID: roots[name]})
		}
		var err error
		if gv.Table, err = schema.Compile(src); err != nil {
			return fmt.Errorf("%s: %w", gv.Dir, err)
		}
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
