package load

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/openapi"
	"github.com/capstan-dev/capstan/schemas"
)

// A project without a profile is a module on top of the built-in groups: their documents
// are part of the generator, and those that its own refer to are read with them.

// openModule reads the import path of the project, if it is such a module.
func (r *reader) openModule() {
	if _, err := os.Stat(filepath.Join(r.root, "openapi", "profile.yaml")); err == nil {
		return
	}
	if _, err := os.Stat(filepath.Join(r.root, "openapi")); err != nil && r.changed == nil {
		return // no project at all
	}
	r.module = model.Nameless
	dir := r.root
	for range 3 { // a release is in openapi/released of the module
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil {
			if path := modulePath.FindSubmatch(text); path != nil {
				r.module = string(path[1])
			}
			return
		}
		dir = filepath.Join(dir, "..")
	}
}

// hooks reports whether the module has its hooks where new modules have them.
func (r *reader) hooks() bool {
	files, _ := filepath.Glob(filepath.Join(r.root, "hooks", "*.go"))
	return slices.ContainsFunc(files, func(name string) bool {
		text, err := os.ReadFile(name)
		return err == nil && hooksType.Match(text)
	})
}

var hooksType = regexp.MustCompile(`(?m)^type Hooks\b`)

var modulePath = regexp.MustCompile(`(?m)^module[ \t]+"?([^\s"]+)`)

// read reads a document of the project, or a built-in one.
func (r *reader) read(name string) ([]byte, error) {
	if text := r.changed[name]; text != nil {
		return text, nil
	}
	text, err := os.ReadFile(filepath.Join(r.root, filepath.FromSlash(name)))
	if r.module == "" || !errors.Is(err, fs.ErrNotExist) {
		return text, err
	}
	folder, rest, _ := strings.Cut(name, "/")
	if folder == "openapi" {
		return openapi.Documents.ReadFile(rest)
	}
	return schemas.Documents.ReadFile(rest)
}

// builtIn reports whether a module can refer to a built-in schema by this name.
func (r *reader) builtIn(name string) bool {
	_, err := fs.Stat(schemas.Documents, strings.TrimPrefix(name, "schemas/"))
	return r.module != "" && err == nil
}

// isBuiltIn reports whether a document of a module's model is a built-in one.
func (r *reader) isBuiltIn(name string) bool {
	if r.module == "" {
		return false
	}
	folder, rest, _ := strings.Cut(name, "/")
	documents := schemas.Documents
	if folder == "openapi" {
		documents = openapi.Documents
	}
	_, err := fs.Stat(documents, rest)
	return err == nil
}

// own reports whether a file may be one of the project's: a module has groups of its own,
// and folders of packages that other packages may import.
func (d *documents) own(name string) bool {
	parts := strings.Split(name, "/")
	if slices.Contains([]string{"internal", "vendor", "testdata"}, parts[1]) || strings.HasPrefix(parts[1], "_") {
		d.fail(schema.Position{File: name, Line: 1}, "give the group another first word", "the folder %s has a meaning of its own in Go", parts[1])
		return false
	}
	if d.module == "" {
		return true
	}
	_, err := fs.Stat(schemas.Documents, parts[1])
	if err == nil {
		d.fail(schema.Position{File: name, Line: 1}, "move it to a group of your own", "the folder %s belongs to a built-in group", parts[1])
	}
	return err != nil
}

// referred are the folders of types that documents refer to.
type referred struct {
	seen map[string]bool
	due  []string
}

// The types of all answers, and of the scale subresource, are always there.
func newReferred() *referred {
	r := &referred{seen: map[string]bool{}}
	r.add("meta/v1")
	r.add("autoscaling/v1")
	return r
}

func (r *referred) add(dir string) {
	if !r.seen[dir] {
		r.seen[dir] = true
		r.due = append(r.due, dir)
	}
}

var reference = regexp.MustCompile(`/([a-z][-a-z0-9.]*/v[0-9a-z]+)/[A-Z]`)

// scan adds the folders in the references of a text.
func (r *referred) scan(text []byte) {
	for _, found := range reference.FindAllSubmatch(text, -1) {
		r.add(string(found[1]))
	}
}

// readBuiltIn reads the built-in schemas in the folders that are referred to, and in
// those that they refer to.
func (d *documents) readBuiltIn(r *referred) {
	for len(r.due) > 0 {
		dir := r.due[0]
		r.due = r.due[1:]
		files, err := fs.Glob(schemas.Documents, dir+"/*.yaml")
		if err != nil || len(files) == 0 {
			continue // the project's own, or a mistake that a later step reports
		}
		slices.Sort(files)
		gv := d.group(dir)
		gv.BuiltIn = true
		for _, file := range files {
			if n, text, ok := d.file("schemas/" + file); ok {
				r.scan(text)
				d.schemaFile("schemas/"+file, n)
			}
		}
		if _, err := fs.Stat(openapi.Documents, dir+".yaml"); err != nil {
			continue // meta has types only
		}
		n, _, _ := d.file("openapi/" + dir + ".yaml")
		for _, e := range d.entries(n) {
			if e.key == "x-cluster-group" {
				d.groupBlock(e.value, gv)
			}
		}
	}
}
