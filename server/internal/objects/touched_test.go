package objects_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// overAndOver starts servers with changing documents on one store.
func overAndOver(t *testing.T) func(controllers []string, changes ...func(*documents)) *harness.Server {
	disk := vfs.NewMem()
	var last *harness.Server
	return func(controllers []string, changes ...func(*documents)) *harness.Server {
		t.Helper()
		if last != nil {
			if err := last.Running.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		last = harness.Start(t, func(c *server.Config) {
			c.InMemory, c.DataDir, c.FS, c.Controllers = false, "data", disk, controllers
			serve(c, changes...)
		})
		return last
	}
}

func moody(d *documents) {
	d.add("core/v1.ConfigMap", schema.Field{Name: "mood", Default: `"calm"`}, textType)
}

// A write of an object that lacks a default stores it, as in 1.25, also when nothing else
// changes. A filled-in field has no owner until it is set.
func TestWriteFillsDefaults(t *testing.T) {
	start := overAndOver(t)
	h := start([]string{"-*"})
	names := []string{"put", "merge", "strategic", "json", "apply", "dry", "set"}
	for _, name := range names {
		h.Post(harness.ConfigMaps+"?fieldManager=maker", harness.ConfigMap(name, `{"a":"1"}`)).Expect(t, http.StatusCreated, "")
	}
	h = start([]string{"-*"}, moody)
	const config = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"apply"},"mood":"calm"}`
	for _, test := range []struct{ name, method, query, media, body string }{
		{"put", "PUT", "?fieldManager=other", "application/json", ""},
		{"merge", "PATCH", "?fieldManager=other", "application/merge-patch+json", "{}"},
		{"strategic", "PATCH", "?fieldManager=other", "application/strategic-merge-patch+json", "{}"},
		{"json", "PATCH", "?fieldManager=other", "application/json-patch+json", `[{"op":"test","path":"/mood","value":"calm"}]`},
		{"apply", "PATCH", "?fieldManager=other", "application/apply-patch+yaml", config},
		{"set", "PATCH", "?fieldManager=other", "application/merge-patch+json", `{"mood":"wild"}`},
		{"dry", "PUT", "?dryRun=All", "application/json", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := harness.ConfigMaps + "/" + test.name
			before := h.Get(path)
			body := test.body
			if body == "" {
				body = string(before.Body)
			}
			first := h.Send(test.method, path+test.query, test.media, []byte(body))
			first.Expect(t, http.StatusOK, "")
			revision, was := first.Field(t, "metadata.resourceVersion"), before.Field(t, "metadata.resourceVersion")
			if written := revision != was; written != (test.name != "dry") {
				t.Errorf("at %v, then at %v", was, revision)
			}
			stored, err := h.Running.StoredBody(t.Context(), "core/configmaps/default/"+test.name)
			if err != nil || strings.Contains(string(stored), `"mood":`) != (test.name != "dry") {
				t.Errorf("%v %s", err, stored)
			}
			if got := h.Get(path); got.Field(t, "metadata.resourceVersion") != revision || got.Field(t, "mood") != first.Field(t, "mood") {
				t.Errorf("stored %s, shown %s", stored, got.Body)
			}
			owned := strings.Contains(string(first.Body), `"f:mood"`)
			if want := test.name == "apply" || test.name == "set"; owned != want {
				t.Errorf("the default is owned: %v, want %v: %s", owned, want, first.Body)
			}
			if test.method == "PUT" {
				body = string(first.Body)
			}
			if again := h.Send(test.method, path+test.query, test.media, []byte(body)); again.Field(t, "metadata.resourceVersion") != revision {
				t.Errorf("the second time: %d %s", again.Code, again.Body)
			}
		})
	}
}

// strict has rules that the objects of TestUntouchedIsNotRefused break.
func strict(d *documents) {
	d.rules("core/v1.ContainerPort", "containerPort", func(r *schema.Rules) { r.HasMax, r.Max = true, 100 })
	d.rules("core/v1.Container", "terminationMessagePolicy", func(r *schema.Rules) { r.Enum = []string{"FallbackToLogsOnError"} })
	d.rules("core/v1.Container", "image", func(r *schema.Rules) { r.Pattern = "^registry/" })
	d.rules("core/v1.Container", "args", func(r *schema.Rules) { r.MaxItems = 1 })
	d.rules("apps/v1.DeploymentSpec", "replicas", func(r *schema.Rules) { r.HasMax, r.Max = true, 5 })
	d.rules("apps/v1.DeploymentStatus", "observedGeneration", func(r *schema.Rules) { r.HasMax, r.Max = true, 5 })
	d.add("apps/v1.DeploymentSpec", schema.Field{Name: "owner", Required: true, Presence: schema.Always}, textType)
	row := d.row("apps/v1", "deployments")
	hooks := *row.Hooks
	before := hooks.Validate
	hooks.Validate = func(obj, old document.Value) []api.FieldError {
		causes := before(obj, old)
		if v := obj.At("metadata", "annotations", "colour"); v.Equals("green") && obj.At("spec", "paused").Bool() {
			causes = append(causes, api.FieldError{Reason: schema.CauseForbidden, Field: "spec.paused", Message: "Forbidden: green ones do not stop"})
		}
		return causes
	}
	row.Hooks = &hooks
}

// Earlier values of an object are not refused by new rules as long as a write does not
// touch them; touched ones are.
func TestUntouchedIsNotRefused(t *testing.T) {
	start := overAndOver(t)
	h := start([]string{"-*"})
	const body = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","annotations":{"colour":"green"}},"spec":{"replicas":9,"paused":true,"selector":{"matchLabels":{"a":"b"}},
		"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[
		{"name":"c","image":"i","args":["x","y"],"ports":[{"containerPort":8080}]},{"name":"d","image":"registry/i","args":["x"],"terminationMessagePolicy":"FallbackToLogsOnError"}]}}}}`
	h.Post(deployments+"?fieldManager=maker", body).Expect(t, http.StatusCreated, "")
	h.Send("PATCH", deployments+"/web/status", "application/merge-patch+json", []byte(`{"status":{"observedGeneration":7}}`)).Expect(t, http.StatusOK, "")
	h = start([]string{"-*"}, strict)
	refused := h.Post(deployments, strings.Replace(body, `"web"`, `"new"`, 1))
	refused.Expect(t, http.StatusUnprocessableEntity, "Invalid")
	for _, field := range []string{"spec.replicas", "spec.owner", "spec.paused", "containers[0].image", "containers[0].args", "containers[0].ports[0].containerPort", "containers[0].terminationMessagePolicy"} {
		if !strings.Contains(string(refused.Body), field) {
			t.Errorf("a create is not told of %s: %s", field, refused.Body)
		}
	}

	const merge, strategic, jsonPatch, apply = "application/merge-patch+json", "application/strategic-merge-patch+json", "application/json-patch+json", "application/apply-patch+yaml"
	container := func(fields string) string {
		return `{"spec":{"template":{"spec":{"containers":[{"name":"c",` + fields + `}]}}}}`
	}
	put := func(from, to string) func(string) string {
		return func(current string) string {
			if !strings.Contains(current, from) {
				t.Errorf("%s is not in %s", from, current)
			}
			return strings.Replace(current, from, to, 1)
		}
	}
	fixed := func(body string) func(string) string { return func(string) string { return body } }
	for _, test := range []struct {
		name, method, path, media string
		body                      func(current string) string
		refused                   string // a field, "" for none
	}{
		{"put beside", "PUT", "", "", put(`"metadata":{`, `"metadata":{"labels":{"x":"put"},`), ""},
		{"put in the same object", "PUT", "", "", put(`"image":"i"`, `"image":"i","workingDir":"/put"`), ""},
		{"put of a new element before it", "PUT", "", "", put(`"containers":[`, `"containers":[{"name":"new","image":"registry/i","terminationMessagePolicy":"FallbackToLogsOnError"},`), ""},
		{"put of a new element that is wrong", "PUT", "", "", put(`"containers":[`, `"containers":[{"name":"more","image":"i","terminationMessagePolicy":"FallbackToLogsOnError"},`), "spec.template.spec.containers[0].image"},
		{"put without the required field", "PUT", "", "", put(`,"owner":""`, ``), ""},
		{"a touched value", "PATCH", "", strategic, fixed(container(`"image":"j"`)), "spec.template.spec.containers[1].image"},
		{"a touched value becomes right", "PATCH", "", strategic, fixed(container(`"image":"registry/j"`)), ""},
		{"a touched value becomes wrong again", "PATCH", "", strategic, fixed(container(`"image":"i"`)), "spec.template.spec.containers[1].image"},
		{"a touched list of the same length", "PATCH", "", strategic, fixed(container(`"args":["x","z"]`)), ""},
		{"a longer list", "PATCH", "", strategic, fixed(container(`"args":["x","z","y"]`)), "spec.template.spec.containers[1].args"},
		{"a touched number", "PATCH", "", merge, fixed(`{"spec":{"replicas":8}}`), "spec.replicas"},
		{"merge patch", "PATCH", "", merge, fixed(`{"spec":{"minReadySeconds":1}}`), ""},
		{"strategic merge patch", "PATCH", "", strategic, fixed(container(`"tty":true`)), ""},
		{"JSON patch", "PATCH", "", jsonPatch, fixed(`[{"op":"add","path":"/spec/template/spec/containers/1/stdin","value":true}]`), ""},
		{"apply", "PATCH", "?fieldManager=me", apply, fixed(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"minReadySeconds":1}}`), ""},
		{"apply of what is there", "PATCH", "?fieldManager=me", apply, fixed(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":9}}`), ""},
		{"apply of something else", "PATCH", "?fieldManager=me&force=true", apply, fixed(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":8}}`), "spec.replicas"},
		{"status", "PATCH", "/status", merge, fixed(`{"status":{"replicas":3}}`), ""},
		{"a touched status", "PATCH", "/status", merge, fixed(`{"status":{"observedGeneration":8}}`), "status.observedGeneration"},
		{"scale", "PATCH", "/scale", merge, fixed(`{"spec":{"replicas":8}}`), "spec.replicas"},
		{"scale that is right", "PATCH", "/scale", merge, fixed(`{"spec":{"replicas":4}}`), ""},
		{"a rule across fields", "PATCH", "", merge, fixed(`{"metadata":{"annotations":{"other":"x"}}}`), ""},
		{"a rule across fields that the write ends", "PATCH", "", merge, fixed(`{"spec":{"paused":null}}`), ""},
		{"a rule across fields that the write breaks", "PATCH", "", merge, fixed(`{"spec":{"paused":true}}`), "spec.paused"},
		{"the required field", "PATCH", "", merge, fixed(`{"spec":{"owner":"me"}}`), ""},
		{"the required field is taken away", "PATCH", "", merge, fixed(`{"spec":{"owner":null}}`), "spec.owner"},
	} {
		t.Run(test.name, func(t *testing.T) {
			media := test.media
			if media == "" {
				media = "application/json"
			}
			got := h.Send(test.method, deployments+"/web"+test.path, media, []byte(test.body(string(h.Get(deployments+"/web").Body))))
			if test.refused == "" {
				got.Expect(t, http.StatusOK, "")
				return
			}
			got.Expect(t, http.StatusUnprocessableEntity, "Invalid")
			causes, _ := got.Field(t, "details.causes").([]any)
			if len(causes) != 1 || !strings.Contains(fmt.Sprint(causes[0]), "field:"+test.refused+" ") {
				t.Errorf("causes %v, want one at %s", causes, test.refused)
			}
		})
	}
}

// The server's own controllers can write such objects.
func TestControllersAreNotRefused(t *testing.T) {
	const claims = "/api/v1/namespaces/default/persistentvolumeclaims"
	start := overAndOver(t)
	h := start([]string{"*"})
	h.Post(claims, `{"metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"slow","resources":{"requests":{"storage":"1Gi"}}}}`).Expect(t, http.StatusCreated, "")
	h = start([]string{"*"}, func(d *documents) {
		d.rules("core/v1.PersistentVolumeClaimSpec", "storageClassName", func(r *schema.Rules) { r.Enum = []string{"fast"} })
	})
	h.Send("PATCH", claims+"/data", "application/merge-patch+json", []byte(`{"spec":{"volumeName":"v"}}`)).Expect(t, http.StatusOK, "")
	h.Remove(claims+"/data", "").Expect(t, http.StatusOK, "")
	h.AwaitGone(claims, "data") // its finalizer was removed
}
