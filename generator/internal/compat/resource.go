package compat

import (
	"fmt"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// groupVersion compares the resources and types of a directory.
func (c *comparison) groupVersion(old, now *model.GroupVersion) {
	s := scope{}.of(old)
	if old.Served && (now == nil || !now.Served) {
		s.deprecated = !slices.ContainsFunc(old.Resources, func(r *model.Resource) bool { return r.DeprecatedSince == "" })
		c.find(s, "group-version-removed", gone(old.Pos), "%s is no longer served", old.Dir)
		return
	}
	if old.Served && old.Group != now.Group {
		c.find(s, "group-renamed", now.Pos, "the group %s is now called %s", old.Group, now.Group)
	}
	for _, res := range old.Resources {
		c.resource(s, res, now)
	}
	for _, t := range old.Types {
		if !t.Kind {
			continue // compared where a kind reaches it
		}
		if other := c.now.types[t.ID]; other != nil {
			c.schemas(s, t, t.Schema, other, other.Schema, t.Name)
		} else if !slices.ContainsFunc(old.Resources, func(r *model.Resource) bool { return r.Type == t }) {
			c.find(s, "type-removed", gone(t.Schema.Pos), "the kind %s is gone", t.Name)
		}
	}
}

func (c *comparison) resource(s scope, old *model.Resource, gv *model.GroupVersion) {
	s.deprecated = old.DeprecatedSince != ""
	i := slices.IndexFunc(gv.Resources, func(r *model.Resource) bool { return r.Plural == old.Plural })
	if i < 0 {
		c.find(s, "resource-removed", gone(old.Pos), "the resource %s is gone", old.Plural)
		return
	}
	now := gv.Resources[i]
	differs := func(rule, what, before, after string) {
		if before != after {
			c.find(s, rule, now.Pos, "the %s of %s was %s and is %s", what, old.Plural, before, after)
		}
	}
	differs("resource-kind-changed", "kind", old.Kind, now.Kind)
	differs("resource-kind-changed", "list kind", old.ListKind, now.ListKind)
	differs("resource-scope-changed", "scope", scopeName(old), scopeName(now))
	differs("resource-name-format-changed", "name format", old.NameFormat, now.NameFormat)
	differs("endpoint-changed", "endpoint", string(old.Endpoint), string(now.Endpoint))
	c.life(s, lifeOf(old), lifeOf(now))
	if old.Stored && !now.Stored {
		c.find(s, "resource-unstored", now.Pos, "objects of %s are no longer stored", old.Plural)
	}
	if now.Stored && old.Stored && now.StorageVersion != old.StorageVersion && c.before.groups[folder(gv.Dir)+"/"+now.StorageVersion] == nil {
		c.find(s, "storage-version-advanced", now.Pos, "%s would be stored as %s, which the last release cannot read", old.Plural, now.StorageVersion)
	}
	lost := func(rule, what string, before, after []string) {
		for _, name := range before {
			if !slices.Contains(after, name) {
				c.find(s, rule, now.Pos, "%s no longer has the %s %s", old.Plural, what, name)
			}
		}
	}
	lost("resource-verb-removed", "verb", old.Verbs, now.Verbs)
	lost("resource-short-name-removed", "short name", old.ShortNames, now.ShortNames)
	lost("resource-field-label-removed", "field label", selectableNames(old), selectableNames(now))
	lost("resource-column-removed", "column", columnNames(old), columnNames(now))
	if _, version, _ := strings.Cut(strings.Fields(now.Replacement + " -")[0], "/"); version != "" && lessStable(version, gv.Version) {
		c.find(s, "resource-replacement-unstable", now.Pos, "%s %s gives way to %s, which is less stable", gv.Version, old.Plural, now.Replacement)
	}
	for i := range old.Subresources {
		c.subresource(s, &old.Subresources[i], now)
	}
}

// lifeOf is the resource that decides how objects are kept and end: the storage version.
func lifeOf(r *model.Resource) *model.Resource {
	if r.StoredAs != nil {
		return r.StoredAs
	}
	return r
}

// life compares the keys of updates and deletes.
func (c *comparison) life(s scope, old, now *model.Resource) {
	if now.ConditionalUpdate && !old.ConditionalUpdate {
		c.find(s, "resource-update-conditional", now.Pos, "an update of %s must say the version that it replaces", now.Plural)
	}
	if was, is := dependentsOf(old), dependentsOf(now); was != is {
		c.find(s, "resource-dependents-changed", now.Pos, "the dependents of %s were %s and are %s", now.Plural, was, is)
	}
	if was, is := graceOf(old), graceOf(now); was != is {
		c.find(s, "resource-grace-changed", now.Pos, "the end of %s took %s and takes %s", now.Plural, was, is)
	}
	for _, name := range now.ProtectedNames {
		if !slices.Contains(old.ProtectedNames, name) {
			c.find(s, "resource-name-protected", now.Pos, "%s %s may no longer be deleted", now.Plural, name)
		}
	}
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

func (c *comparison) subresource(s scope, old *model.Subresource, res *model.Resource) {
	i := slices.IndexFunc(res.Subresources, func(o model.Subresource) bool { return o.Name == old.Name })
	if i < 0 {
		c.find(s, "subresource-removed", res.Pos, "the subresource %s of %s is gone", old.Name, res.Plural)
		return
	}
	now := &res.Subresources[i]
	for _, verb := range old.Verbs {
		if !slices.Contains(now.Verbs, verb) {
			c.find(s, "subresource-verb-removed", now.Pos, "%s/%s no longer has the verb %s", res.Plural, old.Name, verb)
		}
	}
	if old.Type.ID != now.Type.ID {
		c.find(s, "subresource-kind-changed", now.Pos, "the kind of %s/%s was %s and is %s", res.Plural, old.Name, old.Type.ID, now.Type.ID)
	}
	if old.Endpoint != now.Endpoint {
		c.find(s, "endpoint-changed", now.Pos, "%s/%s did %s and does %s", res.Plural, old.Name, old.Endpoint, now.Endpoint)
	}
	for _, version := range old.AlsoAccepts {
		if !slices.Contains(now.AlsoAccepts, version) {
			c.find(s, "subresource-version-removed", now.Pos, "%s/%s no longer accepts bodies of %s", res.Plural, old.Name, version)
		}
	}
	if old.SpecReplicas != now.SpecReplicas || old.StatusReplicas != now.StatusReplicas || old.Selector != now.Selector {
		c.find(s, "scale-path-changed", now.Pos, "the scale of %s reads and writes other fields", res.Plural)
	}
}

// preferred checks that the preferred version of a group is one that clients of
// the last release know.
func (c *comparison) preferred(before, now *model.Model) {
	was, is := preferredVersions(before), preferredVersions(now)
	for _, gv := range now.GroupVersions {
		old := was[gv.Group]
		if gv.Served && is[gv.Group] == gv && old != nil && old.Version != gv.Version && c.before.groups[gv.Dir] == nil {
			c.find(scope{stability: "stable"}, "preferred-version-advanced", gv.Pos, "the preferred version of %s moves from %s to %s, which the last release did not serve", gv.Group, old.Version, gv.Version)
		}
	}
}

func preferredVersions(m *model.Model) map[string]*model.GroupVersion {
	best := map[string]*model.GroupVersion{}
	for _, gv := range m.GroupVersions {
		if b := best[gv.Group]; gv.Served && (b == nil || gv.VersionPriority > b.VersionPriority) {
			best[gv.Group] = gv
		}
	}
	return best
}

func folder(dir string) string {
	group, _, _ := strings.Cut(dir, "/")
	return group
}

func scopeName(r *model.Resource) string {
	if r.Namespaced {
		return "Namespaced"
	}
	return "Cluster"
}

func selectableNames(r *model.Resource) []string {
	var names []string
	for _, f := range r.Selectable {
		names = append(names, f.Name)
	}
	return names
}

func columnNames(r *model.Resource) []string {
	var names []string
	for _, f := range r.Columns {
		names = append(names, f.Name)
	}
	return names
}

// lessStable orders versions by the stability that their names promise.
func lessStable(a, b string) bool {
	rank := func(version string) int {
		switch {
		case strings.Contains(version, "alpha"):
			return 0
		case strings.Contains(version, "beta"):
			return 1
		}
		return 2
	}
	return rank(a) < rank(b)
}

// resolve follows a reference to its type.
func (d documents) resolve(t *model.Type, s *schema.Schema) (*model.Type, *schema.Schema) {
	if s.Ref == "" {
		return t, s
	}
	id, _ := schema.ResolveRef(t.GV.Dir, s.Ref)
	if target := d.types[id]; target != nil {
		return target, target.Schema
	}
	return t, s
}
