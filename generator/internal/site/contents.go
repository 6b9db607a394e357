package site

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
)

// contentsFile lists the pages of a project: a heading of the second level for each part, and in
// it a line for each page.
const contentsFile = "docs/README.md"

// contents are the pages of the site, as the sidebar shows them.
type contents struct {
	Name     string // of the project, from the title of its README
	Intro    []byte // Markdown: the text of the contents before the first part
	Groups   []group
	Released bool    // there is a release to compare with
	Steps    []entry // the pages of the steps between releases of documents with a history

	parts []part
}

// Parts are the parts that are written by hand.
func (c *contents) Parts() []part { return c.parts }

// part is a part of the contents.
type part struct {
	Title, Text string
	Pages       []entry
}

// entry is a page from Markdown: of a file, or without one the reference of keys.
type entry struct{ Source, Page, Title, Text string }

// group is a group version in the sidebar.
type group struct {
	Short, Page, Folder string // Short is the folder of its documents, "core/v1"
	Kinds               []string
}

// step is the page before a page of the contents, and the one after it; nil at the ends.
type step struct{ Before, After *entry }

// keysPage is the page about the keys of documents, which has no file.
var keysPage = entry{Page: "reference/keys.html", Title: "Keys of documents", Text: "Every key of the documents below openapi/ and schemas/."}

// further are the pages that a project without contents may have outside of docs/.
var further = []entry{
	{Source: "README.md", Title: "Overview"},
	{Source: "CONTRIBUTING.md", Title: "How to change documents and code"},
}

// readContents finds the pages of a project: those that its contents name, or else all in docs/.
func readContents(root string, m *model.Model) (*contents, error) {
	c := &contents{Name: "API", Released: released(root), Steps: stepsOf(m.Releases.All)}
	if text, err := os.ReadFile(filepath.Join(root, "README.md")); err == nil {
		c.Name = titleOf(text, c.Name)
	}
	for _, gv := range m.GroupVersions {
		g := group{Short: gv.Dir, Page: pageOf(gv), Folder: "kinds/" + gv.Dir + "/"}
		for _, t := range gv.Types {
			if t.Kind {
				g.Kinds = append(g.Kinds, t.Name)
			}
		}
		c.Groups = append(c.Groups, g)
	}
	if !there(root, contentsFile) {
		return c, c.guess(root)
	}
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(contentsFile)))
	if err != nil {
		return nil, err
	}
	c.parse(string(text))
	c.reference().Pages = append(c.reference().Pages, keysPage)
	return c, c.complete(root)
}

// entryLine is a line of the contents about a page.
var entryLine = regexp.MustCompile(`^- \[([^\]]+)\]\(([^)\s]+)\):? ?(.*)$`)

// parse reads the contents.
func (c *contents) parse(text string) {
	_, text, _ = strings.Cut(text, "\n") // the title
	intro, rest, _ := strings.Cut(text, "\n## ")
	c.Intro = []byte(intro)
	for chapter := range strings.SplitSeq(rest, "\n## ") {
		lines := strings.Split(chapter, "\n")
		p := part{Title: lines[0]}
		for _, line := range lines[1:] {
			if m := entryLine.FindStringSubmatch(line); m != nil {
				source := path.Join("docs", m[2])
				p.Pages = append(p.Pages, entry{source, sitePath(source), m[1], m[3]})
			} else if len(p.Pages) == 0 {
				p.Text = strings.TrimSpace(p.Text + " " + line)
			}
		}
		c.parts = append(c.parts, p)
	}
}

// reference is the part of the reference.
func (c *contents) reference() *part {
	i := slices.IndexFunc(c.parts, func(p part) bool { return p.Title == "Reference" })
	if i < 0 {
		c.parts = append(c.parts, part{Title: "Reference"})
		i = len(c.parts) - 1
	}
	return &c.parts[i]
}

// complete reports a page in docs/ that the contents lack, since no reader would find it.
func (c *contents) complete(root string) error {
	return filepath.WalkDir(filepath.Join(root, "docs"), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".md") {
			return err
		}
		name, _ = filepath.Rel(root, name)
		name = filepath.ToSlash(name)
		if name != contentsFile && c.find(name) == nil {
			return fmt.Errorf("%s:1: the contents lack %s; add a line - [Title](%s): what it is for", contentsFile, name, strings.TrimPrefix(name, "docs/"))
		}
		return nil
	})
}

// guess makes the contents of a project that has none: its pages in docs/, by the titles that they
// begin with, and those of further.
func (c *contents) guess(root string) error {
	guides := part{Title: "Guides"}
	found, _ := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	for _, name := range found {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		source := "docs/" + filepath.Base(name)
		guides.Pages = append(guides.Pages, entry{Source: source, Page: sitePath(source), Title: titleOf(text, strings.TrimSuffix(filepath.Base(name), ".md"))})
	}
	for _, e := range further {
		if there(root, e.Source) {
			e.Page = sitePath(e.Source)
			guides.Pages = append(guides.Pages, e)
		}
	}
	if len(guides.Pages) > 0 {
		c.parts = append(c.parts, guides)
	}
	c.parts = append(c.parts, part{Title: "Reference", Pages: []entry{keysPage}})
	return nil
}

// find is the page of a file; nil for a file without one.
func (c *contents) find(source string) *entry {
	for _, p := range c.parts {
		for i := range p.Pages {
			if p.Pages[i].Source == source && source != "" {
				return &p.Pages[i]
			}
		}
	}
	return nil
}

// stepOf finds the neighbours of a page in its part.
func (c *contents) stepOf(name string) (s step) {
	for _, p := range c.parts {
		for i := range p.Pages {
			if p.Pages[i].Page != name {
				continue
			}
			if i > 0 {
				s.Before = &p.Pages[i-1]
			}
			if i+1 < len(p.Pages) {
				s.After = &p.Pages[i+1]
			}
		}
	}
	return s
}

// sitePath is the page that is made of a Markdown file: docs/howto/secure.md becomes
// howto/secure.html, a page outside of docs/ the one of its name.
func sitePath(source string) string {
	name, below := strings.CutPrefix(source, "docs/")
	if !below {
		name = strings.ToLower(path.Base(source))
	}
	return strings.TrimSuffix(name, ".md") + ".html"
}

// titleOf is the title that a page in Markdown begins with.
func titleOf(text []byte, otherwise string) string {
	if !bytes.HasPrefix(text, []byte("# ")) {
		return otherwise
	}
	first, _, _ := bytes.Cut(text[2:], []byte("\n"))
	return strings.TrimSpace(string(first))
}
