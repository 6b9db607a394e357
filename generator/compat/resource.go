package compat

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
)

// resource compares a resource in one group version.
func (c *comparison) resource(v *version, old *model.Resource, in *version) {
	u := use{Request | Response | Stored, stabilityOf(v.Stability)}
	path := v.Dir + " " + old.Plural
	now := in.resource(old.Plural)
	if now == nil {
		c.gone(v, old)
		return
	}
	c.counts.Resources++
	find := func(rule, format string, args ...any) { c.find(u, rule, now.Pos, path, format, args...) }
	differs := func(rule, what, before, after string) {
		if before != after {
			find(rule, "had the %s %s and has %s", what, cmp.Or(before, "none"), cmp.Or(after, "none"))
		}
	}
	differs("resource-kind-changed", "kind", old.Kind, now.Kind)
	differs("resource-scope-changed", "scope", scopeName(old), scopeName(now))
	verbs := old.Verbs
	if c.differ() { // paths do not say which lists can be watched
		verbs = slices.DeleteFunc(slices.Clone(verbs), func(v string) bool { return v == "watch" })
	}
	for _, verb := range verbs {
		if !slices.Contains(now.Verbs, verb) {
			find("resource-verb-removed", "no longer has the verb %s", verb)
		}
	}
	if c.both(facetNames) {
		c.spoken(u, path, old, now)
	}
	c.action(u, path, now.Pos, old.Action, now.Action)
	if c.both(facetLife) {
		differs("endpoint-changed", "endpoint", string(old.Endpoint), string(now.Endpoint))
		if why := named(old.NameFormat).within(named(now.NameFormat)); why != "" {
			find("resource-name-format-changed", "takes fewer names: %s", why)
		}
		c.life(u, path, lifeOf(old), lifeOf(now))
		c.references(u, path, lifeOf(old), lifeOf(now))
		c.switches(u, path, old, now)
	}
	c.storage(u, path, v, old, now)
	renamed := c.restored(old, now)
	if c.both(facetColumns) && old.Stored == now.Stored {
		c.columns(u, path, old, now, renamed)
	}
	if c.both(facetSelectors) {
		c.selectors(u, path, old, now, renamed)
	}
	if was, is := c.old.kinds[typeID(old.Type)], c.now.kinds[typeID(now.Type)]; c.both(facetGo) && was != nil && is != nil && was.id != is.id {
		c.shapes(was.shape, is.shape, path)
	}
	c.deprecation(u, path, v, old, now)
	for i := range old.Subresources {
		c.subresource(u, path, v, &old.Subresources[i], now)
	}
	if status := c.statusOf(old); now.HasStatus && !old.HasStatus && status && old.Stored {
		find("resource-status-split", "takes the status only through the subresource status")
	}
}

// spoken compares the names that people type.
func (c *comparison) spoken(u use, path string, old, now *model.Resource) {
	find := func(rule, format string, args ...any) { c.find(u, rule, now.Pos, path, format, args...) }
	if old.ListKind != now.ListKind {
		find("resource-kind-changed", "had the list kind %s and has %s", old.ListKind, cmp.Or(now.ListKind, "none"))
	}
	for _, n := range []struct {
		rule, what  string
		before, now []string
	}{{"resource-short-name-removed", "short name", old.ShortNames, now.ShortNames}, {"resource-category-removed", "category", old.Categories, now.Categories}} {
		for _, name := range n.before {
			if !slices.Contains(n.now, name) {
				find(n.rule, "no longer has the %s %s", n.what, name)
			}
		}
	}
	if old.Singular != "" && !strings.EqualFold(cmp.Or(now.Singular, now.Kind), old.Singular) {
		find("resource-short-name-removed", "no longer has the singular %s", old.Singular)
	}
}

// statusOf reports whether objects of a resource have a member status.
func (c *comparison) statusOf(r *model.Resource) bool {
	if r.Type == nil || c.old.kinds[r.Type.ID] == nil {
		return false
	}
	return c.old.kinds[r.Type.ID].shape.property("status") != nil
}

func named(check string) texts { return texts{checks: []string{check}, most: math.MaxInt} }

// lifeOf is the resource that decides how objects are kept and end: the storage version.
func lifeOf(r *model.Resource) *model.Resource {
	if r.StoredAs != nil {
		return r.StoredAs
	}
	return r
}

// life compares the keys of writes and deletes that the storage version says for all.
func (c *comparison) life(u use, path string, old, now *model.Resource) {
	find := func(rule, format string, args ...any) { c.find(u, rule, now.Pos, path, format, args...) }
	switched := func(rule string, was, is bool, off, on string) {
		switch {
		case was && !is:
			find(rule, "%s", off)
		case is && !was:
			find(rule, "%s", on)
		}
	}
	switched("resource-update-conditional", old.ConditionalUpdate, old.ConditionalUpdate || now.ConditionalUpdate, "",
		"demands that an update says the version that it replaces")
	switched("resource-generation-changed", old.HasGeneration, now.HasGeneration, "no longer counts changes in metadata.generation",
		"counts changes in metadata.generation")
	switched("resource-grace-changed", old.Completes, now.Completes, "has no completed objects", "has completed objects")
	switched("resource-expiry-changed", old.Expires, now.Expires, "keeps its objects", "loses objects some time after their last write")
	switched("resource-status-split", old.StatusOnCreate, now.StatusOnCreate, "drops the status of new objects", "keeps the status of new objects")
	switched("resource-delete-answer-changed", old.DeleteReturnsObject, now.DeleteReturnsObject, "answers a delete with a Status",
		"answers a delete with the object")
	if was, is := dependentsOf(old), dependentsOf(now); was != is {
		find("resource-dependents-changed", "had dependents that were %s, and they are %s", was, is)
	}
	if was, is := graceOf(old), graceOf(now); was != is {
		find("resource-grace-changed", "took %s to end and takes %s", was, is)
	}
	for _, name := range now.ProtectedNames {
		if !slices.Contains(old.ProtectedNames, name) {
			find("resource-name-protected", "%s may no longer be deleted", name)
		}
	}
	if old.Role != now.Role {
		find("endpoint-changed", "had the role %s and has %s", cmp.Or(old.Role, "none"), cmp.Or(now.Role, "none"))
	}
}

// switches compares the keys that each version says for itself.
func (c *comparison) switches(u use, path string, old, now *model.Resource) {
	find := func(rule, format string, args ...any) { c.find(u, rule, now.Pos, path, format, args...) }
	if unlike(old.Keeps, now.Keeps) {
		find("resource-keeps-changed", "kept %s through updates and keeps %s", list(old.Keeps), list(now.Keeps))
	}
	if was, is := cmp.Or(old.ErrorGroup, old.GV.Group), cmp.Or(now.ErrorGroup, now.GV.Group); was != is && old.ErrorGroup+now.ErrorGroup != "" {
		find("resource-error-group-changed", "named the group %q in errors and names %q", was, is)
	}
	if old.AnyFinalizer && !now.AnyFinalizer {
		find("rule-added", "takes only known finalizers")
	}
	if !within(checksOf(now.Checks), checksOf(old.Checks)) {
		find("rule-added", "checks updates for %s", list(now.Checks))
	}
	if now.CheckedWhenMissing != old.CheckedWhenMissing {
		find("resource-missing-changed", "answers updates of missing objects differently")
	}
	for _, name := range now.HiddenAnnotations {
		if !slices.Contains(old.HiddenAnnotations, name) {
			find("resource-annotation-hidden", "hides the annotation %s in tables and metadata", name)
		}
	}
	for _, h := range []string{"create", "update", "status", "validate", "validateParts", "check", "checkDelete", "warn"} {
		refuses := h == "validate" || strings.HasPrefix(h, "check")
		if was, is := slices.Contains(old.Hooks, h), slices.Contains(now.Hooks, h); was != is && (is || !refuses) && h != "warn" {
			find("resource-hook-changed", "has other hand-written rules: the hook %s", h)
		}
	}
}

// checksOf are the checks of an update, the usual ones without any.
func checksOf(checks []string) []string {
	if checks == nil {
		return []string{"metadataChange", "metadata", "object", "change"}
	}
	return checks
}

// storage compares the version in which objects are stored.
func (c *comparison) storage(u use, path string, v *version, old, now *model.Resource) {
	find := func(rule, format string, args ...any) { c.find(u, rule, now.Pos, path, format, args...) }
	if c.both(facetLife) && old.Stored != now.Stored {
		find("resource-unstored", "%s", map[bool]string{true: "keeps objects, which it did not", false: "no longer stores objects"}[now.Stored])
		return
	}
	if !c.both(facetStorage) || !now.Stored {
		return
	}
	if old.StorageVersion != now.StorageVersion {
		c.readable(u, v, now)
	}
	if c.both(facetLife) && old.StorageVersion == now.StorageVersion && old.StorageVersionHash != now.StorageVersionHash &&
		old.GV.Group == now.GV.Group && old.Kind == now.Kind {
		find("storage-hash-changed", "is published with another hash of its storage version")
	}
}

// readable checks that the last release can read the objects that are stored now: in a
// version in which it served the resource.
func (c *comparison) readable(u use, v *version, now *model.Resource) {
	storage := c.old.served(v.Group, now.StorageVersion)
	if c.both(facetGo) {
		storage = c.old.find(folder(v.Dir) + "/" + now.StorageVersion)
	}
	if storage.resource(now.Plural) == nil {
		c.find(u, "storage-version-advanced", now.Pos, v.Dir+" "+now.Plural, "would be stored as %s, which the last release cannot read", now.StorageVersion)
	}
}

// restored are the fields that have other names in the version in which objects are stored now: columns and
// field labels have their paths in the stored version.
func (c *comparison) restored(old, now *model.Resource) model.Renaming {
	was, is := lifeOf(old), lifeOf(now)
	if was.StorageVersion == is.StorageVersion || was.Type == nil || is.Type == nil {
		return nil
	}
	return model.Renames(model.Side{Of: was.Type, Within: c.old.within()}, model.Side{Of: is.Type, Within: c.now.within()})
}

// within are the group versions of a side.
func (s *Surface) within() (all []*model.GroupVersion) {
	for _, v := range s.versions {
		all = append(all, v.GroupVersion)
	}
	return all
}

// columns compares the columns of tables.
func (c *comparison) columns(u use, path string, old, now *model.Resource, renamed model.Renaming) {
	last := -1
	for _, was := range old.Columns {
		was.Path, was.Shows = renamed.In(was.Path), renamed.In(was.Shows)
		i := slices.IndexFunc(now.Columns, func(o model.Column) bool { return o.Name == was.Name })
		if i < 0 {
			c.find(u, "resource-column-removed", now.Pos, path, "no longer has the column %s", was.Name)
			continue
		}
		is := now.Columns[i]
		find := func(format string, args ...any) { c.find(u, "resource-column-changed", is.Pos, path, format, args...) }
		switch {
		case i < last:
			find("has the column %s in another place", was.Name)
		case was.Type != is.Type || was.Format != is.Format:
			find("shows %s as %s, which was %s", was.Name, strings.TrimSpace(is.Type+" "+is.Format), strings.TrimSpace(was.Type+" "+was.Format))
		case is.Priority > was.Priority:
			find("shows %s only on demand", was.Name)
		case was.Path != is.Path || was.Cell != is.Cell || !sameExpression(was.Shows, is.Shows) || was.Absent != is.Absent:
			find("shows another value as %s", was.Name)
		}
		last = max(last, i)
	}
}

// selectors compares the fields that a selector may name.
func (c *comparison) selectors(u use, path string, old, now *model.Resource, renamed model.Renaming) {
	for _, was := range old.Selectable {
		i := slices.IndexFunc(now.Selectable, func(o model.Selectable) bool { return o.Name == was.Name })
		if i < 0 {
			c.find(u, "resource-field-label-removed", now.Pos, path, "no longer has the field label %s", was.Name)
			continue
		}
		if before, after := renamed.In(selects(was, old)), selects(now.Selectable[i], now); before != after {
			c.find(u, "resource-field-label-changed", now.Selectable[i].Pos, path, "selected %s by %s and selects %s", was.Name, before, after)
		}
	}
}

// selects is the value that a selectable field stands for.
func selects(f model.Selectable, of *model.Resource) string {
	for range 10 {
		i := slices.IndexFunc(append(slices.Clone(of.Selectable), lifeOf(of).Selectable...), func(o model.Selectable) bool { return o.Name == f.AliasOf })
		if f.AliasOf == "" || i < 0 {
			break
		}
		f = append(slices.Clone(of.Selectable), lifeOf(of).Selectable...)[i]
	}
	switch {
	case f.Never:
		return "nothing"
	case f.AliasOf != "":
		return f.AliasOf
	case f.Else != "":
		return f.Path + " or " + f.Else + " or " + fmt.Sprintf("%q", f.Default)
	case f.Default != "":
		return f.Path + " or " + fmt.Sprintf("%q", f.Default)
	}
	return f.Path
}

func (c *comparison) subresource(u use, path string, v *version, old *model.Subresource, res *model.Resource) {
	path += "/" + old.Name
	i := slices.IndexFunc(res.Subresources, func(o model.Subresource) bool { return o.Name == old.Name })
	if i < 0 {
		c.goneSubresource(u, path, v, old, res)
		return
	}
	now := &res.Subresources[i]
	find := func(rule, format string, args ...any) { c.find(u, rule, now.Pos, path, format, args...) }
	for _, verb := range old.Verbs {
		if !slices.Contains(now.Verbs, verb) {
			find("subresource-verb-removed", "no longer has the verb %s", verb)
		}
	}
	if was, is := typeID(old.Type), typeID(now.Type); was != is && !c.differ() {
		find("subresource-kind-changed", "had the kind %s and has %s", was, is)
	}
	c.action(u, path, now.Pos, old.Action, now.Action)
	if old.Action != nil && now.Action != nil {
		c.endDate(u, path, now.Pos, v.Dir+"/"+res.Plural+"/"+now.Name, old.Action.Deprecation, now.Action.Deprecation)
	}
	if !c.both(facetStorage) {
		return
	}
	if old.SpecReplicas != now.SpecReplicas || old.StatusReplicas != now.StatusReplicas || old.Selector != "" && old.Selector != now.Selector {
		find("scale-path-changed", "reads and writes other fields")
	}
	if !c.both(facetLife) {
		return
	}
	if old.Endpoint != now.Endpoint {
		find("endpoint-changed", "did %s and does %s", old.Endpoint, now.Endpoint)
	}
	for _, version := range old.AlsoAccepts {
		if !slices.Contains(now.AlsoAccepts, version) {
			find("subresource-version-removed", "no longer accepts bodies of %s", version)
		}
	}
	if unlike(old.Keeps, now.Keeps) {
		find("resource-keeps-changed", "kept %s and keeps %s", list(old.Keeps), list(now.Keeps))
	}
	if unlike(old.Unowned, now.Unowned) {
		find("map-semantics-changed", "did not own %s and does not own %s", list(old.Unowned), list(now.Unowned))
	}
	if !within(checksOf(now.Checks), checksOf(old.Checks)) {
		find("rule-added", "checks updates for %s", list(now.Checks))
	}
	if old.MissingAs != now.MissingAs {
		find("resource-missing-changed", "named %s when the object is missing and names %s", cmp.Or(old.MissingAs, "itself"), cmp.Or(now.MissingAs, "itself"))
	}
}

func typeID(t *model.Type) string {
	if t == nil {
		return "none"
	}
	return t.ID
}

func dependentsOf(r *model.Resource) string {
	return map[string]string{"": "deleted", "orphan": "orphaned", "none": "not there"}[r.Dependents]
}

func graceOf(r *model.Resource) string {
	g := r.Graceful
	if g == nil {
		return "no time"
	}
	text := fmt.Sprintf("the seconds at %s or %d", g.Period, g.Default)
	if g.Needs != "" {
		text += " where there is " + g.Needs
	}
	return text
}

func scopeName(r *model.Resource) string {
	if r.Namespaced {
		return "Namespaced"
	}
	return "Cluster"
}
