package server_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
)

// toCome are the groups of 1.25 that no document has yet. Where one is served it
// is held to the facts like the others.
var toCome = map[string]bool{"apiextensions.k8s.io": true}

// TestDiscoveryEqualsFacts reads the discovery of a running server as a client
// does and holds every line of it to the tables of facts, in both directions: the
// groups and their order, their versions and the preferred one, and each resource.
func TestDiscoveryEqualsFacts(t *testing.T) {
	for name, c := range map[string]struct {
		config   []string
		versions string // the column that has the versions of a group
		served   func(row map[string]string) bool
	}{
		"as started":      {nil, "versions_default", func(row map[string]string) bool { return row["enabled_by_default"] == "y" }},
		"with everything": {[]string{"api/all=true"}, "versions_all", func(map[string]string) bool { return true }},
	} {
		t.Run(name, func(t *testing.T) {
			h := startServer(t, func(cfg *server.Config) { cfg.RuntimeConfig = c.config })
			d := discovered(t, h)
			var groups []string
			resources := map[string][]string{}
			for _, row := range server.FactTable(t, "../internal/facts/testdata/groups.tsv") {
				if toCome[row["group"]] && !d.has(row["group"]) || row[c.versions] == "-" {
					continue
				}
				groups = append(groups, strings.Join([]string{row["group"], row[c.versions], row["preferred"]}, " "))
				for _, v := range strings.Split(row[c.versions], ",") {
					resources[row["group"]+"/"+v] = nil
				}
			}
			preferred := map[string]string{}
			for _, row := range server.FactTable(t, "../internal/facts/testdata/resources.tsv") {
				gv := row["group"] + "/" + row["version"]
				if toCome[row["group"]] && !d.has(row["group"]) || !c.served(row) {
					continue
				}
				resources[gv] = append(resources[gv], strings.Join([]string{row["resource"], row["singular"], row["kind"], row["kind_gv"],
					row["namespaced"], row["verbs"], row["short_names"], row["categories"], row["storage_version_hash"]}, " "))
				if row["preferred_version"] == "y" {
					preferred[row["group"]] = row["version"]
				}
			}
			for _, g := range d.groups {
				if c.config != nil {
					break // that column of the resources is of a server as it starts
				}
				if words := strings.Fields(g); preferred[words[0]] != words[2] {
					t.Errorf("%s prefers %s, the resources that are preferred are of %s", words[0], words[2], preferred[words[0]])
				}
			}
			sameLines(t, "groups (name, versions, preferred)", groups, d.groups)
			for gv := range d.resources {
				if _, ok := resources[gv]; !ok {
					t.Errorf("%s is served, 1.25 has no such group version or has it off", gv)
				}
			}
			for gv, rows := range resources {
				sameLines(t, gv, rows, d.resources[gv])
			}
		})
	}
}

// discovery is what a server says that it serves: lines of the groups, and of the
// resources by group version, where the core group has its name as in the facts.
type discovery struct {
	groups    []string
	resources map[string][]string
}

func (d discovery) has(group string) bool {
	return slices.ContainsFunc(d.groups, func(line string) bool { return strings.HasPrefix(line, group+" ") })
}

func discovered(t *testing.T, h *harness) discovery {
	t.Helper()
	d := discovery{resources: map[string][]string{}}
	core := words(h.get("/api").field(t, "versions"))
	d.groups = []string{"core " + core + " " + strings.Split(core, ",")[0]}
	for _, v := range strings.Split(core, ",") {
		d.read(t, h, "/api/"+v, "core", v)
	}
	groups, _ := h.get("/apis").field(t, "groups").([]any)
	if len(groups) == 0 {
		t.Fatal("no groups")
	}
	for _, g := range groups {
		group := g.(map[string]any)
		name := group["name"].(string)
		own := h.get("/apis/" + name)
		var versions []string
		for i, v := range group["versions"].([]any) {
			version := v.(map[string]any)["version"].(string)
			if gv := v.(map[string]any)["groupVersion"]; gv != name+"/"+version || own.field(t, "versions").([]any)[i].(map[string]any)["groupVersion"] != gv {
				t.Errorf("%s: %v is not the group and the version, or the group's own document differs", name, gv)
			}
			versions = append(versions, version)
			d.read(t, h, "/apis/"+name+"/"+version, name, version)
		}
		preferred := group["preferredVersion"].(map[string]any)["version"].(string)
		if own.field(t, "preferredVersion.version") != preferred || own.field(t, "name") != name || own.field(t, "kind") != "APIGroup" {
			t.Errorf("/apis/%s differs from its entry in /apis: %s", name, own.body)
		}
		d.groups = append(d.groups, name+" "+strings.Join(versions, ",")+" "+preferred)
	}
	return d
}

// read reads the resources of a group version.
func (d discovery) read(t *testing.T, h *harness, path, group, version string) {
	t.Helper()
	own := group + "/" + version
	r := h.get(path)
	if r.code != http.StatusOK || r.field(t, "kind") != "APIResourceList" || r.field(t, "groupVersion") != strings.TrimPrefix(own, "core/") {
		t.Fatalf("%s: %d %s", path, r.code, r.body)
	}
	rows := []string{}
	for _, e := range r.field(t, "resources").([]any) {
		res := e.(map[string]any)
		gv := own
		if v, ok := res["version"]; ok {
			g, _ := res["group"].(string)
			gv = strings.TrimPrefix(g+"/"+v.(string), "/")
			if g == "" {
				gv = "core/" + v.(string)
			}
		}
		namespaced := "n"
		if res["namespaced"] == true {
			namespaced = "y"
		}
		rows = append(rows, strings.Join([]string{res["name"].(string), words(res["singularName"]), res["kind"].(string), gv,
			namespaced, words(res["verbs"]), words(res["shortNames"]), words(res["categories"]), words(res["storageVersionHash"])}, " "))
	}
	d.resources[own] = rows
}

// words writes a string or a list as the facts do.
func words(v any) string {
	var list []string
	switch v := v.(type) {
	case string:
		list = append(list, v)
	case []any:
		for _, e := range v {
			list = append(list, e.(string))
		}
	}
	if text := strings.Join(list, ","); text != "" {
		return text
	}
	return "-"
}

// sameLines fails for each line that only one of the two has, and when they are
// not in the same order.
func sameLines(t *testing.T, what string, facts, served []string) {
	t.Helper()
	if slices.Equal(facts, served) {
		return
	}
	same := true
	for _, line := range facts {
		if !slices.Contains(served, line) {
			same = false
			t.Errorf("%s: 1.25 has, the server has not: %s", what, line)
		}
	}
	for _, line := range served {
		if !slices.Contains(facts, line) {
			same = false
			t.Errorf("%s: the server has, 1.25 has not: %s", what, line)
		}
	}
	if same {
		t.Errorf("%s: the order differs: %v\nin 1.25: %v", what, served, facts)
	}
}
