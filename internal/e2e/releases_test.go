package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// historic has changes of the documents of an API, which give it releases: trucks get a field and an action in 1.1
// and a tighter bound in 1.2, depots are stored in a further version from 1.2 on.
var historic = map[string][2]string{
	"openapi/releases.yaml": {"", "releases: [\"1.0\", \"1.1\", \"1.2\"]\ndefault: \"1.1\"\n"},
	"schemas/fleet/v1beta1/Truck.yaml": {"        maximum: 100\n", `        maximum: 80
        x-cluster-lifecycle: {before: {"1.2": {maximum: 100}}}
      horn:
        description: Sound of the horn.
        type: string
        x-cluster-lifecycle: {since: "1.1"}
`},
	"openapi/fleet/v1beta1.yaml": {"      restart:\n", `      restart:
        lifecycle: {since: "1.1"}
`},
	"openapi/depots/v1beta1.yaml": {"", `openapi: 3.0.3
info: {title: depots, version: v1beta1}
paths: {}
x-cluster-group: {name: depots.example.com, groupPriority: 900, versionPriority: 1}
x-cluster-resources:
  depots: {kind: Depot, scope: Namespaced, storedAs: depots/v1/Depot, lifecycle: {before: {"1.2": {storedAs: null}}}}
`},
	"openapi/depots/v1.yaml": {"", `openapi: 3.0.3
info: {title: depots, version: v1}
paths: {}
x-cluster-group: {name: depots.example.com, groupPriority: 900, versionPriority: 2, lifecycle: {since: "1.2"}}
x-cluster-resources:
  depots: {kind: Depot, scope: Namespaced}
`},
	"schemas/depots/v1/Depot.yaml": {"", `description: A place for trucks.
properties:
  metadata: {}
  places: {description: How many trucks it has room for., type: integer, format: int32}
`},
	"schemas/depots/v1beta1/Depot.yaml": {"", "x-cluster-same-as: /depots/v1/Depot\n"},
}

// TestOwnReleases serves an API of three releases, one binary on one store, as each of them.
func TestOwnReleases(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the whole server")
	}
	dir, data := newAPI(t), t.TempDir()
	for name, change := range historic {
		path := filepath.Join(dir, name)
		text, err := os.ReadFile(path)
		if (err == nil) != (change[0] != "") || err == nil && !strings.Contains(string(text), change[0]) {
			t.Fatalf("%s: %v: %s", name, err, text)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(text), change[0], change[1], 1)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	runIn(t, dir, capstanGen(t), "generate")
	runIn(t, dir, "go", "build", "-ldflags", noSymbols, "-o", "server", ".")
	as := func(release string, calls func(do func(method, path, body, want string))) {
		t.Helper()
		s := serveBinary(t, filepath.Join(dir, "server"), data, "--emulated-version=fleet.example.com="+release, "--runtime-config=api/all=true")
		client := s.client(t).RESTClient()
		calls(func(method, path, body, want string) {
			t.Helper()
			r := client.Verb(method).AbsPath(path).Param("fieldValidation", "Strict")
			if body != "" {
				r = r.SetHeader("Content-Type", "application/json").Body([]byte(body))
			}
			text, err := r.DoRaw(testContext(t))
			refused, fails := strings.CutPrefix(want, "refused: ")
			lacks, without := strings.CutPrefix(refused, "without ")
			if fails != (err != nil) || strings.Contains(string(text), lacks) == without {
				t.Errorf("as %s: %s %s: %v: %s, want %s", release, method, path, err, text, want)
			}
		})
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	}
	const trucks, depots = "/apis/fleet.example.com/v1beta1/namespaces/default/trucks", "/apis/depots.example.com/v1beta1/namespaces/default/depots"
	as("1.1", func(do func(method, path, body, want string)) {
		do("POST", trucks, `{"metadata":{"name":"a"},"spec":{"size":90,"horn":"loud"}}`, `"horn":"loud"`)
		do("GET", "/apis/fleet.example.com/v1beta1", "", "trucks/restart")
		do("GET", "/openapi/v3/apis/fleet.example.com/v1beta1", "", `"horn"`)
		do("POST", depots, `{"metadata":{"name":"a"},"places":3}`, `"places":3`)
	})
	as("1.0", func(do func(method, path, body, want string)) {
		do("GET", trucks+"/a", "", `without "horn"`)
		do("GET", "/apis/fleet.example.com/v1beta1", "", "without trucks/restart")
		do("GET", "/openapi/v3/apis/fleet.example.com/v1beta1", "", `without "horn"`)
		do("GET", "/openapi/v2", "", `without "horn"`)
		do("POST", trucks, `{"metadata":{"name":"b"},"spec":{"size":90,"horn":"loud"}}`, `refused: unknown field \"spec.horn\"`)
		do("GET", "/apis/depots.example.com/v1", "", "refused: not find")
	})
	as("1.2", func(do func(method, path, body, want string)) {
		do("GET", trucks+"/a", "", `"horn":"loud"`) // nothing has written it meanwhile
		do("POST", trucks, `{"metadata":{"name":"b"},"spec":{"size":90}}`, "refused: must be less than or equal to 80")
		do("GET", "/apis/depots.example.com/v1/namespaces/default/depots/a", "", `"places":3`)
		do("POST", "/apis/depots.example.com/v1/namespaces/default/depots", `{"metadata":{"name":"b"},"places":4}`, `"places":4`)
	})
	for release, want := range map[string]string{
		"fleet.example.com=1.1":  "the store has depots.example.com/depots/default/b in version depots.example.com/v1, which this release does not have",
		"fleet.example.com=9":    `the API has no release "9"; write 1.1, the usual one, or one of 1.0, 1.2`,
		"boats.example.com=1.0":  "this server has no API with the group boats.example.com",
		"kube=1.99":              "write one from 1.25 to 1.36",
		"fleet.example.com=1.2,": "a release is missing; name one, or drop the comma",
	} {
		s, err := startBinary(filepath.Join(dir, "server"), data, "--emulated-version="+release)
		if err == nil {
			t.Errorf("%s is served", release)
			_ = s.stop()
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", release, err, want)
		}
	}
}
