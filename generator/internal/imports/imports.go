// Package imports makes documents of schemas that others publish: custom resource definitions,
// OpenAPI 3 documents, and the documents of running servers.
package imports

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/foreign"
	"github.com/capstan-dev/capstan/generator/internal/load"
	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/schemas"
)

// Note is a part of the source that documents cannot have, or have in another way.
type Note struct {
	Pos       schema.Position
	What, Fix string
}

func (n Note) String() string { return fmt.Sprintf("%s: %s; %s", n.Pos, n.What, n.Fix) }

// Result are the documents, by their names, and the parts that were not taken over.
type Result struct {
	Files map[string][]byte
	Notes []Note
	Model *model.Model
}

// Options say how documents are made.
type Options struct {
	Root      string                   // of the project
	Groups    []string                 // only these; nil for all
	Overwrite bool                     // documents that are there already
	Check     func(*model.Model) error // finds mistakes that code made of the documents would have; may be nil
}

// result gathers documents.
type result struct {
	Options
	notes       []Note
	taken       map[string]bool // IDs of types
	folders     map[string]string
	roots       map[string]mapping                // documents by name
	files       map[string]string                 // the file that each was made of
	since       string                            // the release of deprecations
	dropped     map[schema.Position]*schema.Error // parts that documents refuse, by the place in the source
	conversions map[string]conversion             // by folder and plural
	lists       map[schema.Position]bool          // columns that show lists of texts
	stored      map[string]string                 // by group and plural: the first version, in which objects are stored
	renamed     map[schema.Position]bool          // fields that need another name in Go
	shared      bool                              // the documents need the built-in ones of meta/v1
	merged      map[string]bool                   // documents of the project that get further resources
}

func (r *result) note(at schema.Position, fix, what string) {
	r.notes = append(r.notes, Note{at, what, fix})
}

// Of makes the documents of a file. An error names the mistakes in it, or in the
// documents that would be made; there are none then.
func Of(f *foreign.File, o Options) (*Result, error) {
	return OfServer([]foreign.Served{{File: f}}, o)
}

// OfServer makes the documents of all that a server publishes.
func OfServer(all []foreign.Served, o Options) (*Result, error) {
	r := &result{Options: o, since: "0.0", dropped: map[schema.Position]*schema.Error{}, conversions: map[string]conversion{}, lists: map[schema.Position]bool{},
		renamed: map[schema.Position]bool{}}
	for range 20 {
		r.notes, r.taken, r.merged, r.folders = nil, map[string]bool{}, map[string]bool{}, map[string]string{}
		r.roots, r.files = map[string]mapping{}, map[string]string{}
		r.stored = map[string]string{}
		var errs []error
		for _, one := range all {
			if one.OpenAPI() {
				r.document(one.File, one.Resources)
			} else {
				r.definitions(one.File, one.Definitions())
			}
			errs = append(errs, one.Err())
		}
		if err := errors.Join(errs...); err != nil {
			return nil, err
		}
		made, again, err := r.finish()
		if !again {
			return made, err
		}
	}
	return nil, errors.New(all[0].Name + ":1: the documents of this file do not become right; report it with the file")
}

// finish encodes the documents and loads them with those of the project. It asks to be
// called again for documents without the parts that cannot be taken over.
func (r *result) finish() (made *Result, again bool, err error) {
	made = &Result{Files: map[string][]byte{}, Notes: r.notes}
	origin := map[string]places{}
	for name, root := range r.roots {
		text, lines, err := encode(root.Node)
		if err != nil {
			return nil, false, err
		}
		made.Files[name], origin[name] = text, places{r.files[name], lines}
		if was, err := os.ReadFile(filepath.Join(r.Root, filepath.FromSlash(name))); !errors.Is(err, fs.ErrNotExist) && !r.Overwrite && !r.merged[name] &&
			!bytes.Equal(was, text) {
			return nil, false, fmt.Errorf("%s:1: %s is there already; remove it, import into another folder, or write --overwrite", r.files[name], name)
		}
	}
	if r.shared && r.hasProfile() { // parts of every answer: they are never those of others
		files, err := fs.Glob(schemas.Documents, "meta/v1/*.yaml")
		for _, file := range files {
			if _, there := os.Stat(filepath.Join(r.Root, "schemas", file)); errors.Is(there, fs.ErrNotExist) && err == nil {
				made.Files["schemas/"+file], err = fs.ReadFile(schemas.Documents, file)
			}
		}
		if err != nil {
			return nil, false, err
		}
	}
	if len(made.Files) == 0 {
		return nil, false, errors.New("nothing is left to import: no served version of the chosen groups")
	}
	m, err := load.With(r.Root, made.Files)
	if err == nil && r.Check != nil {
		err = r.Check(m)
	}
	if err == nil {
		made.Model = m
		return made, false, nil
	}
	var errs []error
	for _, e := range separate(err) {
		var wrong *schema.Error
		if !errors.As(e, &wrong) || origin[wrong.Pos.File].file == "" {
			errs = append(errs, e)
			continue
		}
		at := origin[wrong.Pos.File].at(wrong.Pos.Line)
		if r.without(wrong, at) {
			again = true
			continue
		}
		errs = append(errs, fmt.Errorf("%s: %s; %s (in %s:%d)", at, wrong.What, wrong.Fix, wrong.Pos.File, wrong.Pos.Line))
	}
	if len(errs) > 0 {
		return nil, false, errors.Join(errs...)
	}
	return nil, again, nil
}

func separate(err error) []error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		return many.Unwrap()
	}
	return []error{err}
}

// without notes a part to leave out because of a mistake that the documents would have; false
// if they are wrong without it too.
func (r *result) without(e *schema.Error, at schema.Position) bool {
	converted := func(plural string) string {
		return strings.TrimSuffix(strings.TrimPrefix(e.Pos.File, "openapi/"), ".yaml") + "/" + plural
	}
	switch of := e.Of.(type) {
	case model.Unconverted:
		c := r.conversions[converted(of.Plural)]
		if c.hook {
			return false
		}
		for _, path := range of.Lost {
			if path = "." + path; strings.Contains(path, "[") || slices.Contains(c.carries, path) {
				c.hook = true
			} else {
				c.carries = append(c.carries, path)
			}
		}
		r.conversions[converted(of.Plural)] = c
		return true
	case model.Carried:
		c := r.conversions[converted(of.Plural)]
		c.carries = slices.DeleteFunc(c.carries, func(path string) bool { return path == of.Path })
		c.hook = true
		r.conversions[converted(of.Plural)] = c
		return true
	case model.Part:
		if other := map[model.Part]map[schema.Position]bool{model.OfColumnType: r.lists, model.OfGoName: r.renamed}[of]; other != nil && !other[at] {
			other[at] = true
			return true
		}
		if of != model.OfGoName && r.dropped[at] == nil {
			r.dropped[at] = e
			return true
		}
	}
	return false
}

// left reports whether a part is left out, and says so.
func (k *kind) left(line int) bool {
	at := schema.Position{File: k.file.Name, Line: line}
	e := k.dropped[at]
	if e != nil {
		k.result.note(at, e.Fix, k.name+": not taken over: "+e.What)
	}
	return e != nil
}

// shownAsList reports whether the column in a line shows a list of texts.
func (k *kind) shownAsList(line int) bool {
	at := schema.Position{File: k.file.Name, Line: line}
	return k.lists[at] && (k.dropped[at] == nil || k.dropped[at].Of == model.OfColumnType)
}

// conversion is how objects of a version become those of the storage version.
type conversion struct {
	carries []string
	hook    bool
}

// folder is the folder of a group in the project.
func (r *result) folder(group string) string {
	if known := r.folders[group]; known != "" {
		return known
	}
	if group == "" {
		return "core"
	}
	folder, _, _ := strings.Cut(group, ".")
	_, builtIn := fs.Stat(schemas.Documents, folder)
	taken := builtIn == nil && folder != group && !r.hasProfile() || slices.Contains([]string{"internal", "testdata", "vendor", "main"}, folder)
	for other, name := range r.folders {
		taken = taken || name == folder && other != group
	}
	if _, err := os.Stat(filepath.Join(r.Root, "openapi", group)); err == nil || taken {
		folder = group
	}
	r.folders[group] = folder
	return folder
}

// hasProfile reports whether the project has the built-in groups among its own documents.
func (r *result) hasProfile() bool {
	_, err := os.Stat(filepath.Join(r.Root, "openapi", "profile.yaml"))
	return err == nil
}

// wanted reports whether a group is to be imported.
func (r *result) wanted(group string) bool {
	return r.Groups == nil || slices.Contains(r.Groups, group)
}

// definitions makes documents of the versions of custom resource definitions.
func (r *result) definitions(f *foreign.File, all []foreign.Version) {
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].Definition == all[0].Definition {
			n++
		}
		if of := all[:n]; r.wanted(of[0].Group) {
			r.definition(f, of)
		}
		all = all[n:]
	}
}

// definition makes documents of the served versions of one definition.
func (r *result) definition(f *foreign.File, all []foreign.Version) {
	spec, name := all[0].Definition, all[0].Resource.Kind
	say := func(at foreign.Place, fix, format string, args ...any) {
		r.note(f.Position(at), fix, name+": "+fmt.Sprintf(format, args...))
	}
	if s := spec.At("conversion").At("strategy"); s.Text() == "Webhook" {
		say(s, "write hooks: [convert], and the conversion in Go", "the webhook that converts versions is not taken over: their common fields are copied")
	}
	if p := spec.At("preserveUnknownFields"); p.Yes() {
		f.Fail(p, "write false, and preserve unknown fields where members are not known",
			"the schema of %s is not structural: unknown fields are kept everywhere", name)
	}
	served := slices.DeleteFunc(slices.Clone(all), func(v foreign.Version) bool {
		if !v.Served {
			say(v.At, "serve it, or migrate its objects before", "the version %s is not served, so it is left out", v.Name)
		}
		return !v.Served
	})
	if len(served) == 0 {
		return
	}
	slices.SortStableFunc(served, func(a, b foreign.Version) int {
		return cmp.Or(compareBool(b.Stored, a.Stored), priority(b.Name)-priority(a.Name))
	})
	if !served[0].Stored {
		say(served[0].At, "check that this is wanted", "the stored version is not served: documents store %s", served[0].Name)
	}
	stored := r.version(f, served[0], mapping{}, "", say)
	for _, v := range served[1:] {
		if v.Resource.HasStatus != served[0].Resource.HasStatus {
			say(v.At, "give all versions a status subresource, or none",
				"%s differs from the stored version %s in having a status subresource: it gets that one's", v.Name, served[0].Name)
			v.Resource.HasStatus = served[0].Resource.HasStatus
		}
		if !slices.EqualFunc(v.Resource.Columns, served[0].Resource.Columns,
			func(a, b model.Column) bool { return a.Name == b.Name && a.Path == b.Path && a.Type == b.Type }) {
			say(v.At, "compare the columns", "%s has other columns than the stored version %s: tables show those of that one", v.Name, served[0].Name)
		}
		r.version(f, v, stored, r.folder(v.Group)+"/"+served[0].Name+"/"+name, say)
	}
}

// version makes the documents of a version, whose objects are stored as another one if that
// has a name.
func (r *result) version(f *foreign.File, v foreign.Version, stored mapping, as string, say func(foreign.Place, string, string, ...any)) mapping {
	name, dir := v.Resource.Kind, r.folder(v.Group)+"/"+v.Name
	k := &kind{result: r, file: f, name: name, dir: dir, structural: true, head: true}
	k.refer = func(ref foreign.Place, _ mapping) {
		f.Fail(ref, "write the schema in place", "a schema of a custom resource refers to %q", ref.Text())
	}
	r.taken[dir+"."+name], r.taken[dir+"."+v.Resource.ListKind] = true, true
	doc, out := k.document(v.Root), "schemas/"+dir+"/"+name+".yaml"
	if r.roots[out].Node != nil {
		f.Fail(v.At, "rename one of them", "two definitions have the kind %s of %s", name, dir)
		return doc
	}
	r.roots[out], r.files[out] = doc, f.Name
	if as != "" && sameNode(doc.Node, stored.Node) {
		same := newMapping(doc.Line)
		same.text("x-cluster-same-as", "/"+as, doc.Line)
		r.roots[out] = same
	}
	entry := k.resource(v.Resource, v.At, as)
	if c := r.conversions[dir+"/"+v.Resource.Plural]; as != "" {
		entry.texts("carries", c.carries, entry.Line)
		if c.hook {
			entry.texts("hooks", []string{"convert"}, entry.Line)
			say(v.At, "write the conversion in Go, or give the fields one name and type", "the versions %s and %s differ in lists or types",
				v.Name, path.Base(path.Dir(as)))
		}
	}
	r.addResource(f, v.At, v.Group, dir, v.Resource.Plural, entry)
	return doc
}

// addResource adds a resource to the document of its group version.
func (r *result) addResource(f *foreign.File, at foreign.Place, group, dir, plural string, entry mapping) {
	resources := r.group(f.Name, group, dir)
	if resources.get(plural) != nil && !r.Overwrite {
		f.Fail(at, "remove it there, import into another folder, or write --overwrite", "openapi/%s.yaml has the resource %s already", dir, plural)
		return
	}
	resources.set(plural, entry.Node)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
