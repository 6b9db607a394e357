package endpoints_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

const factsDir = "../../../generator/internal/facts/testdata/"

// TestDiscoveryEqualsFacts compares discovery with the tables of facts, row by row and in
// order: once with the defaults, once with all versions on.
func TestDiscoveryEqualsFacts(t *testing.T) {
	for name, test := range map[string]struct {
		config   []string
		versions string // column of the versions that are on
	}{
		"as it starts": {nil, "versions_default"},
		"all versions": {[]string{"api/all"}, "versions_all"},
	} {
		t.Run(name, func(t *testing.T) {
			h := harness.Start(t, func(c *server.Config) { c.RuntimeConfig = test.config })
			var groups, prefixes []string
			on := map[string]bool{}
			for _, r := range harness.FactTable(t, factsDir+"groups.tsv") {
				if r[test.versions] == "-" {
					continue
				}
				versions := strings.Split(r[test.versions], ",")
				groups = append(groups, fmt.Sprintf("%s %v %s", r["group"], versions, r["preferred"]))
				for _, v := range versions {
					on[r["group"]+"/"+v] = true
					prefixes = append(prefixes, prefix(r["group"], v))
				}
			}
			newer := newerThanFacts(t)
			same(t, "groups, versions and preferred version", groupsOf(h, newer), groups)

			want := map[string]bool{}
			for _, r := range harness.FactTable(t, factsDir+"resources.tsv") {
				if !on[r["group"]+"/"+r["version"]] {
					continue
				}
				want[strings.Join([]string{prefix(r["group"], r["version"]), r["resource"], dash(r["singular"]), r["kind"], own(r["group"]+"/"+r["version"], r["kind_gv"]),
					r["namespaced"], sortedWords(r["verbs"]), dash(r["short_names"]), dash(r["categories"]), dash(r["storage_version_hash"])}, " | ")] = true
			}
			got := map[string]bool{}
			for _, p := range prefixes {
				rows := resourcesOf(h, p)
				if !slices.IsSorted(rows) {
					t.Errorf("%s: resources are not in the order of their names", p)
				}
				rows = slices.DeleteFunc(rows, newer.has)
				for _, row := range rows {
					if got[row] {
						t.Errorf("twice: %s", row)
					}
					got[row] = true
				}
			}
			same(t, "resources", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
		})
	}
}

// newerResources are the paths of the resources that 1.25 does not have.
type newerResources map[string]bool

// has reports whether a row of discovery is of a newer resource, or a subresource of one.
func (n newerResources) has(row string) bool {
	cells := strings.Split(row, " | ")
	name, _, _ := strings.Cut(cells[1], "/")
	return n[cells[0]+"/"+name]
}

func newerThanFacts(t *testing.T) newerResources {
	newer := newerResources{}
	for _, r := range harness.FactTable(t, factsDir+"newer.tsv") {
		newer[prefix(r["group"], r["version"])+"/"+r["resource"]] = true
	}
	return newer
}

// groupsOf are the groups in their order, the core group first, without versions of newer
// resources only.
func groupsOf(h *harness.Server, newer newerResources) []string {
	var core v1.APIVersions
	parse(h, "/api", &core)
	groups := []string{fmt.Sprintf("core %v %s", core.Versions, core.Versions[0])}
	var list v1.APIGroupList
	parse(h, "/apis", &list)
	for _, g := range list.Groups {
		if strings.Contains(g.Name, ".") && !strings.HasSuffix(g.Name, "."+profile.GroupSuffix) {
			continue // not a part of the release
		}
		var alone v1.APIGroup
		parse(h, "/apis/"+g.Name, &alone)
		alone.TypeMeta = g.TypeMeta
		if fmt.Sprint(alone) != fmt.Sprint(g) {
			h.T.Errorf("%s is %v in the list and %v alone", g.Name, g, alone)
		}
		var versions []string
		for _, v := range g.Versions {
			at := prefix(g.Name, v.Version)
			if len(slices.DeleteFunc(resourcesOf(h, at), newer.has)) > 0 {
				versions = append(versions, v.Version)
			}
		}
		preferred := g.PreferredVersion.Version
		if !slices.Contains(versions, preferred) {
			preferred = versions[0]
		}
		groups = append(groups, fmt.Sprintf("%s %v %s", g.Name, versions, preferred))
	}
	return groups
}

// resourcesOf are the rows of a group version, in their order.
func resourcesOf(h *harness.Server, prefix string) []string {
	var list v1.APIResourceList
	parse(h, prefix, &list)
	if want := strings.TrimPrefix(strings.TrimPrefix(prefix, "/apis/"), "/api/"); list.GroupVersion != want {
		h.T.Errorf("%s tells of %s", prefix, list.GroupVersion)
	}
	var rows []string
	for _, r := range list.APIResources {
		namespaced, kindGV := "n", ""
		if r.Namespaced {
			namespaced = "y"
		}
		if r.Version != "" {
			kindGV = path.Join(r.Group, r.Version)
		}
		rows = append(rows, strings.Join([]string{prefix, r.Name, r.SingularName, r.Kind, kindGV, namespaced, sortedWords(strings.Join(r.Verbs, ",")),
			strings.Join(r.ShortNames, ","), strings.Join(r.Categories, ","), r.StorageVersionHash}, " | "))
	}
	return rows
}

func parse(h *harness.Server, path string, into any) {
	h.T.Helper()
	got := h.Get(path)
	if err := json.Unmarshal(got.Body, into); got.Code != http.StatusOK || err != nil {
		h.T.Fatalf("%s: %d %v %s", path, got.Code, err, got.Body)
	}
}

// same reports the lines that only one side has, and with equal lines a different order.
func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("%s: the server has, the facts have not: %s", what, line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("%s: the facts have, the server has not: %s", what, line)
		}
	}
	if !t.Failed() && !slices.Equal(got, want) {
		t.Errorf("%s are in the order\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func prefix(group, version string) string {
	if group == "core" {
		return "/api/" + version
	}
	return "/apis/" + group + "/" + version
}

// own is the group version of a kind if it differs from that of the resource.
func own(gv, kindGV string) string {
	if gv == kindGV {
		return ""
	}
	return kindGV
}

func dash(cell string) string {
	if cell == "-" {
		return ""
	}
	return cell
}

func sortedWords(words string) string {
	w := strings.Split(words, ",")
	slices.Sort(w)
	return strings.Join(w, ",")
}
