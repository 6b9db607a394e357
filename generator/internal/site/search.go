package site

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// section is a place that the search finds.
type section struct {
	page, pageTitle string
	anchor, title   string
	text            string
}

// longestText bounds the text of a section in the index, in bytes: the words that say what it is
// about are at its beginning.
const longestText = 600

// searchIndex adds the index of all pages. It is a script, since a page that was opened as a file
// may load a script and no data.
func (w *writer) searchIndex() {
	type page struct {
		URL   string `json:"u"`
		Title string `json:"t"`
		// Sections are anchor, title and text of each section.
		Sections [][3]string `json:"s"`
	}
	var pages []*page
	for _, s := range w.found {
		if len(pages) == 0 || pages[len(pages)-1].URL != s.page {
			pages = append(pages, &page{URL: s.page, Title: s.pageTitle})
		}
		last := pages[len(pages)-1]
		last.Sections = append(last.Sections, [3]string{s.anchor, s.title, s.text})
	}
	var b bytes.Buffer
	b.WriteString("searchIndex = ")
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	w.err = cmp.Or(w.err, e.Encode(pages))
	w.pages = append(w.pages, Page{"search.js", b.Bytes()})
}

// searchGuide adds the sections of a page in Markdown to the index.
func (w *writer) searchGuide(e entry, source []byte) {
	md := goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	doc := md.Parser().Parse(text.NewReader(source))
	for _, row := range rowsOf(doc, source) {
		words := strings.TrimPrefix(plain(row.node, source), row.title)
		w.found = append(w.found, section{e.Page, e.Title, row.id, row.title, short(words, 200)})
	}
	now := section{page: e.Page, pageTitle: e.Title, title: e.Title}
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok && h.Level > 1 {
			w.found = append(w.found, now)
			id, _ := h.AttributeString("id")
			name, _ := id.([]byte)
			now = section{e.Page, e.Title, string(name), plain(h, source), ""}
			continue
		}
		if _, ok := n.(*ast.Heading); !ok && len(now.text) < longestText {
			now.text = short(strings.TrimSpace(now.text+" "+plain(n, source)), longestText)
		}
	}
	w.found = append(w.found, now)
}

// searchTypes adds types and their fields to the index. The first type of the page of a kind is
// found under the page itself.
func (w *writer) searchTypes(page, kind, version, description string, rows []typeRow) {
	title := strings.TrimSpace(kind + " " + version)
	w.found = append(w.found, section{page, title, "", cmp.Or(kind, version), short(description, 200)})
	for _, t := range rows {
		if t.Name != kind {
			w.found = append(w.found, section{page, title, t.Name, t.Name, short(t.Description, 160)})
		}
		for _, f := range t.Fields {
			w.found = append(w.found, section{page, title, anchorOf(t.Name, f.Name), t.Name + "." + f.Name, short(f.Description, 90)})
		}
	}
}

// short is the beginning of a text, at most so many bytes and whole words.
func short(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= most {
		return text
	}
	text = text[:most]
	if i := strings.LastIndexByte(text, ' '); i > 0 {
		text = text[:i]
	}
	return text + " …"
}
