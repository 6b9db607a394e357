// Package site writes the documentation as pages of HTML: guides from Markdown, a page for each
// kind from the documents, the keys of documents, and the changes since the last release. All of it
// can be read without scripts; one script adds search, copying and the choice of colours.
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
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/capstan-dev/capstan/generator/compat"
	"github.com/capstan-dev/capstan/generator/internal/load"
	"github.com/capstan-dev/capstan/generator/internal/model"
)

//go:embed templates
var files embed.FS

// assets are the files of the site that are the same for every project.
var assets = []string{"style.css", "site.js", "icon.svg"}

// Page is one file of the site.
type Page struct {
	Path string // "kinds/apps/v1/Deployment.html"
	Text []byte
}

// Pages makes the site of the project in a folder.
func Pages(root string, now time.Time) ([]Page, error) {
	m, err := load.All(root)
	if err != nil {
		return nil, err
	}
	w, err := newWriter(root, m.Whole())
	if err != nil {
		return nil, err
	}
	if w.contents, err = readContents(root, w.model); err != nil {
		return nil, err
	}
	w.home()
	for _, p := range w.Parts() {
		for _, e := range p.Pages {
			w.guide(e)
		}
	}
	w.kinds()
	if w.Released {
		w.changes(now)
	}
	w.releases(m.InOrder(), now)
	w.searchIndex()
	for _, name := range assets {
		text, err := files.ReadFile("templates/" + name)
		w.err = cmp.Or(w.err, err)
		w.pages = append(w.pages, Page{name, text})
	}
	return w.pages, w.err
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
	*contents
	root      string // the folder of the project
	model     *model.Model
	types     map[string]*model.Type   // by id
	homes     map[*model.Type]string   // the page of each type
	users     map[*model.Type][]string // ids of the types that refer to one
	templates *template.Template
	pages     []Page
	found     []section // of all pages, for the search
	err       error
}

// readProject makes the writer of the project in a folder.
func readProject(root string) (*writer, error) {
	m, err := load.Load(root)
	if err != nil {
		return nil, err
	}
	return newWriter(root, m)
}

func newWriter(root string, m *model.Model) (*writer, error) {
	w := &writer{root: root, model: m, types: model.TypesByID(m.GroupVersions)}
	w.users = w.references()
	w.homes = w.homesOf()
	functions := template.FuncMap{"join": strings.Join, "apiVersion": apiVersion, "pageOf": pageOf, "anchor": anchorOf, "phrase": phrase,
		"span": spanOf, "releases": releasesOf}
	var err error
	w.templates, err = template.New("").Funcs(functions).ParseFS(files, "templates/*.html")
	return w, err
}

// frame is the data of the template of all pages.
type frame struct {
	*contents
	Path, Title, Root string
	Step              step
	Headings          []heading // for the list of the page's sections
	Content           template.HTML
}

// Here reports whether a link of the sidebar leads to this page or, with a slash at its end, to a
// folder around it.
func (f frame) Here(target string) bool {
	return f.Path == target || strings.HasSuffix(target, "/") && strings.HasPrefix(f.Path, target)
}

// add adds a page with a content.
func (w *writer) add(name, title string, headings []heading, content template.HTML) {
	var page bytes.Buffer
	root := strings.Repeat("../", strings.Count(name, "/"))
	err := w.templates.ExecuteTemplate(&page, "page.html", frame{w.contents, name, title, root, w.stepOf(name), headings, content})
	if err != nil {
		w.err = cmp.Or(w.err, fmt.Errorf("%s: %w", name, err))
	}
	w.pages = append(w.pages, Page{name, page.Bytes()})
}

// render is the HTML that a template makes of data, for a page.
func (w *writer) render(page, templateName string, data any) template.HTML {
	var content bytes.Buffer
	err := w.templates.ExecuteTemplate(&content, templateName+".html", struct {
		*contents
		Root string
		Data any
	}{w.contents, strings.Repeat("../", strings.Count(page, "/")), data})
	if err != nil {
		w.err = cmp.Or(w.err, fmt.Errorf("%s: %w", page, err))
	}
	return template.HTML(content.String())
}

// home adds the first page: the parts and the group versions.
func (w *writer) home() {
	intro, _, err := w.markdown(contentsFile, w.Intro)
	w.err = cmp.Or(w.err, err)
	w.add("index.html", w.Name, nil, w.render("index.html", "index", struct {
		Intro         template.HTML
		GroupVersions []*model.GroupVersion
	}{template.HTML(intro), w.model.GroupVersions}))
}

// kinds adds the pages of the kinds and of their group versions, and the list of them.
func (w *writer) kinds() {
	for _, gv := range w.model.GroupVersions {
		w.groupVersion(gv)
		for _, t := range gv.Types {
			if t.Kind {
				w.kind(t)
			}
		}
	}
	w.add("kinds/index.html", "Kinds", nil, w.render("kinds/index.html", "kinds", w.model.GroupVersions))
}

var inCode = regexp.MustCompile("`([^`]*)`")

// phrase is a line of the contents about a page as a sentence in HTML.
func phrase(text string) template.HTML {
	first, size := utf8.DecodeRuneInString(text)
	text = template.HTMLEscapeString(string(unicode.ToUpper(first)) + text[size:])
	return template.HTML(inCode.ReplaceAllString(text, "<code>$1</code>"))
}

// there reports whether the project has a file.
func there(root, name string) bool {
	_, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
	return err == nil
}

// released reports whether there is a release to compare with.
func released(root string) bool { return there(root, compat.Released) }

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
func pageOf(gv *model.GroupVersion) string { return path.Join("kinds", gv.Dir+".html") }
