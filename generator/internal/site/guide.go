package site

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// heading is a heading of a page.
type heading struct {
	Level    int
	ID, Text string
}

// guide adds a page from Markdown. Links to other pages of the repository become links to
// theirs; links to files without a page become their names.
func (w *writer) guide(e entry) {
	source, err := []byte(nil), error(nil)
	if e.Source == "" {
		var keys string
		keys, err = Keys("")
		source = []byte(keys)
	} else {
		source, err = os.ReadFile(filepath.Join(w.root, filepath.FromSlash(e.Source)))
	}
	if err != nil {
		w.err = cmp.Or(w.err, err)
		return
	}
	content, headings, err := w.markdown(cmp.Or(e.Source, "docs/"+strings.TrimSuffix(e.Page, ".html")+".md"), source)
	if err != nil {
		w.err = cmp.Or(w.err, err)
		return
	}
	w.searchGuide(e, source)
	w.add(e.Page, e.Title, headings, w.render(e.Page, "guide", template.HTML(content)))
}

// markdown makes HTML of Markdown in a file of the project, and lists its headings.
func (w *writer) markdown(source string, from []byte) (string, []heading, error) {
	md := goldmark.New(goldmark.WithExtensions(tables), goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(blocks{}, 100))))
	from = w.resolve(path.Dir(source), sitePath(source), from)
	doc := md.Parser().Parse(text.NewReader(from))
	for _, row := range rowsOf(doc, from) {
		row.node.SetAttributeString("id", []byte(row.id))
	}
	var content bytes.Buffer
	if err := md.Renderer().Render(&content, from, doc); err != nil {
		return "", nil, fmt.Errorf("%s: %w", source, err)
	}
	return content.String(), headingsOf(doc, from), nil
}

// tables are those of GitHub. Their alignment is an attribute, since a page has no styles of its own.
var tables = extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))

// headingsOf lists the headings of a page without its title.
func headingsOf(doc ast.Node, source []byte) (all []heading) {
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		h, ok := n.(*ast.Heading)
		if !ok || h.Level < 2 {
			continue
		}
		id, _ := h.AttributeString("id")
		name, _ := id.([]byte)
		all = append(all, heading{h.Level, string(name), plain(h, source)})
	}
	return all
}

// tableRow is a row of a table about the name or the message in its first cell.
type tableRow struct {
	node      ast.Node
	id, title string
}

var notInIDs = regexp.MustCompile(`[^a-z0-9]+`)

// longestID bounds the anchors of rows that begin with a message, in bytes.
const longestID = 60

// rowsOf lists the rows of tables that begin with code, so that links and the search lead to them.
func rowsOf(doc ast.Node, source []byte) (rows []tableRow) {
	taken := map[string]bool{}
	for _, h := range headingsOf(doc, source) {
		taken[h.ID] = true
	}
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() != extast.KindTable {
			continue
		}
		for row := n.FirstChild(); row != nil; row = row.NextSibling() {
			first := row.FirstChild()
			if row.Kind() != extast.KindTableRow || first.FirstChild() == nil || first.FirstChild().Kind() != ast.KindCodeSpan {
				continue
			}
			title := plain(first.FirstChild(), source)
			id := strings.Trim(notInIDs.ReplaceAllString(strings.ToLower(title), "-"), "-")
			id = strings.Trim(id[:min(len(id), longestID)], "-")
			for taken[id] || id == "" {
				id += "-more"
			}
			taken[id] = true
			rows = append(rows, tableRow{row, id, title})
		}
	}
	return rows
}

// plain is the text of a node without its marks.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(c ast.Node, entering bool) (ast.WalkStatus, error) { // the walk returns no errors
		switch c := c.(type) {
		case *ast.Text:
			if entering {
				b.Write(c.Value(source))
				if c.SoftLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *extast.TableCell:
			if !entering {
				b.WriteByte(' ')
			}
		case *ast.CodeBlock:
			if entering {
				b.Write(c.Lines().Value(source))
			}
		case *ast.FencedCodeBlock:
			if entering {
				b.Write(c.Lines().Value(source))
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// blocks renders code: where lines begin with a prompt, these are what a reader types, and the
// others are what he sees. Pictures lead to their files, which a reader may enlarge.
type blocks struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (blocks) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindCodeBlock, renderCode)
	r.Register(ast.KindFencedCodeBlock, renderCode)
	r.Register(ast.KindImage, renderPicture)
}

func renderPicture(out util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	file := template.HTMLEscapeString(string(n.(*ast.Image).Destination))
	_, err := fmt.Fprintf(out, `<a href="%s"><img src="%s" alt="%s"></a>`, file, file, template.HTMLEscapeString(plain(n, source)))
	return ast.WalkSkipChildren, err
}

func renderCode(out util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	language := ""
	if f, ok := n.(*ast.FencedCodeBlock); ok {
		language = string(f.Language(source))
	}
	code := string(n.Lines().Value(source))
	if !strings.HasPrefix(code, "$ ") {
		_, err := fmt.Fprintf(out, "<pre><code class=%q>%s</code></pre>\n", "language-"+cmp.Or(language, "text"), template.HTMLEscapeString(code))
		return ast.WalkSkipChildren, err
	}
	_, _ = out.WriteString(`<pre class="session"><code>`) // the writer keeps its first error
	typed := false
	for line := range strings.Lines(code) {
		rest, prompt := strings.CutPrefix(line, "$ ")
		// A line goes on after a backslash, or in the text that a command reads.
		typed = prompt || typed && strings.HasPrefix(line, "> ")
		if !prompt {
			rest = strings.TrimPrefix(rest, "> ")
		}
		class := "seen"
		if typed {
			class = "typed"
		}
		fmt.Fprintf(out, `<span class="%s">%s</span>`, class, template.HTMLEscapeString(rest))
	}
	_, err := out.WriteString("</code></pre>\n")
	return ast.WalkSkipChildren, err
}
