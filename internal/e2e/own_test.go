package e2e

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// runIn runs a command in a folder, and returns its output.
func runIn(t *testing.T, where, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = where
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// newAPI makes the module of an API, and returns its folder.
func newAPI(t *testing.T, args ...string) string {
	t.Helper()
	dir, root := filepath.Join(t.TempDir(), "fleet"), must[string](t)(filepath.Abs(filepath.Join("..", "..")))
	runIn(t, "", capstanGen(t), append([]string{"new", "api", "fleet.example.com", "--kind", "Truck", "--dir", dir, "--capstan", root}, args...)...)
	return dir
}

// TestOwnAPI makes a module for an API of its own, outside of this repository, and works
// in it as its designers do: internal packages are out of its reach.
func TestOwnAPI(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the whole server")
	}
	dir := newAPI(t)
	runIn(t, dir, "go", "test", "-vet=off", "./...") // vet would look at all libraries

	runIn(t, dir, "go", "tool", "capstan-gen", "new", "kind", "Depot", "--scope", "Cluster")
	runIn(t, dir, capstanGen(t), "new", "version", "fleet/v1")
	addConvoys(t, dir)
	runIn(t, dir, capstanGen(t), "generate")
	runIn(t, dir, "go", "test", "-vet=off", "./gen/api") // the conversion of convoys is hand-written
	runIn(t, dir, "go", "build", "-ldflags", noSymbols, "-o", "server", ".")

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
	if text, err := post(trucks, `{"metadata":{"name":"b"},"spec":{}}`); err == nil || !strings.Contains(string(text), "spec.size: Required value") {
		t.Errorf("a missing size: %v: %s", err, text)
	}
	if text, err := post("/apis/fleet.example.com/v1/depots", `{"metadata":{"name":"a"},"spec":{"size":101}}`); err == nil || !strings.Contains(string(text), "spec.size: Invalid value: 101") {
		t.Errorf("a size above the bound: %v: %s", err, text)
	}
	if text := string(get("/apis/fleet.example.com/v1/namespaces/default/trucks/a")); !strings.Contains(text, `"apiVersion":"fleet.example.com/v1"`) {
		t.Error(text)
	}
	restartsTrucks(t, server, trucks+"/a")
	takesOrders(t, client)
	t.Run("dev", func(t *testing.T) { followsDocuments(t, dir) })
	const convoys = "/namespaces/default/convoys"
	if text, err := post("/apis/fleet.example.com/v1beta1"+convoys, `{"metadata":{"name":"a"},"spec":{"speed":40,"mode":"Night","template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}}`); err != nil ||
		!strings.Contains(string(text), `"lights":"bright"`) || !strings.Contains(string(text), `"imagePullPolicy":"Always"`) {
		t.Errorf("%v: %s", err, text)
	}
	if text := string(get("/apis/fleet.example.com/v1" + convoys + "/a")); !strings.Contains(text, `"velocity":40`) {
		t.Error(text)
	}
	if text, err := post("/apis/fleet.example.com/v1"+convoys, `{"metadata":{"name":"b"},"spec":{"velocity":60,"mode":"Night"}}`); err == nil || !strings.Contains(string(text), "too fast at night") {
		t.Errorf("%v: %s", err, text)
	}
	if text := string(get("/apis/fleet.example.com/v1beta1" + convoys + "/a/scale")); !strings.Contains(text, `"replicas":1`) {
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

// restartsTrucks calls the action of the example kind by kubectl, and looks for it in the published documents.
func restartsTrucks(t *testing.T, server *instance, truck string) {
	client, ctx := server.client(t).RESTClient(), testContext(t)
	restart := func() (string, error) {
		cmd := exec.CommandContext(ctx, binaries.kubectl, "--kubeconfig", server.kubeconfig, "create", "--raw", truck+"/restart", "-f", "-")
		cmd.Stdin = strings.NewReader(`{"reason":"a test"}`)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := restart(); err == nil || !strings.Contains(out, "there is nothing to start anew") {
		t.Errorf("before it is ready: %v: %s", err, out)
	}
	ready := `{"status":{"ready":true}}`
	if err := client.Patch(types.MergePatchType).AbsPath(truck + "/status").Body([]byte(ready)).Do(ctx).Error(); err != nil {
		t.Fatal(err)
	}
	if out, err := restart(); err != nil || !strings.Contains(out, `"restartReason":"a test"`) || strings.Contains(out, `"ready":true`) {
		t.Errorf("%v: %s", err, out)
	}
	text, err := client.Get().AbsPath("/openapi/v3/apis/fleet.example.com/v1beta1").DoRaw(ctx)
	var document struct {
		Paths map[string]struct{ Post struct{ Description string } }
	}
	if err := errors.Join(err, json.Unmarshal(text, &document)); err != nil {
		t.Fatal(err)
	}
	path := strings.NewReplacer("default", "{namespace}", "/a", "/{name}").Replace(strings.TrimPrefix(truck, "/apis"))
	if does := document.Paths["/apis"+path+"/restart"].Post.Description; !strings.Contains(does, "anew") {
		t.Errorf("the published operation says %q", does)
	}
}

// orders is the trial of a newcomer: a kind in two versions, with a renamed field and another
// default, that needs no Go.
var orders = map[string]string{"v1beta1": `
  orders:
    kind: Order
    scope: Namespaced
    generation: true
    subresources: {status: {}, scale: {specReplicas: .spec.amount, statusReplicas: .status.baked, selector: .status.selector}}
    columns:
      - {name: Amount, type: integer, path: .spec.amount, description: Number of loaves.}
      - {name: Delivery, path: .spec.delivery, description: How the goods get to the customer.}
    selectable: [spec.delivery]
`, "v1": `
  orders:
    kind: Order
    scope: Namespaced
    storedAs: fleet/v1beta1/Order
    subresources: {status: {}, scale: {specReplicas: .spec.loaves, statusReplicas: .status.baked, selector: .status.selector}}
`}

// takesOrders asks a server for all that the documents of orders say.
func takesOrders(t *testing.T, client rest.Interface) {
	const v1, v1beta1 = "/apis/fleet.example.com/v1/namespaces/default/orders", "/apis/fleet.example.com/v1beta1/namespaces/default/orders"
	for _, c := range []struct{ verb, path, body, want string }{
		{"POST", v1, `{"metadata":{"name":"a"},"spec":{"customer":"Anna","loaves":3,"items":[{"name":"Cake"}]}}`, `"items":[{"name":"Cake","count":1}]`},
		{"GET", v1beta1 + "/a", "", `"amount":3`},
		{"POST", v1, `{"metadata":{"name":"b"},"spec":{"customer":"Bea"}}`, `"loaves":2`},
		{"POST", v1beta1, `{"metadata":{"name":"c"},"spec":{"customer":"Cleo","delivery":"Courier","address":"here"}}`, `"amount":1`},
		{"PATCH", v1 + "/a", `{"spec":{"customer":"Bea"}}`, "spec.customer: Invalid value: \\\"Bea\\\": field is immutable"},
		{"PATCH", v1 + "/a", `{"spec":{"delivery":"Courier"}}`, "spec.address: Required value: couriers need an address"},
		{"PATCH", v1 + "/a", `{"spec":{"loaves":101}}`, "spec.loaves: Invalid value: 101"},
		{"PATCH", v1 + "/a", `{"spec":{"delivery":"Pigeon"}}`, "spec.delivery: Unsupported value"},
		{"POST", v1, `{"metadata":{"name":"d"},"spec":{"customer":"dora"}}`, "must match the pattern"},
		// The bounds of v1 hold in v1, though it is stored as v1beta1, which allows more.
		{"PATCH", v1 + "/a", `{"spec":{"loaves":60}}`, "spec.loaves: Invalid value: 60"},
		{"PATCH", v1 + "/a", `{"spec":{"address":"a street with a very long name"}}`, "spec.address: Too long"},
		{"POST", v1beta1, `{"metadata":{"name":"e"},"spec":{"customer":"Eva","amount":60}}`, `"amount":60`},
		{"PATCH", v1 + "/e", `{"spec":{"address":"here"}}`, `"loaves":60`},
		{"PATCH", v1 + "/e", `{"spec":{"loaves":61}}`, "spec.loaves: Invalid value: 61"},
		// As with custom resources, no element of a set is there twice, nor one of a list with keys.
		{"POST", v1, `{"metadata":{"name":"f"},"spec":{"customer":"Fay","guests":["a","b","a"]}}`, `spec.guests[2]: Duplicate value: \"a\"`},
		{"POST", v1beta1, `{"metadata":{"name":"f"},"spec":{"customer":"Fay","items":[{"name":"Cake"},{"name":"Cake","count":2}]}}`, `spec.items[1].name: Duplicate value: \"Cake\"`},
		{"PATCH", v1 + "/a", `{"spec":{"guests":["a","a"]}}`, `spec.guests[1]: Duplicate value: \"a\"`},
		{"PATCH", v1 + "/a/status", `{"status":{"baked":2,"selector":"a=b"}}`, `"baked":2`},
		{"PATCH", v1 + "/a/scale", `{"spec":{"replicas":7}}`, `"spec":{"replicas":7},"status":{"replicas":2,"selector":"a=b"}`},
		{"GET", v1beta1 + "/a", "", `"amount":7`},
	} {
		text, err := client.Verb(c.verb).AbsPath(c.path).SetHeader("Content-Type", map[bool]string{true: "application/merge-patch+json", false: "application/json"}[c.verb == "PATCH"]).
			Body([]byte(c.body)).DoRaw(testContext(t))
		if !strings.Contains(string(text), c.want) {
			t.Errorf("%s %s %s: %s %v, want %s", c.verb, c.path, c.body, text, err, c.want)
		}
	}
	text, err := client.Get().AbsPath(v1).Param("fieldSelector", "spec.delivery=Courier").SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(testContext(t))
	if !strings.Contains(string(text), `"cells":["c",1,"Courier",`) || strings.Contains(string(text), `"cells":["a"`) {
		t.Errorf("%s %v", text, err)
	}
}

// addConvoys adds a kind with hooks of all sorts, built-in types and a renamed field to
// both versions of a module.
func addConvoys(t *testing.T, dir string) {
	t.Helper()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "own"))); err != nil {
		t.Fatal(err)
	}
	for version, more := range map[string]string{"v1beta1": `
    generation: true
    hooks: [create, update, status, validate, warn]
    subresources:
      status: {}
      scale: {specReplicas: .spec.replicas, statusReplicas: .status.replicas, selector: .spec.selector}
    columns:
      - {name: Fast, shows: 'self.spec.speed > 50 ? "yes" : "no"', description: Whether it is fast.}
      - {name: Long, cell: long, description: Whether it is long.}
    selectable: [spec.mode]
`, "v1": `
    storedAs: fleet/v1beta1/Convoy
    hooks: [validate, convert]
    subresources:
      status: {}
`} {
		more += orders[version]
		path := filepath.Join(dir, "openapi", "fleet", version+".yaml")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		const head = "x-cluster-resources:\n"
		now := strings.Replace(string(text), head, head+"  convoys:\n    kind: Convoy\n    scope: Namespaced"+more, 1)
		if err := os.WriteFile(path, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// devLimit bounds the time of a change on a machine that does much else.
const devLimit = 4 * time.Minute

// followsDocuments changes documents of a module while capstan-gen dev serves it.
func followsDocuments(t *testing.T, dir string) {
	var log lockedBuffer
	data := t.TempDir()
	cmd := exec.Command(capstanGen(t), "dev", "--data-dir", data, "--secure-port", "0")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, log.String())
		}
	})
	// ask repeats a request until its answer has a text: servers come and go meanwhile.
	ask := func(method, path, body, want string) {
		t.Helper()
		var last string
		for deadline := time.Now().Add(devLimit); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(data, "admin.kubeconfig"))
			if err != nil {
				last = err.Error()
				continue
			}
			client, err := rest.UnversionedRESTClientFor(rawConfig(config))
			if err != nil {
				t.Fatal(err)
			}
			text, err := client.Verb(method).AbsPath(path).SetHeader("Content-Type", "application/json").Body([]byte(body)).DoRaw(testContext(t))
			if last = string(text); strings.Contains(last, want) {
				return
			} else if err != nil {
				last += err.Error()
			}
		}
		t.Fatalf("%s %s answers %.300s, want %s\n%s", method, path, last, want, log.String())
	}
	edit := func(from, to string) {
		t.Helper()
		path := filepath.Join(dir, "schemas", "fleet", "v1beta1", "Truck.yaml")
		text, err := os.ReadFile(path)
		if err != nil || strings.Count(string(text), from) != 1 {
			t.Fatalf("%v: %q is not once in\n%s", err, from, text)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(text), from, to, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const trucks = "/apis/fleet.example.com/v1beta1/namespaces/default/trucks"
	ask(http.MethodPost, trucks, `{"metadata":{"name":"kept"},"spec":{"size":3}}`, `"color":"Blue"`)
	edit("default: Blue", "default: Bleu")
	for deadline := time.Now().Add(devLimit); !strings.Contains(log.String(), "Truck.yaml:21: the default of color does not fit"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the mistake is not shown\n%s", log.String())
		}
	}
	ask(http.MethodGet, trucks+"/kept", "", `"color":"Blue"`)
	edit("default: Bleu", "default: Blue")
	edit("Size in centimetres.", "Size in inches.")
	ask(http.MethodGet, "/openapi/v3/apis/fleet.example.com/v1beta1", "", "Size in inches.")
	ask(http.MethodGet, trucks+"/kept", "", `"size":3`)
}

// rawConfig is a configuration for requests by path.
func rawConfig(config *rest.Config) *rest.Config {
	config.ContentConfig = rest.ContentConfig{NegotiatedSerializer: scheme.Codecs.WithoutConversion()}
	return config
}
