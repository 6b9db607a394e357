package load

import (
	"regexp"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

var (
	kindName  = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
	shortName = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
)

// checkWords checks the spelling of the names of a resource.
func (d *documents) checkWords(e entry, res *model.Resource) {
	for _, k := range []struct{ key, name string }{{"kind", res.Kind}, {"listKind", res.ListKind}} {
		if _, said := valueOf(e.value, k.key); said && !kindName.MatchString(k.name) {
			d.fail(e.posOf(k.key), "write "+camel(k.name), "%s %q is not CamelCase", k.key, k.name)
		}
	}
	for _, k := range []struct {
		key   string
		names []string
	}{{"singular", []string{res.Singular}}, {"shortNames", res.ShortNames}, {"categories", res.Categories}} {
		for i, name := range k.names {
			switch {
			case name == "":
			case !shortName.MatchString(name):
				d.fail(e.posOf(k.key), "write small letters, digits and hyphens: "+strings.ToLower(camel(name)),
					"%q in %s of %s cannot be typed as an argument of kubectl", name, k.key, res.Plural)
			case slices.Contains(k.names[:i], name):
				d.fail(e.posOf(k.key), "write it once", "%s of %s has %q twice", k.key, res.Plural, name)
			}
		}
	}
	if slices.Contains(res.Verbs, "watch") && !slices.Contains(res.Verbs, "list") {
		d.fail(e.posOf("verbs"), "add list", "%s can be watched, but not listed: a watch begins with the state of a list", res.Plural)
	}
}

// camel is a name in CamelCase.
func camel(name string) string {
	var b strings.Builder
	for _, part := range regexp.MustCompile(`[A-Za-z0-9]+`).FindAllString(name, -1) {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

// checkClashes refuses names by which kubectl would find another resource, and list kinds
// that are types.
func (d *documents) checkClashes() {
	taken := map[string]*model.Resource{} // by plural, singular and short name
	each := func(visit func(gv *model.GroupVersion, res *model.Resource)) {
		for _, gv := range d.model.GroupVersions {
			for _, res := range gv.Resources {
				visit(gv, res)
			}
		}
	}
	each(func(_ *model.GroupVersion, res *model.Resource) { taken[res.Plural] = res })
	each(func(gv *model.GroupVersion, res *model.Resource) {
		for _, name := range append([]string{res.Singular}, res.ShortNames...) {
			other := taken[name]
			if name == "" || other != nil && other.Plural == res.Plural {
				continue
			}
			if other != nil && other.GV != gv { // checkNames reports those of one version
				d.fail(res.Pos, "choose another", "the name %s of %s belongs to %s at %s already", name, res.Plural, other.Plural, other.Pos)
				continue
			}
			taken[name] = res
		}
		if t := d.types[gv.Dir+"."+res.ListKind]; t != nil && !t.Kind {
			d.fail(t.Schema.Pos, "rename it, or write another listKind", "the type %s has the name of the lists of %s at %s", t.Name, res.Plural, res.Pos)
		}
	})
	each(func(_ *model.GroupVersion, res *model.Resource) {
		for _, name := range res.Categories {
			if other := taken[name]; other != nil {
				d.fail(res.Pos, "choose another", "the category %s of %s is a name of %s", name, res.Plural, other.Plural)
			}
		}
	})
}

// checkUsed refuses types that nothing refers to. The root of a document may be a body
// that no resource has.
func (d *documents) checkUsed() {
	used := map[*model.Type]bool{}
	var use func(t *model.Type)
	useSchema := func(s *schema.Schema, in *model.Type) {
		eachSchema(s, true, func(s *schema.Schema, _ bool) {
			for _, ref := range []string{s.Ref, s.Objects} {
				if id, ok := schema.ResolveRef(in.GV.Dir, ref); ok && d.types[id] != nil {
					use(d.types[id])
				}
			}
		})
	}
	use = func(t *model.Type) {
		if t != nil && !used[t] {
			used[t] = true
			useSchema(t.Schema, t)
		}
	}
	for _, gv := range d.model.GroupVersions {
		for _, t := range gv.Types {
			if t.Root {
				use(t)
			}
		}
	}
	for _, gv := range d.model.GroupVersions {
		for _, t := range gv.Types {
			if !used[t] {
				d.failOf(model.Missing{Names: []string{t.Name}}, t.Schema.Pos, "refer to it, or remove it", "nothing uses the type %s", t.Name)
			}
		}
	}
}

// checkHead refuses members that every kind has anyway.
func (d *documents) checkHead(t *model.Type) {
	for _, p := range t.Schema.Properties {
		if t.Kind && (p.Name == "kind" || p.Name == "apiVersion") {
			d.fail(p.Pos, "remove it, or give it another name", "%s has %s anyway", t.Name, p.Name)
		}
	}
}
