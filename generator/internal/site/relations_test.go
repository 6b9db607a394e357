package site

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRelations: the page of a group version draws which kinds name which others, and those of the kinds say it in words.
func TestRelations(t *testing.T) {
	kind := func(name, fields string) string {
		return "description: A " + name + " is an example.\nproperties:\n  metadata: {}\n" + fields
	}
	texts := pagesOf(t, map[string]string{
		"go.mod": "module example.com/fleet\n",
		"openapi/fleet/v1.yaml": `openapi: 3.0.3
info: {title: fleet, version: v1}
x-cluster-group: {name: fleet.example.com, groupPriority: 100, versionPriority: 10}
x-cluster-resources:
  trucks: {kind: Truck, scope: Namespaced, hooks: [check], reads: [Truck]}
  depots: {kind: Depot, scope: Cluster}
paths: {}
`,
		"schemas/fleet/v1/Depot.yaml": kind("Depot", "  place: {description: Its town., type: string}\n"),
		"schemas/fleet/v1/Truck.yaml": kind("Truck", `  depot: {description: Its home., type: string, x-cluster-references: {kind: Depot}}
  yard: {description: Where it is parked., type: string, x-cluster-references: {kind: Depot, onDelete: cascade}}
  maps:
    description: What is drawn on it.
    type: array
    items: {type: string, x-cluster-references: {kind: /core/v1/ConfigMap, onMissing: warn, onDelete: orphan}}
`),
	})
	for page, wants := range map[string][]string{
		"kinds/fleet/v1.html": {`<svg class="relations"`, `<path class="keeps"`, `<path class="names"`, `<path class="reads"`, `<path class="takes"`,
			"<title>Truck maps[]: ConfigMap; a missing one is warned of, and it may be deleted</title>", `href="../../kinds/fleet/v1/Depot.html"`},
		"kinds/fleet/v1/Depot.html": {"Objects are named by <code>depot</code> of", "which keeps them from being deleted", "<code>yard</code> of", "which goes with them"},
		"kinds/fleet/v1/Truck.html": {"is the name of a Depot: a missing one is refused, and it cannot be deleted while it is named", "each is the name of a ConfigMap: a missing one is warned of"},
	} {
		for _, want := range wants {
			if !strings.Contains(texts[page], want) {
				t.Errorf("%s lacks %s", page, want)
			}
		}
	}
}

// pagesOf are the pages of the site of a project with these files, by their paths.
func pagesOf(t *testing.T, files map[string]string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pages, err := Pages(dir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, p := range pages {
		texts[p.Path] = string(p.Text)
	}
	return texts
}
