package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
)

// otherDocuments are edits of documents: a default, a new bound, and an enum value
// more.
var otherDocuments = []struct{ file, from, to string }{
	{"schemas/core/v1/ConfigMap.yaml", "  immutable:\n", `  mood:
    description: How the map feels; calm unless somebody says otherwise.
    type: string
    default: calm
    x-cluster-binary: 5
  serial:
    description: Number given by the server; nobody else sets it.
    type: string
    readOnly: true
    x-cluster-binary: 6
  passphrase:
    description: Seen by hooks; neither stored nor shown.
    type: string
    writeOnly: true
    x-cluster-binary: 7
  temper:
    description: What mood was called before.
    type: string
    deprecated: true
    x-cluster-binary: 8
  tones:
    description: Sounds around the map.
    nullable: true
    additionalProperties: {type: integer, format: int32, multipleOf: 5}
    propertyNames: {maxLength: 4}
    default: {low: 5}
    anyOf: [{required: [low]}, {minProperties: 2}]
    x-cluster-binary: 9
  echoes:
    description: What comes back, the loudest first.
    default: [{of: low, after: 1}]
    x-cluster-binary: 10
    items:
      properties:
        of:
          description: The sound that comes back.
          type: string
        after:
          description: Seconds after the sound.
          format: int32
          default: 2
  immutable:
`},
	{"schemas/apps/v1/Deployment.yaml", "        minimum: 0\n        default: 1\n", "        minimum: 0\n        maximum: 5\n        default: 1\n"},
	{"schemas/core/v1/Service.yaml", "enum: [ClientIP, None]", "enum: [ClientIP, Cookie, None]"},
}

// TestOtherDocuments fills the store of the server as it is, and has it served and
// migrated by one that was generated from other documents.
func TestOtherDocuments(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the whole server")
	}
	root, dir := t.TempDir(), t.TempDir()
	copyProject(t, root)
	for _, edit := range otherDocuments {
		path := filepath.Join(root, filepath.FromSlash(edit.file))
		text, err := os.ReadFile(path)
		if err != nil || strings.Count(string(text), edit.from) != 1 {
			t.Fatalf("%s: %v: %q is not in it once", edit.file, err, edit.from)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(text), edit.from, edit.to, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	addFleet(t, root)
	buildCopy(t, root)

	const (
		configMaps  = "/api/v1/namespaces/default/configmaps"
		deployments = "/apis/apps/v1/namespaces/default/deployments"
		services    = "/api/v1/namespaces/default/services"
	)
	objects := map[string]string{
		configMaps: `{"metadata":{"name":"NAME"},"data":{"a":"b"}}`,
		deployments: `{"metadata":{"name":"NAME"},"spec":{"replicas":REPLICAS,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
			"spec":{"containers":[{"name":"c","image":"i"}]}}}}`,
		services: `{"metadata":{"name":"NAME"},"spec":{"sessionAffinity":"AFFINITY","ports":[{"port":80}]}}`,
	}
	object := func(collection, name, replicas, affinity string) string {
		return strings.NewReplacer("NAME", name, "REPLICAS", replicas, "AFFINITY", affinity).Replace(objects[collection])
	}
	var client *kubernetes.Clientset
	ask := func(verb, path, media, body string) (int, string) {
		t.Helper()
		r := client.RESTClient().Verb(verb).AbsPath(path).SetHeader("Content-Type", media)
		if body != "" {
			r = r.Body([]byte(body))
		}
		var code int
		text, _ := r.Do(testContext(t)).StatusCode(&code).Raw()
		return code, string(text)
	}
	const asJSON, merge = "application/json", "application/merge-patch+json"

	before := serve(t, dir)
	client = before.client(t)
	for collection := range objects {
		if code, text := ask("POST", collection, asJSON, object(collection, "older", "9", "ClientIP")); code != http.StatusCreated {
			t.Fatalf("%s: %d %s", collection, code, text)
		}
	}
	if err := before.stop(); err != nil {
		t.Fatal(err)
	}

	client = serveBinary(t, filepath.Join(root, "capstan"), dir).client(t)
	right := func() {
		t.Helper()
		for _, path := range []string{configMaps + "/older", configMaps} {
			if code, text := ask("GET", path, "", ""); code != http.StatusOK || !strings.Contains(text, `"mood":"calm"`) {
				t.Errorf("%s: %d %s", path, code, text)
			}
		}
		for _, test := range []struct {
			verb, path, media, body string
			code                    int
		}{
			{"POST", deployments + "?dryRun=All", asJSON, object(deployments, "new", "9", ""), 422},
			{"POST", services + "?dryRun=All", asJSON, object(services, "new", "", "Cookie"), 201},
			{"POST", services + "?dryRun=All", asJSON, object(services, "new", "", "Biscuit"), 422},
			{"PATCH", deployments + "/older?dryRun=All", merge, `{"metadata":{"labels":{"x":"y"}}}`, 200},
			{"PATCH", deployments + "/older?dryRun=All", merge, `{"spec":{"replicas":8}}`, 422},
			{"PATCH", services + "/older?dryRun=All", merge, `{"spec":{"sessionAffinity":"Cookie"}}`, 200},
		} {
			path, query, _ := strings.Cut(test.path, "?")
			r := client.RESTClient().Verb(test.verb).AbsPath(path).SetHeader("Content-Type", test.media).Body([]byte(test.body))
			if query != "" {
				r = r.Param("dryRun", "All")
			}
			var code int
			if text, _ := r.Do(testContext(t)).StatusCode(&code).Raw(); code != test.code {
				t.Errorf("%s %s %s: %d, want %d: %s", test.verb, test.path, test.body, code, test.code, text)
			}
		}
	}
	right()
	if out := runIn(t, root, filepath.Join(root, "capstan"), "store", "migrate", "--data-dir", dir); !strings.Contains(out, "rewritten") {
		t.Errorf("the migration says %s", out)
	}
	right()
	if code, text := ask("POST", configMaps, asJSON, object(configMaps, "today", "", "")); code != http.StatusCreated {
		t.Fatalf("%d %s", code, text)
	}
	keywordsHold(t, client, configMaps)
	fleetConverts(t, client)
	goInCopy(t, root, "test", "-vet=off", "-timeout", "10m", "./server/internal/kinds/conversion") // round trips of all kinds
	_, older := ask("GET", configMaps+"/older", "", "")
	_, today := ask("GET", configMaps+"/today", "", "")
	if _, data, _ := strings.Cut(older, `"mood"`); data == "" || !strings.HasSuffix(today, `"mood"`+data) {
		t.Errorf("migrated %s\nmade today %s", older, today)
	}
}

// keywordsHold tries the keywords of the other documents against a server.
func keywordsHold(t *testing.T, client *kubernetes.Clientset, configMaps string) {
	t.Helper()
	for _, test := range []struct {
		verb, path, body string
		code             int
		has, lacks       string
	}{
		{"POST", "", `{"metadata":{"name":"keywords"},"serial":"mine","passphrase":"secret","temper":"hot"}`, 201, `"echoes":[{"of":"low","after":1}]`, "serial"},
		{"PUT", "/keywords", `{"metadata":{"name":"keywords"},"serial":"mine","passphrase":"secret","tones":{"low":10}}`, 200, `"tones":{"low":10}`, "passphrase"},
		{"PUT", "/keywords", `{"metadata":{"name":"keywords"},"tones":{"high":10}}`, 422, "at least one schema (anyOf)", ""},
		{"PUT", "/keywords", `{"metadata":{"name":"keywords"},"tones":{"low":7}}`, 422, "tones[low]: Invalid value: 7: must be a multiple of 5", ""},
		{"PUT", "/keywords", `{"metadata":{"name":"keywords"},"tones":{"low":5,"shrill":5}}`, 422, "Too long: must have at most 4 characters", ""},
		{"PUT", "/keywords", `{"metadata":{"name":"keywords"},"echoes":[{"of":"high"}]}`, 200, `"echoes":[{"of":"high","after":2}]`, ""},
	} {
		var code int
		text, _ := client.RESTClient().Verb(test.verb).AbsPath(configMaps+test.path).SetHeader("Content-Type", "application/json").Body([]byte(test.body)).Do(testContext(t)).StatusCode(&code).Raw()
		if code != test.code || !strings.Contains(string(text), test.has) || test.lacks != "" && strings.Contains(string(text), `"`+test.lacks+`":`) {
			t.Errorf("%s %s: %d %s", test.verb, test.body, code, text)
		}
	}
	result := client.RESTClient().Put().AbsPath(configMaps+"/keywords").SetHeader("Content-Type", "application/json").
		Body([]byte(`{"metadata":{"name":"keywords"},"temper":"hot"}`)).Do(testContext(t))
	if w := result.Warnings(); len(w) != 1 || w[0].Text != "temper: deprecated" {
		t.Errorf("warnings %v, error %v", w, result.Error())
	}
}
