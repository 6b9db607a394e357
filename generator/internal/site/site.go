// Package site writes the documentation as pages of HTML without scripts: a reference of all
// kinds and their fields from the documents, another of the keys of documents, the changes since
// the last release, and guides.
package site

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"

	"github.com/capstan-dev/capstan/generator/compat"
	"github.com/capstan-dev/capstan/generator/internal/load"
	"github.com/capstan-dev/capstan/generator/internal/model"
)

// guide is a page from Markdown: of a file, or without one the reference of keys. Step is its name in
// the head of all pages; "" if it is not there.
type guide struct{ Source, Page, Title, Step string }

//go:embed templates
var files embed.FS

// guides are the pages that are written by hand, for each kind of user, and the pages of the
// repository that they lead to.
// A project that lacks some of them gets the others.
var guides = []guide{
	{"docs/install.md", "install.html", "Install it", "install"},
	{"docs/operators.md", "operators.html", "For those who run it", "run"},
	{"docs/clients.md", "clients.html", "For those who write clients", "clients"},
	{"docs/designers.md", "designers.html", "For those who design schemas", "schemas"},
	{"docs/scale.md", "scale.html", "Large clusters on etcd", ""},
	{"docs/documents.md", "documents.html", "What documents mean", ""},
	{"", "keys.html", "Keys of documents", "keys"},
	{"README.md", "readme.html", "Overview", ""},
	{"CONTRIBUTING.md", "contributing.html", "How to change documents and code", ""},
	{"ARCHITECTURE.md", "architecture.html", "Architecture", ""},
	{"LIBRARIES.md", "libraries.html", "Libraries", ""},
	{"GLOSSARY.md", "glossary.html", "Glossary", ""},
	{"SECURITY.md", "security.html", "Security", ""},
	{"tools/bench/RESULTS.md", "figures.html", "Figures", ""},
}

// Page is one file of the site.
type Page struct {
	Path string // "reference/apps/v1.html"
	Text []byte
}

// Pages makes the site of the project in a folder.
func Pages(root string, now time.Time) ([]Page, error) {
	m, err := load.Load(root)
	if err != nil {
		return nil, err
	}
	w, err := newWriter(m)
	if err != nil {
		return nil, err
	}
	there := func(name string) bool {
		_, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
		return err == nil
	}
	w.Guides = slices.DeleteFunc(slices.Clone(guides), func(g guide) bool { return g.Source != "" && !there(g.Source) })
	w.Guides = append(w.Guides, furtherGuides(root)...)
	w.Released = there(compat.Released)
	w.add("index.html", "Guides and reference", "index", m.GroupVersions)
	for _, g := range w.Guides {
		w.guide(root, g)
	}
	for _, gv := range m.GroupVersions {
		w.groupVersion(gv)
	}
	if w.Released {
		w.changes(root, now)
	}
	style, err := files.ReadFile("templates/style.css")
	w.pages = append(w.pages, Page{"style.css", style})
	return w.pages, cmp.Or(w.err, err)
}

// furtherGuides are the pages in docs/ that only this project has, by the title that they begin
// with.
func furtherGuides(root string) (more []guide) {
	found, _ := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	for _, path := range found {
		g := guide{Source: "docs/" + filepath.Base(path), Page: strings.TrimSuffix(filepath.Base(path), ".md") + ".html",
			Title: strings.TrimSuffix(filepath.Base(path), ".md")}
		if slices.ContainsFunc(guides, func(o guide) bool { return o.Source == g.Source || o.Page == g.Page }) {
			continue
		}
		if text, err := os.ReadFile(path); err == nil && bytes.HasPrefix(text, []byte("# ")) {
			first, _, _ := bytes.Cut(text[2:], []byte("\n"))
			g.Title = strings.TrimSpace(string(first))
		}
		more = append(more, g)
	}
	return more
}

// Write replaces a folder by the site. It refuses a folder with anything else.
func Write(root, dir string, now time.Time) (pages int, err error) {
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	if old, _ := filepath.Glob(filepath.Join(dir, "index.html")); len(files) > 0 && len(old) == 0 {
		return 0, fmt.Errorf("%s holds something else than a site; name another folder", dir)
	}
	all, err := Pages(root, now)
	if err != nil {
		return 0, err
	}
	if err := os.RemoveAll(dir); err != nil {
		return 0, err
	}
	for _, p := range all {
		name := filepath.Join(dir, filepath.FromSlash(p.Path))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return 0, err
		}
		if err := os.WriteFile(name, p.Text, 0o644); err != nil {
			return 0, err
		}
	}
	return len(all), nil
}

// writer collects pages, and the first error.
type writer struct {
	model     *model.Model
	types     map[string]*model.Type // by id
	templates *template.Template
	pages     []Page
	err       error

	Guides   []guide // that the project has
	Released bool    // there is a release to compare with
}

func newWriter(m *model.Model) (*writer, error) {
	w := &writer{model: m, types: map[string]*model.Type{}}
	for _, gv := range m.GroupVersions {
		for _, t := range gv.Types {
			w.types[t.ID] = t
		}
	}
	functions := template.FuncMap{"join": strings.Join, "apiVersion": apiVersion, "pageOf": pageOf}
	var err error
	w.templates, err = template.New("").Funcs(functions).ParseFS(files, "templates/*.html")
	return w, err
}

// add adds a page that a template makes.
func (w *writer) add(name, title, templateName string, data any) {
	var content, page bytes.Buffer
	root := strings.Repeat("../", strings.Count(name, "/"))
	err := w.templates.ExecuteTemplate(&content, templateName+".html", struct {
		*writer
		Data any
	}{w, data})
	if err == nil {
		err = w.templates.ExecuteTemplate(&page, "page.html", struct {
			*writer
			Title, Root string
			Content     template.HTML
		}{w, title, root, template.HTML(content.String())})
	}
	if err != nil {
		w.err = cmp.Or(w.err, fmt.Errorf("%s: %w", name, err))
	}
	w.pages = append(w.pages, Page{name, page.Bytes()})
}

// guide adds a page from Markdown. Links to other pages of the repository become links to
// theirs; links to files without a page become their names.
func (w *writer) guide(root string, g guide) {
	var text []byte
	var err error
	if g.Source == "" {
		var keys string
		keys, err = Keys("")
		text = []byte(keys)
	} else {
		text, err = os.ReadFile(filepath.Join(root, filepath.FromSlash(g.Source)))
	}
	if err != nil {
		w.err = cmp.Or(w.err, err)
		return
	}
	md := goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	var content bytes.Buffer
	if err := md.Convert(w.resolve(root, path.Dir(g.Source), text), &content); err != nil {
		w.err = cmp.Or(w.err, fmt.Errorf("%s: %w", g.Source, err))
	}
	w.add(g.Page, g.Title, "guide", template.HTML(content.String()))
}

// changes adds the page about the last release and the present documents.
func (w *writer) changes(root string, now time.Time) {
	old, err := compat.Baseline(root, now)
	if err != nil {
		w.err = cmp.Or(w.err, err)
		return
	}
	documents, err := compat.Documents(root)
	if err != nil {
		w.err = cmp.Or(w.err, err)
		return
	}
	config, err := compat.ReadConfig(filepath.Join(root, "compat.yaml"))
	if err != nil && !os.IsNotExist(err) {
		w.err = cmp.Or(w.err, err)
		return
	}
	released, err := load.Load(filepath.Join(root, filepath.FromSlash(compat.Released)))
	if err != nil {
		w.err = cmp.Or(w.err, err)
		return
	}
	w.add("changes.html", "Changes", "changes", struct {
		Release *compat.Release
		Report  *compat.Report
		Added   []addition
	}{old.Release, compat.Compare(old, documents, compat.Options{Config: config, Now: now}), added(released, w.model)})
}

// addition is a kind, a resource or fields that the release does not have.
type addition struct {
	GV    *model.GroupVersion
	Names []string
}

func added(old, now *model.Model) (all []addition) {
	had := map[string]bool{}
	names := func(gv *model.GroupVersion) (list []string) {
		for _, r := range gv.Resources {
			list = append(list, r.Plural)
			for _, s := range r.Subresources {
				list = append(list, r.Plural+"/"+s.Name)
			}
		}
		for _, t := range gv.Types {
			for _, f := range t.Schema.Properties {
				list = append(list, t.Name+"."+f.Name)
			}
		}
		return list
	}
	for _, gv := range old.GroupVersions {
		for _, name := range names(gv) {
			had[gv.Dir+" "+name] = true
		}
	}
	for _, gv := range now.GroupVersions {
		fresh := slices.DeleteFunc(names(gv), func(name string) bool { return had[gv.Dir+" "+name] })
		if len(fresh) > 0 {
			all = append(all, addition{gv, fresh})
		}
	}
	return all
}

// apiVersion is the text of an object's apiVersion, or the folder of shared types.
func apiVersion(gv *model.GroupVersion) string {
	switch {
	case gv.Group == "" && gv.Served:
		return gv.Version
	case gv.Group == "":
		return gv.Dir
	}
	return gv.Group + "/" + gv.Version
}

// pageOf is the page of a group version.
func pageOf(gv *model.GroupVersion) string { return "reference/" + gv.Dir + ".html" }
