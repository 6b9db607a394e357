package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOwnAPI makes a module for an API of its own, outside of this repository, and works
// in it as its designers do. It sees a copy of this repository, as a module of another
// path would: internal packages are out of its reach.
func TestOwnAPI(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the whole server")
	}
	root, dir := t.TempDir(), filepath.Join(t.TempDir(), "fleet")
	copyProject(t, root, "gen", "internal/gen")
	in := func(where, name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = where
		cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	in(root, "go", "run", "./generator/cmd/capstan-gen", "new", "api", "fleet.example.com", "--kind", "Truck", "--dir", dir, "--capstan", root)
	in(dir, "go", "mod", "tidy")
	in(dir, "go", "test", "-vet=off", "./...") // vet would look at all libraries

	in(dir, "go", "tool", "capstan-gen", "new", "kind", "Depot", "--scope", "Cluster")
	in(dir, "go", "tool", "capstan-gen", "new", "version", "fleet/v1")
	in(dir, "go", "tool", "capstan-gen", "generate")
	in(dir, "go", "build", "-o", "server", ".")

	server := serveBinary(t, filepath.Join(dir, "server"), t.TempDir())
	client := server.client(t).RESTClient()
	get := func(path string) []byte {
		t.Helper()
		text, err := client.Get().AbsPath(path).DoRaw(testContext(t))
		if err != nil {
			t.Fatal(path, err, string(text))
		}
		return text
	}
	post := func(path, body string) ([]byte, error) {
		return client.Post().AbsPath(path).SetHeader("Content-Type", "application/json").Body([]byte(body)).DoRaw(testContext(t))
	}
	const trucks = "/apis/fleet.example.com/v1beta1/namespaces/default/trucks"
	if text, err := post(trucks, `{"metadata":{"name":"a"},"spec":{"size":3}}`); err != nil || !strings.Contains(string(text), `"color":"Blue"`) {
		t.Errorf("%v: %s", err, text)
	}
	if text, err := post("/apis/fleet.example.com/v1/depots", `{"metadata":{"name":"a"},"spec":{"size":101}}`); err == nil || !strings.Contains(string(text), "spec.size: Invalid value: 101") {
		t.Errorf("a size above the bound: %v: %s", err, text)
	}
	if text := string(get("/apis/fleet.example.com/v1/namespaces/default/trucks/a")); !strings.Contains(text, `"apiVersion":"fleet.example.com/v1"`) {
		t.Error(text)
	}
	type document struct {
		Info        struct{ Title, Version string }
		Definitions map[string]json.RawMessage
		Components  struct{ Schemas map[string]json.RawMessage }
	}
	var third, second document
	if err := json.Unmarshal(get("/openapi/v3/apis/fleet.example.com/v1"), &third); err != nil {
		t.Fatal(err)
	}
	if third.Info.Title != "fleet.example.com" || third.Components.Schemas["com.example.fleet.v1.Truck"] == nil {
		t.Errorf("the title is %q, there is com.example.fleet.v1.Truck: %t", third.Info.Title, third.Components.Schemas["com.example.fleet.v1.Truck"] != nil)
	}
	if err := json.Unmarshal(get("/openapi/v2"), &second); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"com.example.fleet.v1beta1.Truck", "com.example.fleet.v1.Depot", "io.k8s.api.core.v1.Pod"} {
		if second.Definitions[name] == nil {
			t.Errorf("/openapi/v2 lacks %s", name)
		}
	}
}
