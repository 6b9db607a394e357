package facts

import (
	"maps"
	"slices"
	"testing"

	"github.com/capstan-dev/capstan/generator/internal/model"
)

// compareConstants holds the words that a field may have to the constants of the
// field's type, where it has any. A field may have fewer: some words belong to
// features that are off.
func compareConstants(t *testing.T, m *model.Model, found differences) {
	constants := map[string][]string{}
	for _, r := range table(t, "constants") {
		if r["value"] == `""` {
			r["value"] = ""
		}
		constants[r["named_type"]] = append(constants[r["named_type"]], r["value"])
	}
	unused := maps.Clone(constants)
	types := typesByID(m)
	for _, r := range table(t, "types") {
		doc, known := types[dir(r["gv"], m.Profile.GroupSuffix)+"."+r["type"]], constants[r["named_type"]]
		if doc == nil || known == nil || r["named_type"] == "-" {
			continue
		}
		for _, p := range doc.Schema.Properties {
			if p.Name != r["jsonName"] {
				continue
			}
			if len(elem(p.Schema).Enum) > 0 {
				delete(unused, r["named_type"])
			}
			for _, word := range elem(p.Schema).Enum {
				if word != "" && !slices.Contains(known, word) {
					found.unexpected(doc.GV.Dir + "." + doc.Name + "." + p.Name + " constant " + word)
				}
			}
		}
	}
	for _, values := range unused {
		found.skip("constants", len(values))
	}
}

// compareVersions holds the versions of a group, best first, to those of 1.25.
func compareVersions(t *testing.T, m *model.Model, found differences) {
	served := map[string][]*model.GroupVersion{}
	for _, gv := range m.GroupVersions {
		if gv.Served {
			served[groupName(gv)] = append(served[groupName(gv)], gv)
		}
	}
	for _, r := range table(t, "groups") {
		gvs := served[r["group"]]
		if gvs == nil {
			found.skip("groups", 1)
			continue
		}
		delete(served, r["group"])
		slices.SortFunc(gvs, func(a, b *model.GroupVersion) int { return b.VersionPriority - a.VersionPriority })
		var have []string
		for _, gv := range gvs {
			have = append(have, gv.Version)
		}
		// Versions that the documents do not have yet are reported elsewhere.
		want := slices.DeleteFunc(r.list("versions_all"), func(v string) bool { return !slices.Contains(have, v) })
		found.compare(r["group"], "versions", list(want), list(have))
		if slices.Contains(have, r["preferred"]) {
			found.compare(r["group"], "preferred version", r["preferred"], have[0])
		}
	}
	for name := range served {
		found.unexpected("group " + name)
	}
}
