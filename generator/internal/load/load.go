package load

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Load reads the documents below root and compiles the table of every group version. The error joins one
// *schema.Error per mistake, of all steps: see Right.
func Load(root string) (*model.Model, error) {
	m, err := Right(root)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Right loads the documents below root, and next to the mistakes in them gives the model of what has nothing to do with
// these; nil if nothing is left. Later steps can look for mistakes in it.
func Right(root string) (*model.Model, error) {
	d := newDocuments(root)
	d.readAll()
	m, err := d.finish()
	if err != nil {
		first := slices.Clone(d.errs)
		m = d.others()
		d.within(first)
		err = d.err()
	}
	return m, err
}

// At loads the documents below root for a release (openapi/releases.yaml).
func At(root, release string) (*model.Model, error) {
	d := newDocuments(root)
	d.release = release
	d.readAll()
	return d.finish()
}

// With loads the documents below root with new or changed ones, by their names. The mistakes are those of the first step
// that finds some: programs that make documents can do without a wrong part, and begin again.
func With(root string, files map[string][]byte) (*model.Model, error) {
	d := newDocuments(root)
	d.changed = files
	d.readAll()
	return d.finish()
}

func newDocuments(root string) *documents {
	return &documents{
		reader: reader{root: root, places: map[*schema.Schema]map[string]schema.Position{}, inner: map[*schema.Schema][]innerMessage{},
			files: map[*yaml.Node]string{}},
		model: &model.Model{}, absent: map[string]bool{}, groups: map[string]*model.GroupVersion{}, moved: map[*schema.Schema]bool{}, types: map[string]*model.Type{},
	}
}

// finish takes the steps after reading.
func (d *documents) finish() (*model.Model, error) {
	for _, step := range []func(){d.sort, d.resolve, d.check, d.compile, d.checkCompiled} {
		if err := d.err(); err != nil {
			return nil, err
		}
		step()
	}
	return d.model, d.err()
}

// documents are all files below openapi/ and schemas/ on their way into a model.
type documents struct {
	reader
	model   *model.Model
	groups  map[string]*model.GroupVersion // by directory
	absent  map[string]bool                // group versions that the release lacks, by directory
	types   map[string]*model.Type         // by ID
	links   []link
	readers []reading
	heirs   []heir
	moved   map[*schema.Schema]bool // fields whose earlier names a conversion uses
	stored  []stored
}

// link is a reference from a group version's document to a schema.
type link struct {
	pos  schema.Position
	gv   *model.GroupVersion
	path string // "/core/v1/Pod"
	to   **model.Type
}

func (d *documents) readAll() {
	d.openModule()
	if d.openReleases(); len(d.errs) > 0 {
		return // nothing can be said of any release
	}
	d.model.Releases = d.releases
	p := d.profile("openapi/profile.yaml")
	d.model.Profile, d.model.Module, d.model.Hooks = p, d.module, d.module != "" && d.hooks()
	d.names = strings.NewReplacer("<groupSuffix>", p.GroupSuffix, "<labelDomain>", p.LabelDomain, "<mediaTypeWord>", p.MediaTypeWord,
		"<extensionPrefix>", p.ExtensionPrefix)
	referred := newReferred()
	for _, name := range d.list("openapi", "openapi/released") {
		switch name {
		case "openapi/profile.yaml", releasesFile:
			continue
		case "openapi/promises.yaml":
			d.model.Promises = d.promises(name)
			continue
		}
		found := len(d.errs)
		if n, text, ok := d.file(name); ok && d.own(name) {
			referred.scan(text)
			d.groupFile(name, n, text)
		} else if !ok && len(d.errs) == found {
			d.absent[strings.TrimSuffix(strings.TrimPrefix(name, "openapi/"), ".yaml")] = true
		}
	}
	for _, name := range d.list("schemas", "schemas/examples") {
		if d.absent[strings.TrimPrefix(path.Dir(name), "schemas/")] {
			continue
		}
		if n, text, ok := d.file(name); ok && d.own(name) {
			referred.scan(text)
			d.of(strings.TrimPrefix(path.Dir(name), "schemas/"), func() { d.schemaFile(name, n) })
		}
	}
	if len(d.groups)+len(d.errs) == 0 {
		d.fail(schema.Position{File: "openapi", Line: 1}, "add openapi/<group>/<version>.yaml, or take the folder from version control", "there is no group version")
	}
	if d.module != "" && len(d.errs) == 0 {
		d.readBuiltIn(referred)
	}
}

// sort brings everything into the order that Model promises.
func (d *documents) sort() {
	for _, dir := range sortedKeys(d.groups) {
		gv := d.groups[dir]
		slices.SortFunc(gv.Types, func(a, b *model.Type) int { return strings.Compare(a.Name, b.Name) })
		slices.SortFunc(gv.Resources, func(a, b *model.Resource) int { return strings.Compare(a.Plural, b.Plural) })
		d.model.GroupVersions = append(d.model.GroupVersions, gv)
	}
}

// list names the YAML files below a folder, sorted, relative to the root and
// with slashes; the folder skip is left out.
func (d *documents) list(folder, skip string) []string {
	var names []string
	for name := range d.changed {
		if strings.HasPrefix(name, folder+"/") {
			names = append(names, name)
		}
	}
	err := filepath.WalkDir(filepath.Join(d.root, folder), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(d.root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		switch {
		case entry.IsDir() && name == skip:
			return filepath.SkipDir
		case !entry.IsDir() && strings.HasSuffix(name, ".yaml"):
			names = append(names, name)
		case !entry.IsDir() && strings.HasSuffix(name, ".yml") && !d.without[name]:
			d.fail(schema.Position{File: name, Line: 1}, "rename it to .yaml", "the file would be overlooked")
		}
		return nil
	})
	if err != nil && (len(names) == 0 || !errors.Is(err, fs.ErrNotExist)) {
		d.fail(schema.Position{File: folder, Line: 1}, "run the generator at the root of the project", "the documents cannot be read: %v", err)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return d.without[name] })
}

// group gives the group version of a directory, made on first sight.
func (d *documents) group(dir string) *model.GroupVersion {
	gv := d.groups[dir]
	if gv == nil {
		group, version, _ := strings.Cut(dir, "/")
		gv = &model.GroupVersion{Dir: dir, Group: group, Version: version}
		d.groups[dir] = gv
	}
	return gv
}

// schemaFile reads one file below schemas/: its root and its $defs.
func (d *documents) schemaFile(name string, n node) {
	id := strings.TrimSuffix(strings.TrimPrefix(name, "schemas/"), ".yaml")
	if strings.Count(id, "/") != 2 {
		d.fail(schema.Position{File: name, Line: 1}, "move it to schemas/<group>/<version>/<Kind>.yaml", "the file is not two folders below schemas/")
		return
	}
	if n = d.sameAs(n); !d.wellFormed(n, "schema") {
		return
	}
	doc := d.schemaDocument(n)
	if own := doc.root.ID; own != "" && own != id {
		d.fail(d.at(doc.root, "$id"), "write $id: "+id+", or drop it", "$id %q does not match the file's path", own)
	}
	doc.root.ID = id
	d.nameRefs(doc.root)
	slash := strings.LastIndexByte(id, '/')
	gv := d.group(id[:slash])
	kind := slices.ContainsFunc(doc.root.Properties, func(p schema.Property) bool { return p.Name == "metadata" })
	if doc.kind != nil {
		kind = *doc.kind
	}
	if kind {
		fillUsual(doc.root, id[slash+1:])
	}
	for _, def := range doc.root.Defs {
		numberFields(def.Schema)
	}
	numberFields(doc.root)
	doc.root.Binary = max(doc.root.Binary, 0)
	d.addType(n.pos(), &model.Type{GV: gv, Name: id[slash+1:], Root: true, Kind: kind, Schema: doc.root})
	for _, def := range doc.root.Defs {
		d.addType(def.Pos, &model.Type{GV: gv, Name: def.Name, Schema: def.Schema})
	}
}

func (d *documents) addType(pos schema.Position, t *model.Type) {
	t.ID = t.GV.Dir + "." + t.Name
	if !typeName.MatchString(t.Name) {
		d.fail(pos, "write CamelCase letters and digits", "%q cannot be the name of a type", t.Name)
	}
	if other := d.types[t.ID]; other != nil {
		d.fail(pos, "rename one of them, or move it to a file of its own", "the type %s is declared twice, first at %s", t.Name, other.Schema.Pos)
		return
	}
	for i := range t.Schema.Rules {
		t.Rules = append(t.Rules, d.at(t.Schema, ruleKey(i)))
	}
	d.types[t.ID] = t
	t.GV.Types = append(t.GV.Types, t)
}

// resolve finds the types that group versions' documents name.
func (d *documents) resolve() {
	for _, l := range d.links {
		if !strings.Contains(l.path, "/") { // a kind of the same version
			l.path = "/" + l.gv.Dir + "/" + l.path
		}
		id, ok := schema.ResolveRef(l.gv.Dir, l.path)
		t := d.types[id]
		switch {
		case !ok || t == nil:
			d.fail(l.pos, "write schemas/"+strings.TrimPrefix(l.path, "/")+".yaml", "no schema document for %s", l.path)
		case !t.Kind:
			d.fail(l.pos, "name a kind, or give it x-cluster-kind: true", "%s is not a kind: it has no metadata", l.path)
		}
		*l.to = t
	}
	for _, gv := range d.model.GroupVersions {
		for _, res := range gv.Resources {
			if res.StorageVersionHash == "" && res.Stored && !d.storedElsewhere(res) {
				res.StorageVersionHash = usualHash(gv.Group, res.StorageVersion, res.Kind)
			}
			d.resolveAnswer(res.Action, res.Type, res, res.Plural)
			for i := range res.Subresources {
				sub := &res.Subresources[i]
				if sub.Type == nil {
					sub.Type = res.Type
				}
				d.resolveAction(sub, res)
			}
		}
	}
	d.resolveStored()
	d.resolveRelations()
	for _, gv := range d.model.GroupVersions {
		for _, res := range gv.Resources {
			if res.Type != nil {
				d.markWritable(res)
			}
		}
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
