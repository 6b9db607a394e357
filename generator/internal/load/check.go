package load

import (
	"regexp"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// fieldName matches the allowed names of members. $ begins the names that JSON Schema has in
// its own documents.
var fieldName = regexp.MustCompile(`^[$A-Za-z_][-A-Za-z0-9_.]*$`)

// check finds the mistakes that need more than one place to see.
func (d *documents) check() {
	for _, gv := range d.model.GroupVersions {
		d.of(gv.Dir, func() {
			for _, t := range gv.Types {
				d.checkType(t)
			}
		})
		d.checkNames(gv)
	}
	d.checkGroups()
	d.checkRoles()
	d.checkClashes()
}

func (d *documents) checkType(t *model.Type) {
	switch {
	case t.GV.Imported: // its words are those of others
	case t.Schema.Description == "":
		d.fail(t.Schema.Pos, "say in a sentence what it is for", "the type %s has no description", t.Name)
	case repeats(t.Schema.Description, t.Name):
		d.fail(d.at(t.Schema, "description"), "say what it is for", "the description of the type %s only repeats its name", t.Name)
	}
	d.checkHead(t)
	d.checkSchema(t.Schema, t)
}

func (d *documents) checkSchema(s *schema.Schema, in *model.Type) {
	if s.Ref != "" && d.target(s, in) == nil {
		d.failRef(s)
	}
	for _, p := range s.Properties {
		if !fieldName.MatchString(p.Name) {
			d.fail(p.Pos, "write letters and digits", "%q cannot be the name of a field", p.Name)
		}
		d.checkDescription(p, in)
		d.checkSchema(p.Schema, in)
	}
	d.checkNumbers(s)
	for _, part := range []*schema.Schema{s.Items, s.Additional} {
		if part != nil {
			d.checkSchema(part, in)
		}
	}
	if s.Type == "array" && s.Items != nil {
		d.checkList(s, in)
	}
}

// target resolves the reference of a schema, if it is one; nil for a reference to nothing.
func (d *documents) target(s *schema.Schema, in *model.Type) *schema.Schema {
	if s.Ref == "" {
		return s
	}
	id, ok := schema.ResolveRef(in.GV.Dir, s.Ref)
	if t := d.types[id]; ok && t != nil {
		return t.Schema
	}
	return nil
}

// checkDescription refuses a field without a description, or with one that only repeats
// its name.
func (d *documents) checkDescription(p schema.Property, in *model.Type) {
	switch said := p.Schema.Description; {
	case in.GV.Imported:
	case said == "":
		d.fail(p.Pos, "say in a sentence what it is for; kubectl explain shows it", "the field %s has no description", p.Name)
	case repeats(said, p.Name, in.Name):
		d.fail(d.at(p.Schema, "description"), "say what it does, its unit, what its absence means", "the description of %s only repeats its name", p.Name)
	}
}

// checkList checks that the keys of a list's elements are scalar fields of
// theirs, and that the elements of a set are scalars.
func (d *documents) checkList(s *schema.Schema, in *model.Type) {
	element := d.target(s.Items, in)
	if element == nil {
		return
	}
	if s.ListType == "set" && !d.scalar(element, in) {
		d.failOf(model.OfListType, d.at(s, "x-cluster-list-type"), "make it a map with keys", "the elements of a set are not scalars")
	}
	key := func(name, at, what string) {
		i := slices.IndexFunc(element.Properties, func(p schema.Property) bool { return p.Name == name })
		switch {
		case i < 0:
			d.failOf(model.OfListType, d.at(s, at), "name a field of the elements", "the %s %q is not a field of the elements", what, name)
		case !d.scalar(d.target(element.Properties[i].Schema, in), in):
			d.failOf(model.OfListType, d.at(s, at), "name a scalar field", "the %s %q is not a scalar", what, name)
		}
	}
	for _, name := range s.Unique {
		if name != "." {
			key(strings.TrimSuffix(name, "?"), "x-cluster-unique", "member")
		}
	}
	for _, name := range s.ListMapKeys {
		key(name, "x-cluster-list-map-keys", "list key")
		if p := propertyOf(element, name); p != nil && !element.Publishes(name) && !element.Enforces(name) && p.Schema.Default == nil &&
			p.Schema.Missing != "by-rules" && d.scalar(d.target(p.Schema, in), in) && !slices.ContainsFunc(s.ListMapKeys, element.Publishes) {
			d.failOf(model.OfListType, d.at(s, "x-cluster-list-map-keys"), "make it required there, or give it a default",
				"the list key %q is optional in the elements: those without it could not be told apart", name)
		}
	}
	if slices.Contains(s.PatchStrategy, "merge") && s.PatchMergeKey == "" && !d.scalar(element, in) {
		d.fail(d.at(s, "x-cluster-patch-strategy"), "add x-cluster-patch-merge-key", "a patch cannot merge objects in a list without a key")
	}
	if s.PatchMergeKey != "" {
		key(s.PatchMergeKey, "x-cluster-patch-merge-key", "merge key")
	}
}

func propertyOf(s *schema.Schema, name string) *schema.Property {
	for i := range s.Properties {
		if s.Properties[i].Name == name {
			return &s.Properties[i]
		}
	}
	return nil
}

func (d *documents) scalar(s *schema.Schema, in *model.Type) bool {
	return s != nil && s.Type != "object" && s.Type != "array" && !s.PreserveAny
}

// checkNames refuses names that two resources of a group version share.
func (d *documents) checkNames(gv *model.GroupVersion) {
	kinds, names := map[string]string{}, map[string]string{}
	for _, res := range gv.Resources {
		names[res.Plural] = res.Plural
	}
	for _, res := range gv.Resources {
		for _, kind := range []string{res.Kind, res.ListKind} {
			if other := kinds[kind]; other != "" {
				d.fail(res.Pos, "rename one of them", "%s and %s have the same kind %s", other, res.Plural, kind)
				break
			}
			kinds[kind] = res.Plural
		}
		for _, name := range append([]string{res.Singular}, res.ShortNames...) {
			if name == "" || name == res.Plural {
				continue
			}
			if other := names[name]; other != "" && other != res.Plural {
				d.fail(res.Pos, "choose another", "the short name %s of %s belongs to %s already", name, res.Plural, other)
			}
			names[name] = res.Plural
		}
	}
}

// checkRoles refuses a role that two resources have.
func (d *documents) checkRoles() {
	has := map[string]*model.Resource{}
	for _, gv := range d.model.GroupVersions {
		for _, res := range gv.Resources {
			if res.Role == "" {
				continue
			}
			if other := has[res.Role]; other != nil {
				d.fail(res.Pos, "drop one of them", "%s has the role %s, which is that of %s at %s", res.Plural, res.Role, other.Plural, other.Pos)
			}
			if res.Role == "namespaces" && res.Namespaced {
				d.fail(res.Pos, "write scope: Cluster", "%s has the role namespaces and is in a namespace itself", res.Plural)
			}
			has[res.Role] = res
		}
	}
}

// checkGroups refuses versions of a group that differ in scope, kind or storage of a resource. Priority and
// storage may differ between releases.
func (d *documents) checkGroups() {
	served, first := map[string]*model.GroupVersion{}, map[string]*model.GroupVersion{}
	storage := map[string]*model.Resource{}
	for _, gv := range d.model.GroupVersions {
		if !gv.Served {
			continue
		}
		key := gv.Group + "/" + gv.Version
		if other := served[key]; other != nil {
			d.fail(gv.Pos, "rename one of them", "the group version %s is served by %s too", key, other.Pos)
		}
		served[key] = gv
		if other := first[gv.Group]; other == nil {
			first[gv.Group] = gv
		} else if other.GroupPriority != gv.GroupPriority && !d.every {
			d.fail(gv.Pos, "write one number in all versions", "the group %s has the groupPriority %d here and %d at %s", gv.Group, gv.GroupPriority,
				other.GroupPriority, other.Pos)
		}
		for _, res := range gv.Resources {
			key := gv.Group + "/" + res.Plural
			other := storage[key]
			switch {
			case other == nil:
				storage[key] = res
			case other.Kind != res.Kind || other.Namespaced != res.Namespaced:
				d.fail(res.Pos, "give all versions the same kind and scope", "%s has another kind or scope than at %s", res.Plural, other.Pos)
			case other.Stored != res.Stored:
				one, all := res, other
				if res.Stored {
					one, all = other, res
				}
				d.fail(one.Pos, "write storedAs: "+all.GV.Dir+"/"+all.Kind, "there is no way from the stored %s at %s to this version", one.Plural, all.Pos)
			case other.StorageVersion != res.StorageVersion && other.Stored && res.Stored && !d.every:
				d.fail(res.Pos, "write storedAs: "+other.GV.Dir+"/"+other.Kind+" here, or storedAs: "+res.GV.Dir+"/"+res.Kind+" at "+other.Pos.String(),
					"%s has two stored versions, %s here and %s at %s, while an object is stored in one", res.Plural, res.StorageVersion, other.StorageVersion, other.Pos)
			}
		}
	}
}
