// Package delta writes down how a set of texts changed, and makes the later texts of the earlier ones. The releases of the
// documents are kept so: the usual one as a whole, the others as changes from one release to the next.
//
// A change names a text and the lines that replace others in it:
//
//	= core/v1          the text that changes, or begins
//	@ 12 1             after line 12, one line goes
//	+field nodeName …  and these lines come
//	- core/v2          a text that ends
package delta

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Texts are texts by name, as lines.
type Texts map[string][]string

// Make writes the changes that make of some texts others.
func Make(from, to Texts) string {
	var b strings.Builder
	names := maps.Clone(from)
	maps.Copy(names, to)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		before, after := from[name], to[name]
		switch {
		case to[name] == nil:
			fmt.Fprintf(&b, "- %s\n", name)
		case from[name] == nil || !slices.Equal(before, after):
			fmt.Fprintf(&b, "= %s\n", name)
			for _, h := range hunks(before, after) {
				fmt.Fprintf(&b, "@ %d %d\n", h.at, h.gone)
				for _, line := range after[h.from:h.to] {
					b.WriteString("+" + line + "\n")
				}
			}
		}
	}
	return b.String()
}

// Apply makes the later texts. The earlier ones stay as they are. An error names the line of the changes that does not fit.
func Apply(from Texts, changes string) (Texts, error) {
	a := applier{texts: maps.Clone(from)}
	for n, line := range strings.Split(strings.TrimSuffix(changes, "\n"), "\n") {
		if err := a.line(line); err != nil {
			return nil, fmt.Errorf("line %d of the changes of a release: %w", n+1, err)
		}
	}
	a.end()
	return a.texts, nil
}

// applier goes through the lines of changes.
type applier struct {
	texts Texts
	name  string   // of the text in the making; "" for none
	old   []string // the earlier one
	at    int      // lines of the earlier one that are used up
	made  []string
}

func (a *applier) line(line string) error {
	kind, rest, _ := strings.Cut(line, " ")
	switch {
	case strings.HasPrefix(line, "+") && a.name != "":
		a.made = append(a.made, line[1:])
	case kind == "@" && a.name != "":
		var at, gone int
		if _, err := fmt.Sscanf(rest, "%d %d", &at, &gone); err != nil || at < a.at || gone < 0 || gone > len(a.old)-at {
			return fmt.Errorf("%q names lines that the text does not have", line)
		}
		a.made = append(a.made, a.old[a.at:at]...)
		a.at = at + gone
	case kind == "=" && rest != "":
		a.end()
		a.name, a.old, a.at, a.made = rest, a.texts[rest], 0, []string{}
	case kind == "-" && a.texts[rest] != nil:
		a.end()
		delete(a.texts, rest)
	case line == "":
	default:
		return fmt.Errorf("%q is not a change", line)
	}
	return nil
}

// end completes the text in the making.
func (a *applier) end() {
	if a.name != "" {
		a.texts[a.name] = append(a.made, a.old[a.at:]...)
	}
	a.name = ""
}
