package site

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// link is a Markdown link: [text](target).
var link = regexp.MustCompile(`\[([^\[\]]+)\]\(([^)\s]+)\)`)

// resolve makes the links of a page in a folder of the project links of the site. A link out
// of the project stays; one to a file without a page becomes its text.
func (w *writer) resolve(folder string, text []byte) []byte {
	return link.ReplaceAllFunc(text, func(found []byte) []byte {
		parts := link.FindSubmatch(found)
		target, anchor, _ := strings.Cut(string(parts[2]), "#")
		if target == "" || strings.Contains(target, "://") {
			return found
		}
		i := slices.IndexFunc(w.Guides, func(g guide) bool { return g.Source == path.Join(folder, target) })
		if i < 0 {
			return parts[1]
		}
		if anchor != "" {
			anchor = "#" + anchor
		}
		return []byte("[" + string(parts[1]) + "](" + w.Guides[i].Page + anchor + ")")
	})
}
