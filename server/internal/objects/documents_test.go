package objects_test

import (
	"slices"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	generated "github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
	"github.com/capstan-dev/capstan/server/internal/kinds/conversion"
	"github.com/capstan-dev/capstan/server/internal/kinds/policy"
)

// documents are those of the project in tables that a test may change, as if they had
// been generated from other documents.
type documents struct{ groups []*api.GroupVersion }

// serve makes a server serve changed documents.
func serve(c *server.Config, changes ...func(*documents)) {
	harness.Serve(c, func(rules policy.Policy) []*api.GroupVersion {
		d := &documents{generated.New(rules, conversion.Hooks{})}
		for _, gv := range d.groups {
			of := map[*schema.Table]*schema.Table{gv.Table: copyOf(gv.Table)}
			gv.Table = of[gv.Table]
			for i := range gv.Resources {
				for j := range gv.Resources[i].Subresources {
					if sub := &gv.Resources[i].Subresources[j]; of[sub.Table] != nil {
						sub.Table = of[sub.Table]
					}
				}
			}
		}
		for _, change := range changes {
			change(d)
			for _, gv := range d.groups {
				gv.Table.MakeIndex()
			}
		}
		for _, gv := range d.groups {
			for i := range gv.Resources {
				gv.Resources[i].Form = gv.Table.Form(gv.Resources[i].Type)
			}
		}
		api.LinkVersions(d.groups)
		return d.groups
	})
}

func copyOf(t *schema.Table) *schema.Table {
	copied := *t
	copied.Types = slices.Clone(t.Types)
	for i := range copied.Types {
		typ := &copied.Types[i]
		if typ.Fields = slices.Clone(typ.Fields); typ.Rules != nil {
			rules := *typ.Rules
			typ.Rules = &rules
		}
	}
	return &copied
}

// each visits a type in every table that has it.
func (d *documents) each(name string, visit func(gv *api.GroupVersion, t *schema.Type)) {
	found := false
	for _, gv := range d.groups {
		for i := range gv.Table.Types {
			if gv.Table.Types[i].Name == name {
				found = true
				visit(gv, &gv.Table.Types[i])
			}
		}
	}
	if !found {
		panic("no table has the type " + name)
	}
}

// add adds a field to a type, with a new type of its own. References among the new types
// count from the end: the field's type is the last one, Elem -2 the one before it.
func (d *documents) add(name string, f schema.Field, types ...schema.Type) {
	found := map[*api.GroupVersion]bool{}
	d.each(name, func(gv *api.GroupVersion, _ *schema.Type) { found[gv] = true })
	for gv := range found {
		first := len(gv.Table.Types)
		for _, t := range types {
			if t.Kind == schema.Object || t.Kind == schema.List || t.Kind == schema.Map {
				t.Fields = slices.Clone(t.Fields)
				for i := range t.Fields {
					t.Fields[i].Type += schema.Ref(first)
				}
				t.Elem += schema.Ref(first)
			}
			if t.Kind == schema.Object || t.Elem < 0 || t.Kind != schema.List && t.Kind != schema.Map {
				t.Elem = schema.None
			}
			gv.Table.Types = append(gv.Table.Types, t)
		}
		for i := range gv.Table.Types {
			if t := &gv.Table.Types[i]; t.Name == name {
				f.Type = schema.Ref(len(gv.Table.Types) - 1)
				t.Fields = append(t.Fields, f)
			}
		}
	}
}

// rules changes the rules of a field's values. The type of the values may be shared, so
// the field gets one of its own.
func (d *documents) rules(name, field string, change func(r *schema.Rules)) {
	type place struct {
		gv *api.GroupVersion
		at int
	}
	var places []place
	for _, gv := range d.groups {
		for i := range gv.Table.Types {
			if gv.Table.Types[i].Name == name {
				places = append(places, place{gv, i})
			}
		}
	}
	for _, p := range places {
		t := p.gv.Table
		i := t.Types[p.at].Field(field)
		own := t.Types[t.Types[p.at].Fields[i].Type]
		rules := schema.Rules{}
		if own.Rules != nil {
			rules = *own.Rules
		}
		change(&rules)
		own.Rules = &rules
		t.Types = append(t.Types, own)
		t.Types[p.at].Fields[i].Type = schema.Ref(len(t.Types) - 1)
	}
}

// hook adds a default hook to a type; an existing one runs before.
func (d *documents) hook(name string, hook func(v document.Value)) {
	d.each(name, func(gv *api.GroupVersion, t *schema.Type) {
		var before func(document.Value)
		if t.Hook > 0 {
			before = gv.Defaults[t.Hook-1]
		}
		gv.Defaults = append(slices.Clone(gv.Defaults), func(v document.Value) {
			if before != nil {
				before(v)
			}
			hook(v)
		})
		t.Hook = uint16(len(gv.Defaults))
		t.HookRevision++
	})
}

// row is a resource of the documents.
func (d *documents) row(apiVersion, plural string) *api.Resource {
	for _, gv := range d.groups {
		for i := range gv.Resources {
			if gv.APIVersion() == apiVersion && gv.Resources[i].Plural == plural {
				return &gv.Resources[i]
			}
		}
	}
	panic("no row " + plural)
}

var textType = schema.Type{Kind: schema.String}
