package site

import (
	"cmp"
	"fmt"
	"html"
	"html/template"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// relation is a field of a kind that names objects of another one, or a kind that its hooks read.
type relation struct {
	From, To *model.Resource
	Field    string // "spec.depot", "spec.stops[].depot"; "" for the hook
	Words    string
	OnDelete string // the word of a reference
}

// relationsOf are those of the kinds of a group version, in the order of the kinds.
func relationsOf(gv *model.GroupVersion) (all []relation) {
	for _, r := range gv.Resources {
		for _, ref := range r.References {
			all = append(all, relation{r, ref.To, strings.ReplaceAll(strings.Join(ref.Path, "."), ".*", "[]"), referenceWords(ref.OnMissing, ref.OnDelete),
				ref.OnDelete})
		}
		for _, read := range r.Reads {
			all = append(all, relation{From: r, To: read.To, Words: "is read by hooks"})
		}
	}
	return all
}

// referenceWords says in a sentence's part what a reference does.
func referenceWords(onMissing, onDelete string) string {
	missing := map[string]string{"refuse": "a missing one is refused", "warn": "a missing one is warned of", "allow": "it may be missing"}[onMissing]
	return missing + map[string]string{"restrict": ", and it cannot be deleted while it is named", "orphan": ", and it may be deleted",
		"cascade": ", and what names it goes with it"}[onDelete]
}

// namesWords says which objects a field, or each element of it, is the name of; "" for none.
func namesWords(s *schema.Schema) string {
	is := "is"
	for s.References == nil {
		switch {
		case s.Items != nil:
			is, s = "each is", s.Items
		case s.Additional != nil:
			is, s = "each is", s.Additional
		default:
			return ""
		}
	}
	r := s.References
	return is + " the name of a " + r.Kind[strings.LastIndexByte(r.Kind, '/')+1:] + ": " + referenceWords(r.OnMissing, r.OnDelete)
}

// namedBy lists the fields that name objects of resources, for the page of their kind.
func (w *writer) namedBy(page string, resources []*model.Resource) (all []relationRow) {
	for _, gv := range w.model.GroupVersions {
		for _, r := range relationsOf(gv) {
			if r.Field == "" || !slices.Contains(resources, r.To) {
				continue
			}
			all = append(all, relationRow{w.linkTo(page, r.From.Type), r.Field, r.OnDelete})
		}
	}
	return all
}

// relationRow is a field that names objects of a kind.
type relationRow struct {
	From     typeName
	Field    string
	OnDelete string
}

// The sizes of the picture of relations, in its own units.
const (
	boxWidth, boxGap, rowHeight = 250, 22, 24
	between, margin             = 150, 8
)

// drawRelations draws which kinds of a group version name or read which others: on the left the kinds with their fields, on the
// right the kinds that those name. It is "" where there are none.
func (w *writer) drawRelations(page string, gv *model.GroupVersion) template.HTML {
	all := relationsOf(gv)
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	heights, left := map[*model.Resource]int{}, margin
	var lines []string
	var targets []*model.Resource
	for _, r := range all {
		if !slices.Contains(targets, r.To) {
			targets = append(targets, r.To)
		}
	}
	slices.SortStableFunc(targets, func(a, b *model.Resource) int { return strings.Compare(a.Kind, b.Kind) })
	at := margin
	for _, to := range targets {
		heights[to] = at + rowHeight/2
		at += rowHeight + boxGap
	}
	for i := 0; i < len(all); {
		n := 1
		for i+n < len(all) && all[i+n].From == all[i].From {
			n++
		}
		w.box(&b, page, all[i].From, margin, left, (n+1)*rowHeight)
		for k, r := range all[i : i+n] {
			y := left + (k+1)*rowHeight + rowHeight/2
			fmt.Fprintf(&b, `<text x="%d" y="%d">%s</text>`, margin+12, y+4, html.EscapeString(cmp.Or(r.Field, "hooks")))
			class := map[string]string{"": "reads", "restrict": "keeps", "orphan": "names", "cascade": "takes"}[r.OnDelete]
			from, to, end := margin+boxWidth, margin+boxWidth+between, heights[r.To]
			title := html.EscapeString(fmt.Sprintf("%s %s: %s; %s", r.From.Kind, cmp.Or(r.Field, "hooks"), r.To.Kind, r.Words))
			lines = append(lines, fmt.Sprintf(`<path class="%s" d="M%d %d C%d %d %d %d %d %d" marker-end="url(#arrow)"><title>%s</title></path>`, class,
				from, y, from+between/2, y, to-between/2, end, to-2, end, title))
		}
		left += (n+1)*rowHeight + boxGap
		i += n
	}
	for _, to := range targets {
		w.box(&b, page, to, margin+boxWidth+between, heights[to]-rowHeight/2, rowHeight)
	}
	width, height := 2*margin+2*boxWidth+between, max(left, at)
	return template.HTML(fmt.Sprintf(`<svg class="relations" viewBox="0 0 %d %d" role="img" aria-label="Which kinds name which others">`+
		`<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerUnits="userSpaceOnUse" markerWidth="9" markerHeight="9" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>`,
		width, height) + strings.Join(lines, "") + b.String() + "</svg>")
}

// box draws a kind, with a link to its page where it has one.
func (w *writer) box(b *strings.Builder, page string, r *model.Resource, x, y, height int) {
	box := fmt.Sprintf(`<rect x="%d" y="%d" width="%d" height="%d" rx="6"/><text class="kind" x="%d" y="%d">%s</text>`, x, y, boxWidth, height,
		x+12, y+rowHeight/2+5, html.EscapeString(r.Kind))
	if r.Type != nil && w.homes[r.Type] != "" {
		box = fmt.Sprintf(`<a href="%s">%s</a>`, html.EscapeString(strings.Repeat("../", strings.Count(page, "/"))+kindPage(r.Type)), box)
	}
	b.WriteString(box)
}
