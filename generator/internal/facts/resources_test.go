package facts

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/generator/internal/model"
)

// groupName is the name of a group in facts, where the core group has one.
func groupName(gv *model.GroupVersion) string {
	if gv.Group == "" {
		return "core"
	}
	return gv.Group
}

func compareResources(t *testing.T, m *model.Model, found differences) {
	resources := map[string]*model.Resource{}
	subresources := map[string]*model.Subresource{}
	for _, gv := range m.GroupVersions {
		for _, r := range gv.Resources {
			name := groupName(gv) + "/" + gv.Version + " " + r.Plural
			resources[name] = r
			for i := range r.Subresources {
				subresources[name+"/"+r.Subresources[i].Name] = &r.Subresources[i]
			}
		}
	}
	compareGroups(t, m, found)
	compareColumns(t, resources, found)
	compareSelectors(t, resources, found)
	deprecated := map[string]row{}
	for _, r := range table(t, "lifecycles") {
		deprecated[r["group"]+"/"+r["version"]+"."+r["kind"]] = r
	}
	all := served(m)
	for _, r := range table(t, "resources") {
		if !all[dir(r["group"]+"/"+r["version"], m.Profile.GroupSuffix)] {
			found.skip("resources", 1)
			continue
		}
		name := r["group"] + "/" + r["version"] + " " + r["resource"]
		if s := subresources[name]; s != nil {
			found.compare(name, "kind", dir(r["kind_gv"], m.Profile.GroupSuffix)+"."+r["kind"], s.Type.GV.Dir+"."+s.Type.Name)
			found.compare(name, "verbs", sorted(r.list("verbs")), sorted(s.Verbs))
			delete(subresources, name)
			continue
		}
		res := resources[name]
		if res == nil {
			found.missing(name)
			continue
		}
		delete(resources, name)
		found.compare(name, "kind", r["kind"], res.Kind)
		found.compare(name, "singular", r["singular"], word(res.Singular))
		found.compare(name, "namespaced", r["namespaced"], yes(res.Namespaced))
		found.compare(name, "verbs", sorted(r.list("verbs")), sorted(res.Verbs))
		found.compare(name, "short names", r["short_names"], list(res.ShortNames))
		found.compare(name, "categories", r["categories"], list(res.Categories))
		found.compare(name, "stored", yes(r["storage_version"] != "-"), yes(res.Stored))
		found.compare(name, "storage version hash", r["storage_version_hash"], word(res.StorageVersionHash))
		l := deprecated[r["group"]+"/"+r["version"]+"."+r["kind"]]
		found.compare(name, "deprecated since", l["deprecated"], word(res.DeprecatedSince))
		found.compare(name, "removed in", l["removed"], word(res.RemovedIn))
		found.compare(name, "replacement", l["replacement"], word(res.Replacement))
	}
	for name := range resources {
		found.unexpected(name)
	}
	for name := range subresources {
		found.unexpected(name)
	}
}

func compareGroups(t *testing.T, m *model.Model, found differences) {
	groups := map[string]*model.GroupVersion{}
	for _, gv := range m.GroupVersions {
		if gv.Served {
			groups[groupName(gv)+"/"+gv.Version] = gv
		}
	}
	for _, r := range table(t, "apiservices") {
		name := r["group"] + "/" + r["version"]
		gv := groups[name]
		if gv == nil {
			found.skip("apiservices", 1)
			continue
		}
		delete(groups, name)
		found.compare(name, "group priority", r["group_priority_minimum"], strconv.Itoa(gv.GroupPriority))
		found.compare(name, "version priority", r["version_priority"], strconv.Itoa(gv.VersionPriority))
	}
	for name := range groups {
		found.unexpected(name)
	}
}

// compareColumns compares names, types, formats, priorities and their order.
func compareColumns(t *testing.T, resources map[string]*model.Resource, found differences) {
	facts := map[string][]string{}
	for _, r := range table(t, "columns") {
		name := r["group"] + "/" + r["version"] + " " + r["resource"]
		facts[name] = append(facts[name], strings.Join([]string{r["column"], r["type"], r["format"], r["priority"]}, "|"))
	}
	for name, res := range resources {
		var columns []string
		for _, c := range res.Columns {
			columns = append(columns, strings.Join([]string{c.Name, c.Type, word(c.Format), strconv.Itoa(c.Priority)}, "|"))
		}
		found.compare(name, "columns", list(facts[name]), list(columns))
		delete(facts, name)
	}
	for _, columns := range facts {
		found.skip("columns", len(columns))
	}
}

// compareSelectors leaves out the name and the namespace, which every
// resource has.
func compareSelectors(t *testing.T, resources map[string]*model.Resource, found differences) {
	facts := map[string][]string{}
	for _, r := range table(t, "selectors") {
		name := r["gv"] + " " + r["resource"]
		if !slices.Contains([]string{"metadata.name", "metadata.namespace"}, r["field_label"]) {
			facts[name] = append(facts[name], strings.Join([]string{r["field_label"], r["alias_of"], r["in_selectable_set"]}, "|"))
		}
	}
	for name, res := range resources {
		var fields []string
		for _, s := range res.Selectable {
			fields = append(fields, strings.Join([]string{s.Name, word(s.AliasOf), yes(!s.Never)}, "|"))
		}
		found.compare(name, "selectable fields", sorted(facts[name]), sorted(fields))
		delete(facts, name)
	}
	for _, fields := range facts {
		found.skip("selectors", len(fields))
	}
}
