package move

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/internal/yaml"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/harness"
	"github.com/capstan-dev/capstan/server/internal/operate"
	"github.com/capstan-dev/capstan/server/internal/options"
)

// access are the flags of an import from a server as its administrator, into an empty directory.
func access(t *testing.T, h *harness.Server) (dir string, flags []string) {
	t.Helper()
	dir = t.TempDir()
	return dir, []string{"import", "--data-dir=" + dir, "--token-file=" + harness.File(t, []byte(harness.AdminToken)),
		"--certificate-authority=" + harness.File(t, h.Running.CA())}
}

// usual is the catalog of the built-in kinds of the usual release.
func usual(t *testing.T) *catalog.Catalog {
	t.Helper()
	all, err := rows(options.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// succeeds runs an import that has to succeed, and returns its report.
func succeeds(t *testing.T, flags ...string) string {
	t.Helper()
	code, out, stderr := command(flags...)
	if code != 0 {
		t.Fatalf("%q: %d: %s%s", flags, code, out, stderr)
	}
	return out
}

// startFilled starts a server with objects of all kinds that have examples, and of those kinds of
// states that a create cannot make.
func startFilled(t *testing.T) *harness.Server {
	t.Helper()
	h := harness.Start(t, nil)
	for _, name := range []string{"one", "two"} {
		h.Create("/api/v1/namespaces", `{"metadata":{"name":"`+name+`"}}`)
		h.Create("/api/v1/namespaces/"+name+"/configmaps", harness.ConfigMap("kept", `{"a":"b"}`))
	}
	h.Create(harness.ServicesPath, harness.Service("ports", `"type":"NodePort"`))
	owner := h.Create(harness.ConfigMaps, `{"metadata":{"name":"ends","finalizers":["example.com/waits"]}}`).Field(t, "metadata.uid")
	h.Create(harness.ConfigMaps, fmt.Sprintf(`{"metadata":{"name":"owned","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"ends","uid":%q}]}}`, owner))
	h.Delete(harness.ConfigMaps + "/ends")
	h.Create("/api/v1/namespaces/default/pods", harness.PodBody)
	h.Create(harness.DefinitionsPath, `{"metadata":{"name":"parts.shop.example.com"},"spec":{"group":"shop.example.com","scope":"Namespaced",
		"names":{"plural":"parts","kind":"Part"},"versions":[
		{"name":"v1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}},
		{"name":"v2","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`)
	h.Await(harness.DefinitionsPath, func(o harness.Contents) bool {
		return strings.Contains(harness.Conditions(o, "parts.shop.example.com"), "Established=True")
	})
	for _, version := range []string{"v1", "v2"} {
		h.Create("/apis/shop.example.com/"+version+"/namespaces/one/parts", `{"apiVersion":"shop.example.com/`+version+`","kind":"Part","metadata":{"name":"in-`+version+`"},"spec":{"z":1,"a":[1.50,"<>"]}}`)
	}
	h.Create(harness.DefinitionsPath, `{"metadata":{"name":"olds.shop.example.com"},"spec":{"group":"shop.example.com","scope":"Cluster",
		"names":{"plural":"olds","kind":"Old"},"versions":[
		{"name":"v1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}},
		{"name":"v2","served":false,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`)
	h.AwaitCode("/apis/shop.example.com/v1/olds", 200)
	h.Create("/apis/shop.example.com/v1/olds", `{"apiVersion":"shop.example.com/v1","kind":"Old","metadata":{"name":"old"},"spec":{"z":1}}`)
	fillExamples(t, h)
	return h
}

// fillExamples creates the examples of the documents, as far as the server takes them: policies and
// webhooks last, since they change or refuse others.
func fillExamples(t *testing.T, h *harness.Server) {
	t.Helper()
	examples, err := filepath.Glob(filepath.Join("..", "..", "..", "schemas", "examples", "valid", "*", "*", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	created, snapshot := 0, usual(t).Snapshot()
	for _, example := range slices.Backward(examples) {
		text, err := os.ReadFile(example)
		if err != nil {
			t.Fatal(err)
		}
		var object struct {
			APIVersion, Kind string
			Metadata         struct{ Namespace string }
		}
		if err := yaml.Unmarshal(text, &object); err != nil {
			t.Fatal(err)
		}
		row := snapshot.Kind(object.APIVersion, object.Kind)
		if row == nil || row.Versions.Stored == nil {
			continue
		}
		path := row.GV.Prefix() + "/" + row.Plural
		if row.Namespaced {
			namespace := cmp.Or(object.Metadata.Namespace, "default")
			h.Post("/api/v1/namespaces", `{"metadata":{"name":"`+namespace+`"}}`)
			path = row.GV.Prefix() + "/namespaces/" + namespace + "/" + row.Plural
		}
		if h.Send("POST", path, "application/yaml", text).Code == 201 {
			created++
		}
	}
	if created < 60 {
		t.Fatalf("only %d examples were created", created)
	}
}

// objectsOf are all objects that a server shows, in all versions, by path and name.
func objectsOf(t *testing.T, h *harness.Server) map[string]any {
	t.Helper()
	all := map[string]any{}
	paths := []string{"/apis/shop.example.com/v1/parts", "/apis/shop.example.com/v2/parts", "/apis/shop.example.com/v1/olds"}
	for _, version := range usual(t).Snapshot().Served() {
		for _, row := range version.Rows {
			if row.Versions.Stored != nil {
				paths = append(paths, row.GV.Prefix()+"/"+row.Plural)
			}
		}
	}
	for _, path := range paths {
		reply := h.Get(path)
		if reply.Code == http.StatusNotFound { // a version that is off
			continue
		}
		items, _ := reply.Field(t, "items").([]any)
		for _, item := range items {
			metadata := item.(map[string]any)["metadata"].(map[string]any)
			all[fmt.Sprintf("%s %v/%v", path, metadata["namespace"], metadata["name"])] = item
		}
	}
	return all
}

// TestImportFromServer: a server on the imported store shows each object as the source does, with its
// resourceVersion.
func TestImportFromServer(t *testing.T) {
	h := startFilled(t)
	want := objectsOf(t, h)
	dir, flags := access(t, h)
	out := succeeds(t, append(flags, "--from-server="+h.Running.URL(), "--strict")...)
	if !strings.Contains(out, "shop.example.com/parts") || !strings.Contains(out, "; 0 values were left out") ||
		strings.Count(out, "is left out") != 1 || !strings.Contains(out, "metrics.k8s.io/v1beta1 is left out") {
		t.Errorf("report:\n%s", out)
	}
	e, err := store.OpenReadOnly(store.Config{Dir: operate.StoreDir(dir)})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Check(t.Context(), func(problem string) { t.Error(problem) }); err != nil {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	got := objectsOf(t, harness.Start(t, func(c *server.Config) { c.InMemory, c.DataDir = false, dir }))
	for name, object := range want {
		if strings.HasSuffix(name, " default/kubernetes") || strings.HasSuffix(name, "/extension-apiserver-authentication") {
			continue // its address and its authorities are those of the server
		}
		if !reflect.DeepEqual(got[name], object) {
			t.Errorf("%s\nimported %v\nexpected %v", name, got[name], object)
		}
	}
	for name := range got {
		if want[name] == nil {
			t.Errorf("%s is not in the source", name)
		}
	}
	if len(want) < 200 {
		t.Errorf("only %d objects were compared", len(want))
	}
}

// front is a server in front of another one, which may answer itself.
func front(t *testing.T, h *harness.Server, answers func(w http.ResponseWriter, r *http.Request) bool) string {
	t.Helper()
	to, err := url.Parse(h.Running.URL())
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.Transport = h.HTTP.Transport
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !answers(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// smallPages makes the limit of a request that of a page of two objects.
func smallPages(r *http.Request) url.Values {
	query := r.URL.Query()
	if query.Has("limit") {
		query.Set("limit", "2")
		r.URL.RawQuery = query.Encode()
	}
	return query
}

// status answers with a Status.
func status(w http.ResponseWriter, code int, reason string) bool {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":"%[1]s","code":%d}`, reason, code)
	return true
}

// TestImportBeginsResourcesAnew: the source forgets the state of a list after its first pages, and has
// lost one of their objects when it is asked again.
func TestImportBeginsResourcesAnew(t *testing.T) {
	h := harness.Start(t, nil)
	for i := range 7 {
		h.Create(harness.ConfigMaps, harness.ConfigMap(fmt.Sprint("map-", i), `{}`))
	}
	pages := 0
	way := front(t, h, func(w http.ResponseWriter, r *http.Request) bool {
		if smallPages(r).Get("continue") == "" || r.URL.Path != "/api/v1/configmaps" {
			return false
		}
		if pages++; pages != 3 {
			return false
		}
		h.Delete(harness.ConfigMaps + "/map-1")
		return status(w, http.StatusGone, "Expired")
	})
	dir, flags := access(t, h)
	out := succeeds(t, append(flags, "--from-server="+way, "--strict")...)
	var lost, kept int
	for key := range bodies(t, dir) {
		if strings.HasSuffix(key, "/map-1") {
			lost++
		} else if strings.Contains(key, "/map-") {
			kept++
		}
	}
	if lost != 0 || kept != 6 || pages < 5 {
		t.Errorf("%d objects are of the forgotten state, %d of the next one, after %d pages:\n%s", lost, kept, pages, out)
	}
	always := front(t, h, func(w http.ResponseWriter, r *http.Request) bool {
		return smallPages(r).Has("continue") && status(w, http.StatusGone, "Expired")
	})
	_, flags = access(t, h)
	if code, _, stderr := command(append(flags, "--from-server="+always)...); code == 0 || !strings.Contains(stderr, "forgets its state before all pages are read, 5 times") {
		t.Errorf("a source that forgets all states: %d %s", code, stderr)
	}
}

// TestImportOfServerInUse: an object that is made after the first list is in the report, and refused
// by a strict import.
func TestImportOfServerInUse(t *testing.T) {
	h := harness.Start(t, nil)
	made := atomic.Int64{}
	way := front(t, h, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/api/v1/configmaps" && strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList") {
			h.Create(harness.ConfigMaps, harness.ConfigMap(fmt.Sprint("late-", made.Add(1)), `{}`))
		}
		return false
	})
	_, flags := access(t, h)
	out := succeeds(t, append(flags, "--from-server="+way)...)
	if want := "core/configmaps changed during the import: the source has "; !strings.Contains(out, want) {
		t.Errorf("%s\nexpected %q", out, want)
	}
	dir, flags := access(t, h)
	code, _, stderr := command(append(flags, "--from-server="+way, "--strict")...)
	if code == 0 || !strings.Contains(stderr, "core/configmaps changed during the import") || !strings.Contains(stderr, "import again") {
		t.Errorf("%d %s", code, stderr)
	}
	if _, err := os.Stat(operate.StoreDir(dir)); err == nil {
		t.Error("a refused import made a store")
	}
}

// resources answers discovery with a group version of its own, after those of the server.
func resources(w http.ResponseWriter, h *harness.Server, path, member, more string) bool {
	var all map[string]any
	_ = json.Unmarshal(h.Get(path).Body, &all)
	var others []any
	_ = json.Unmarshal([]byte(more), &others)
	all[member] = append(all[member].([]any), others...)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(all)
	return true
}

// TestImportNamesUnknownResources: resources that only the source has, those of extension servers, and
// a resource whose list fails.
func TestImportNamesUnknownResources(t *testing.T) {
	h := harness.Start(t, nil)
	h.Define(harness.WidgetSchema, "")
	h.Create("/apis/apiregistration.k8s.io/v1/apiservices", `{"metadata":{"name":"v1.far.example.com"},"spec":{"group":"far.example.com","version":"v1",
		"groupPriorityMinimum":1000,"versionPriority":10,"insecureSkipTLSVerify":true,"service":{"namespace":"default","name":"far"}}}`)
	const group = "/apis/new.example.com/v9"
	way := front(t, h, func(w http.ResponseWriter, r *http.Request) bool {
		switch r.URL.Path {
		case "/apis":
			return resources(w, h, "/apis", "groups", `[{"name":"new.example.com","versions":[{"groupVersion":"new.example.com/v9","version":"v9"}]}]`)
		case group:
			fmt.Fprint(w, `{"resources":[{"name":"things","verbs":["get","list"]},{"name":"things/status","verbs":["list"]},{"name":"makes","verbs":["create"]}]}`)
		case group + "/things":
			fmt.Fprint(w, `{"kind":"PartialObjectMetadataList","metadata":{"resourceVersion":"9000"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}`)
		case "/apis/shop.example.com/v1/widgets":
			return status(w, http.StatusInternalServerError, "InternalError")
		default:
			return false
		}
		return true
	})
	_, flags := access(t, h)
	code, out, stderr := command(append(flags, "--from-server="+way)...)
	if code == 0 || !strings.Contains(out, "/apis/shop.example.com/v1/widgets: InternalError") || !strings.Contains(stderr, "1 values cannot be read; nothing was imported") {
		t.Errorf("a list that fails: %d %s%s", code, out, stderr)
	}
	out = succeeds(t, append(flags, "--from-server="+way, "--leave-out-unreadable")...)
	for _, want := range []string{"far.example.com/v1 is left out: its objects are those of an extension server behind the service default/far",
		"new.example.com/things is left out with 2 objects: this server does not have the resource", "has the state of revision 9000; ", "1 values were left out"} {
		if !strings.Contains(out, want) {
			t.Errorf("%s\nexpected %q", out, want)
		}
	}
	if strings.Contains(out, "makes") || strings.Contains(out, "status is") {
		t.Errorf("resources without lists are named:\n%s", out)
	}
}

// TestImportOfOtherReleases: a kind whose storage version the source does not serve is read in another
// one, and fields that this server does not know are left out.
func TestImportOfOtherReleases(t *testing.T) {
	h := harness.Start(t, nil)
	h.Create("/apis/autoscaling/v2"+harness.Autoscalers, harness.AutoscalerV2)
	way := front(t, h, func(w http.ResponseWriter, r *http.Request) bool {
		switch r.URL.Path {
		case "/apis/autoscaling/v2":
			fmt.Fprint(w, `{"resources":[]}`)
		case "/api/v1/nodes":
			fmt.Fprint(w, `{"metadata":{"resourceVersion":"700"},"items":[{"metadata":{"name":"n","resourceVersion":"600"},"spec":{"providerID":"p","future":{"a":1}}}]}`)
		default:
			return false
		}
		return true
	})
	dir, flags := access(t, h)
	succeeds(t, append(flags, "--from-server="+way, "--strict")...)
	all := bodies(t, dir)
	if node, _ := all["core/nodes/n"]["spec"].(map[string]any); node["providerID"] != "p" || node["future"] != nil {
		t.Errorf("the node is %v", all["core/nodes/n"])
	}
	var want map[string]any
	if err := json.Unmarshal(h.Get("/apis/autoscaling/v2"+harness.Autoscalers+"/web").Body, &want); err != nil {
		t.Fatal(err)
	}
	delete(want["metadata"].(map[string]any), "resourceVersion")
	if got := all["autoscaling/horizontalpodautoscalers/default/web"]; !reflect.DeepEqual(got, want) {
		t.Errorf("imported %v\nexpected %v", got, want)
	}
}
