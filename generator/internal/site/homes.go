package site

import (
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// references lists for each type the ids of the types that refer to it.
func (w *writer) references() map[*model.Type][]string {
	users := map[*model.Type][]string{}
	for _, gv := range w.model.GroupVersions {
		for _, t := range gv.Types {
			for _, ref := range refsOf(t.Schema) {
				target := w.types[targetID(t, ref)]
				if target != nil && target != t && !slices.Contains(users[target], t.ID) {
					users[target] = append(users[target], t.ID)
				}
			}
		}
	}
	return users
}

// refsOf lists the references in a schema.
func refsOf(s *schema.Schema) (refs []string) {
	if s == nil {
		return nil
	}
	if s.Ref != "" {
		refs = append(refs, s.Ref)
	}
	for _, p := range s.Properties {
		refs = append(refs, refsOf(p.Schema)...)
	}
	return append(append(refs, refsOf(s.Items)...), refsOf(s.Additional)...)
}

// homesOf finds the page of each type: a kind has its own, to which belong the types that are named
// after it and those that only its page refers to. The others are on the page of the group version.
func (w *writer) homesOf() map[*model.Type]string {
	homes := map[*model.Type]string{}
	for _, gv := range w.model.GroupVersions {
		for _, t := range gv.Types {
			if t.Kind {
				homes[t] = kindPage(t)
			}
		}
	}
	for _, gv := range w.model.GroupVersions {
		for _, t := range gv.Types {
			for _, part := range []string{"Spec", "Status"} {
				name, named := strings.CutSuffix(t.Name, part)
				owner := w.types[gv.Dir+"."+name]
				if named && owner != nil && owner.Kind && homes[t] == "" {
					homes[t] = kindPage(owner)
				}
			}
		}
	}
	for w.settle(homes) {
	}
	for _, gv := range w.model.GroupVersions {
		for _, t := range gv.Types {
			if homes[t] == "" {
				homes[t] = pageOf(gv)
			}
		}
	}
	return homes
}

// settle gives the page of their users to types whose users are on one page, and reports whether
// there was such a type.
func (w *writer) settle(homes map[*model.Type]string) (some bool) {
	for _, gv := range w.model.GroupVersions {
		for _, t := range gv.Types {
			if homes[t] != "" {
				continue
			}
			home := ""
			for i, id := range w.users[t] {
				of := homes[w.types[id]]
				if i > 0 && of != home || w.types[id].GV != gv {
					of = ""
				}
				if home = of; home == "" {
					break
				}
			}
			if home != "" {
				homes[t], some = home, true
			}
		}
	}
	return some
}

// kindPage is the page of a kind.
func kindPage(t *model.Type) string { return "kinds/" + t.GV.Dir + "/" + t.Name + ".html" }

// typesOf are the types on a page, in the order in which a reader meets them: each after the first
// one that refers to it.
func (w *writer) typesOf(page string, gv *model.GroupVersion, first *model.Type) []*model.Type {
	var all []*model.Type
	var add func(t *model.Type)
	add = func(t *model.Type) {
		if w.homes[t] != page || slices.Contains(all, t) {
			return
		}
		all = append(all, t)
		for _, ref := range refsOf(t.Schema) {
			if target := w.types[targetID(t, ref)]; target != nil {
				add(target)
			}
		}
	}
	if first != nil {
		add(first)
	}
	for _, t := range gv.Types {
		add(t)
	}
	return all
}
