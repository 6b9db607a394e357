package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
)

// fleet is a group of one's own with two versions: fields are renamed, and each version has
// one that the other lacks. It needs no Go.
var fleet = map[string]string{
	"openapi/fleet/v2.yaml": `openapi: 3.0.3
info: {title: fleet, version: v2}
paths: {}
x-cluster-group: {name: fleet.<groupSuffix>, groupPriority: 1000, versionPriority: 20}
x-cluster-resources:
  ships:
    kind: Ship
    scope: Namespaced
`,
	"openapi/fleet/v1.yaml": `openapi: 3.0.3
info: {title: fleet, version: v1}
paths: {}
x-cluster-group: {name: fleet.<groupSuffix>, groupPriority: 1000, versionPriority: 10}
x-cluster-resources:
  ships:
    kind: Ship
    scope: Namespaced
    storedAs: fleet/v2/Ship
    carries: [.spec.note, .spec.berth]
`,
	"schemas/fleet/v2/Ship.yaml": `description: A vessel of the fleet.
properties:
  metadata: {}
  spec: {description: How the vessel is run.}
$defs:
  ShipSpec:
    description: How a vessel is run.
    required: [harbour]
    properties:
      harbour:
        description: Where it is at home.
        pattern: ^[a-z]+$
        x-cluster-renamed-from: port
      crew:
        description: Who is on board.
        x-cluster-binary: 2
        items: {$ref: "#/$defs/Sailor"}
        x-cluster-list-map-keys: [name]
      berth:
        description: Where it lies.
        format: int32
        minimum: 1
  Sailor:
    description: Somebody on board.
    required: [name]
    properties:
      name:
        description: By which the others call.
        type: string
      grade:
        description: Place in the hierarchy.
        enum: [Mate, Master]
        x-cluster-renamed-from: rank
`,
	"schemas/fleet/v1/Ship.yaml": `x-cluster-same-as: /fleet/v2/Ship
$defs:
  ShipSpec:
    required: [port]
    properties:
      harbour: null
      berth: null
      port: {description: Where it is at home., pattern: "^[a-z]+$", x-cluster-binary: 1}
      note: {description: For the owner., type: string, deprecated: true, x-cluster-binary: 9}
  Sailor:
    properties:
      grade: null
      rank: {description: Place in the hierarchy., enum: [Mate, Master], x-cluster-binary: 2}
`,
}

func addFleet(t *testing.T, root string) {
	t.Helper()
	for name, text := range fleet {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// fleetConverts tries both versions of ships: what one lacks survives it, and mistakes name
// the fields of the version that was sent.
func fleetConverts(t *testing.T, client *kubernetes.Clientset) {
	t.Helper()
	ask := func(verb, version, name, body string) (int, string) {
		r := client.RESTClient().Verb(verb).AbsPath("/apis/fleet.k8s.io/"+version+"/namespaces/default/ships"+name).SetHeader("Content-Type", "application/json")
		if body != "" {
			r = r.Body([]byte(body))
		}
		var code int
		text, _ := r.Do(testContext(t)).StatusCode(&code).Raw()
		return code, string(text)
	}
	want := func(verb, version, name, body string, code int, has ...string) string {
		t.Helper()
		got, text := ask(verb, version, name, body)
		for _, part := range has {
			if got != code || !strings.Contains(text, part) {
				t.Fatalf("%s %s %s: %d %s\nwant %d %s", verb, version, body, got, text, code, part)
			}
		}
		return text
	}
	const ship = `{"metadata":{"name":"anna"},"spec":{"port":"kiel","crew":[{"name":"jo","rank":"Mate"}],"note":"paint"}}`
	want("POST", "v1", "", strings.Replace(ship, "kiel", "7", 1), http.StatusUnprocessableEntity, `"field":"spec.port"`, "must match the pattern")
	want("POST", "v1", "", strings.Replace(ship, "Mate", "Cook", 1), http.StatusUnprocessableEntity, `"field":"spec.crew[0].rank"`)
	want("POST", "v1", "", ship, http.StatusCreated, `"port":"kiel"`, `"note":"paint"`, `"rank":"Mate"`)
	second := want("GET", "v2", "/anna", "", http.StatusOK, `"harbour":"kiel"`, `"grade":"Mate"`, `{\"v1:spec.note\":\"paint\"}`)
	want("PUT", "v2", "/anna", strings.Replace(second, `"harbour":"kiel"`, `"harbour":"kiel","berth":4`, 1), http.StatusOK, `"berth":4`)
	first := want("GET", "v1", "/anna", "", http.StatusOK, `"note":"paint"`, `{\"v2:spec.berth\":4}`)
	want("PUT", "v1", "/anna", strings.Replace(first, "kiel", "hull", 1), http.StatusOK, `"port":"hull"`)
	want("GET", "v2", "/anna", "", http.StatusOK, `"harbour":"hull"`, `"berth":4`)
	if list := want("GET", "v1", "", "", http.StatusOK, `"note":"paint"`, `"port":"hull"`); strings.Contains(list, "v1:spec.note") {
		t.Errorf("the list of v1 shows what v2 lacks: %s", list)
	}
}
