package site

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// link is a Markdown link, [text](target), or with "!" before it a picture.
var link = regexp.MustCompile(`!?\[([^\[\]]+)\]\(([^)\s]+)\)`)

// resolve makes the links of a page, from a folder of the project, links of the site. A link out
// of the project stays; one to a file without a page becomes its text. Pictures become files
// of the site.
func (w *writer) resolve(folder, page string, text []byte) []byte {
	up := strings.Repeat("../", strings.Count(page, "/"))
	return link.ReplaceAllFunc(text, func(found []byte) []byte {
		parts := link.FindSubmatch(found)
		target, anchor, _ := strings.Cut(string(parts[2]), "#")
		if target == "" || strings.Contains(target, "://") {
			return found
		}
		target = path.Join(folder, target)
		if found[0] == '!' {
			return w.picture(target, up, parts[1])
		}
		to := ""
		if target == contentsFile {
			to = "index.html"
		} else if e := w.find(target); e != nil {
			to = e.Page
		}
		if to == "" {
			return parts[1]
		}
		if anchor != "" {
			anchor = "#" + anchor
		}
		return []byte("[" + string(parts[1]) + "](" + up + to + anchor + ")")
	})
}

// picture adds a picture of the project to the site, once, and returns its link; its text where
// the project lacks it.
func (w *writer) picture(name, up string, text []byte) []byte {
	content, err := os.ReadFile(filepath.Join(w.root, filepath.FromSlash(name)))
	if err != nil {
		return text
	}
	page := Page{path.Base(name), content}
	if !slices.ContainsFunc(w.pages, func(p Page) bool { return p.Path == page.Path }) {
		w.pages = append(w.pages, page)
	}
	return []byte("![" + string(text) + "](" + up + page.Path + ")")
}
