package site

import (
	"cmp"
	"html/template"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
)

// kindData is the data of the template of a kind.
type kindData struct {
	Type      *model.Type
	GV        *model.GroupVersion
	Resources []*model.Resource
	Types     []typeRow
	Example   string
	Made      bool // the example is made of the required fields
	Versions  *comparison
	Actions   []actionRow
	NamedBy   []relationRow
}

// actionRow is an action of a kind's objects, or one whose body is of the kind.
type actionRow struct {
	Name, Method, Description string
	Right                     string // create trucks/restart
	Body, Answer              typeName
	Streams                   bool
	Errors                    []model.ActionError
	model.Deprecation
}

// kind adds the page of a kind.
func (w *writer) kind(t *model.Type) {
	page := kindPage(t)
	data := kindData{Type: t, GV: t.GV, Versions: w.compareVersions(page, t)}
	for _, gv := range w.model.GroupVersions {
		for _, r := range gv.Resources {
			if r.Type == t && gv == t.GV {
				data.Resources = append(data.Resources, r)
			}
		}
	}
	data.NamedBy = w.namedBy(page, data.Resources)
	if len(data.Resources) > 0 {
		data.Example, data.Made = w.example(t, data.Resources[0])
	}
	var headings []heading
	if data.Example != "" {
		headings = append(headings, heading{2, "example", "Example"})
	}
	headings = append(headings, heading{2, "fields", "Fields"})
	for _, owned := range w.typesOf(page, t.GV, t) {
		data.Types = append(data.Types, w.typeRow(page, owned))
		headings = append(headings, heading{3, owned.Name, owned.Name})
	}
	if data.Actions = w.actions(page, data.Resources); len(data.Actions) > 0 {
		headings = append(headings, heading{2, "actions", "Actions"})
	}
	if data.Versions != nil {
		headings = append(headings, heading{2, "versions", "Versions"})
	}
	data.Types[0].Description = "" // at the head of the page
	w.searchTypes(page, t.Name, apiVersion(t.GV), t.Schema.Description, data.Types)
	w.add(page, t.Name+" "+apiVersion(t.GV), headings, w.render(page, "kind", data))
}

// groupVersion adds the page of a group version: its resources, and the types that its kinds share.
func (w *writer) groupVersion(gv *model.GroupVersion) {
	page := pageOf(gv)
	var rows []typeRow
	headings := []heading{}
	if len(gv.Resources) > 0 {
		headings = append(headings, heading{2, "resources", "Resources"})
	}
	picture := w.drawRelations(page, gv)
	if picture != "" {
		headings = append(headings, heading{2, "relations", "References"})
	}
	for _, t := range w.typesOf(page, gv, nil) {
		row := w.typeRow(page, t)
		for _, id := range w.users[t] {
			row.UsedBy = append(row.UsedBy, w.linkTo(page, w.types[id]))
		}
		slices.SortFunc(row.UsedBy, func(a, b typeName) int { return strings.Compare(a.Name+a.Link, b.Name+b.Link) })
		rows = append(rows, row)
		headings = append(headings, heading{3, t.Name, t.Name})
	}
	w.searchTypes(page, "", apiVersion(gv), "", rows)
	w.add(page, apiVersion(gv), headings, w.render(page, "groupversion", struct {
		GV        *model.GroupVersion
		Types     []typeRow
		Relations template.HTML
	}{gv, rows, picture}))
}

// actions are those of resources and of their objects.
func (w *writer) actions(page string, of []*model.Resource) (all []actionRow) {
	row := func(name, right string, a *model.Action, body *model.Type) actionRow {
		return actionRow{Name: name, Method: "POST", Right: cmp.Or(a.Verb, "create") + " " + right, Description: a.Description,
			Body: w.linkTo(page, body), Answer: w.linkTo(page, a.Answer), Streams: a.Streams(), Errors: a.Errors, Deprecation: a.Deprecation}
	}
	for _, r := range of {
		if r.Action != nil {
			all = append(all, row(r.Plural, r.Plural, r.Action, r.Type))
		}
		for _, s := range r.Subresources {
			if s.Action == nil {
				continue
			}
			right := r.Plural + "/" + s.Name
			of := row(s.Name, right, s.Action, s.Type)
			if slices.Contains(s.Verbs, "get") {
				of.Method, of.Body, of.Right = "GET", typeName{}, cmp.Or(s.Action.Verb, "get")+" "+right
			}
			all = append(all, of)
		}
	}
	return all
}

// PathOf is the path of one object of a resource.
func (kindData) PathOf(r *model.Resource) string {
	base := "/apis/" + r.GV.Group + "/" + r.GV.Version
	if r.GV.Group == "" {
		base = "/api/" + r.GV.Version
	}
	if r.Namespaced {
		base += "/namespaces/NAMESPACE"
	}
	if base += "/" + r.Plural; slices.Contains(r.Verbs, "get") {
		return base + "/NAME"
	}
	return base
}
