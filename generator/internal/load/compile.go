package load

import (
	"errors"
	"slices"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// compile makes the table of every group version.
func (d *documents) compile() {
	named := map[string]*schema.Named{}
	for id, t := range d.types {
		named[id] = &schema.Named{ID: id, Dir: t.GV.Dir, Kind: t.Kind, Schema: t.Schema,
			Distinct: d.module != "" && !t.GV.BuiltIn}
	}
	for _, gv := range d.model.GroupVersions {
		// Everything that is declared here can be asked for, and the bodies
		// of this version's endpoints that are declared elsewhere.
		roots := map[string]string{}
		add := func(pos schema.Position, name, id string) {
			if other := roots[name]; other != "" && other != id {
				d.fail(pos, "rename one of them", "%s would need both %s and %s under one name", gv.Dir, other, id)
			}
			roots[name] = id
		}
		for _, t := range gv.Types {
			add(t.Schema.Pos, t.Name, t.ID)
		}
		for _, res := range gv.Resources {
			add(res.Pos, res.Type.Name, res.Type.ID)
			if res.Action != nil {
				add(res.Pos, res.Action.Answer.Name, res.Action.Answer.ID)
			}
			for _, sub := range res.Subresources {
				add(sub.Pos, sub.Type.Name, sub.Type.ID)
				if sub.Action != nil {
					add(sub.Pos, sub.Action.Answer.Name, sub.Action.Answer.ID)
				}
			}
		}
		src := schema.Source{Group: gv.Group, Version: gv.Version, Types: named}
		for _, name := range sortedKeys(roots) {
			src.Roots = append(src.Roots, schema.RootName{Name: name, ID: roots[name]})
		}
		table, err := schema.Compile(src)
		gv.Table = table
		d.of(gv.Dir, func() { d.take(err) })
		noteForms(gv)
	}
}

// noteForms gives the roots of stored kinds their fingerprints.
func noteForms(gv *model.GroupVersion) {
	for i := range gv.Resources {
		if res := gv.Resources[i]; res.Stored && gv.Table != nil {
			at := slices.IndexFunc(gv.Table.Roots, func(r schema.Root) bool { return r.Name == res.Type.Name })
			gv.Table.Roots[at].Form = gv.Table.Form(gv.Table.Roots[at].Type)
		}
	}
}

// shareHooks gives the hooks of types one number in the tables of all releases: their place among the hooks of all, by name.
func shareHooks(models []*model.Model) {
	byDir := map[string][]*schema.Table{}
	for _, m := range models {
		for _, gv := range m.GroupVersions {
			byDir[gv.Dir] = append(byDir[gv.Dir], gv.Table)
		}
	}
	for _, tables := range byDir {
		schema.NumberHooks(tables...)
	}
}

// take adds the mistakes that an error joins.
func (r *reader) take(err error) {
	var one *schema.Error
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			r.take(e)
		}
	} else if errors.As(err, &one) {
		r.errs = append(r.errs, one)
	} else if err != nil {
		r.fail(schema.Position{}, "", "%v", err)
	}
}
