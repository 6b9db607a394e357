package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// addActions adds actions of all forms to the module of trucks: of a namespace, and with answers that stream.
func addActions(t *testing.T, dir string) {
	t.Helper()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "actions"))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "openapi", "fleet", "v1beta1.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	now := strings.NewReplacer("x-cluster-resources:\n", `x-cluster-resources:
  assignments:
    kind: Assignment
    scope: Namespaced
    action:
      effect: writes
      answer: Truck
      description: Gives a job to a truck that is ready.
      errors: [{reason: Conflict, description: No truck is ready.}]
`, "      restart:\n", `      follow:
        schema: TruckFollow
        action: {effect: streams, answer: TruckPosition, verb: follow, description: Shows where a truck is., deprecated: {since: "1.2", removedIn: "1.9", replacement: tail of trucks}}
      tail:
        schema: TruckPosition
        verbs: [get]
        action: {effect: streams, description: Shows where a truck is until nobody looks.}
      restart:
`).Replace(string(text))
	if err := os.WriteFile(path, []byte(now), 0o600); err != nil {
		t.Fatal(err)
	}
}

const allStages = `{"apiVersion":"audit.k8s.io/v1","kind":"Policy","rules":[{"level":"RequestResponse","resources":[{"group":"fleet.example.com"}]},{"level":"None"}]}`

// TestActionClients calls the actions of a module by the clients that people use, and looks for what the server says and
// records of them.
func TestActionClients(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the whole server")
	}
	dir := newAPI(t)
	addActions(t, dir)
	if out := runIn(t, dir, capstanGen(t), "new", "version", "fleet/v1"); !strings.Contains(out, "The action assignments stays in v1beta1") {
		t.Errorf("a further version: %s", out)
	}
	runIn(t, dir, capstanGen(t), "generate")
	runIn(t, dir, "go", "test", "-vet=off", ".") // the client of Go
	runIn(t, dir, "go", "build", "-ldflags", noSymbols, "-o", "server", ".")
	writeFile(t, dir, "tokens.csv", []byte("secret,admin,admin,\"system:masters\"\nbobs,bob,bob\n"))
	writeFile(t, dir, "policy.json", []byte(allStages))
	log := filepath.Join(dir, "audit.log")
	s := serveBinary(t, filepath.Join(dir, "server"), t.TempDir(), "--token-auth-file", filepath.Join(dir, "tokens.csv"),
		"--audit-policy-file", filepath.Join(dir, "policy.json"), "--audit-log-path", log)
	writeFile(t, dir, "ca.crt", s.config(t).CAData)
	run := func(in, name string, args ...string) (string, bool) {
		cmd := exec.CommandContext(testContext(t), name, args...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(in)
		out, err := cmd.CombinedOutput()
		return string(out), err == nil
	}
	kubectl := func(in string, args ...string) (string, bool) {
		return run(in, binaries.kubectl, append([]string{"--kubeconfig", s.kubeconfig}, args...)...)
	}
	curl := func(token, path, body string) (string, bool) {
		return run("", "curl", "--silent", "--show-error", "--no-buffer", "--max-time", "60", "--cacert", "ca.crt", "--header", "Authorization: Bearer "+token,
			"--header", "Content-Type: application/json", "--data", body, s.config(t).Host+path)
	}
	const fleet = "/apis/fleet.example.com/v1beta1/namespaces/default"
	const truck = `{"apiVersion":"fleet.example.com/v1beta1","kind":"Truck","metadata":{"name":"a"},"spec":{"size":3}}`
	expect := func(wanted bool, texts ...string) func(out string, ok bool) {
		return func(out string, ok bool) {
			t.Helper()
			missing := func(text string) bool { return !strings.Contains(out, text) }
			if ok != wanted || slices.ContainsFunc(texts, missing) {
				t.Errorf("succeeded: %t, with %q: want %t with %q", ok, out, wanted, texts)
			}
		}
	}
	expect(true)(kubectl(truck, "create", "-f", "-"))
	expect(false, "no truck is ready")(kubectl(`{"job":"sand"}`, "create", "--raw", fleet+"/assignments", "-f", "-"))
	expect(true)(kubectl("", "patch", "truck", "a", "--subresource", "status", "--type", "merge", "-p", `{"status":{"ready":true}}`))
	expect(true, `"code": 403`)(curl("bobs", fleet+"/assignments", `{"job":"sand"}`))
	expect(true, "yes")(kubectl("", "auth", "can-i", "create", "assignments.fleet.example.com"))
	expect(true)(kubectl("", "create", "role", "assign", "--verb", "create", "--resource", "assignments.fleet.example.com"))
	expect(true)(kubectl("", "create", "rolebinding", "assign", "--role", "assign", "--user", "bob"))
	expect(true, `"job": "sand"`, `"kind": "Truck"`)(curl("bobs", fleet+"/assignments", `{"job":"sand"}`))
	expect(true, `"code": 422`, "job")(curl("secret", fleet+"/assignments", `{"job":""}`))
	const following = fleet + "/trucks/a/follow"
	bob := func(in string, args ...string) (string, bool) {
		return kubectl(in, append(args, "--as", "bob")...)
	}
	expect(true)(kubectl("", "create", "role", "create", "--verb", "create", "--resource", "trucks.fleet.example.com/follow"))
	expect(true)(kubectl("", "create", "rolebinding", "create", "--role", "create", "--user", "bob"))
	expect(false, `cannot follow resource "trucks/follow"`)(bob(`{}`, "create", "--raw", following, "-f", "-"))
	expect(false, "no")(bob("", "auth", "can-i", "follow", "trucks.fleet.example.com", "--subresource", "follow"))
	expect(true)(kubectl("", "create", "role", "follow", "--verb", "follow", "--resource", "trucks.fleet.example.com/follow"))
	expect(true)(kubectl("", "create", "rolebinding", "follow", "--role", "follow", "--user", "bob"))
	expect(true, `"at":5`, "follow of trucks is deprecated in v1.2+, unavailable in v1.9+; use tail of trucks")(bob(`{}`, "create", "--raw", following, "-f", "-"))
	expect(true, "yes")(bob("", "auth", "can-i", "follow", "trucks.fleet.example.com", "--subresource", "follow"))
	follow, ok := curl("secret", fleet+"/trucks/a/follow", `{}`)
	if lines := strings.Split(strings.TrimSpace(follow), "\n"); !ok || len(lines) != 3 || !strings.Contains(lines[2], `"at":5`) {
		t.Errorf("%t: the stream is %q", ok, follow)
	}
	tail, ok := kubectl("", "get", "--raw", fleet+"/trucks/a/tail?timeoutSeconds=1")
	if n := strings.Count(tail, "\n"); !ok || n < 3 {
		t.Errorf("%t: %d lines: %.300s", ok, n, tail)
	}
	expect(true, "assignments", "Assignment   create ")(kubectl("", "api-resources", "--api-group", "fleet.example.com", "-o", "wide"))
	expect(true, "asks for a truck for a job")(kubectl("", "explain", "assignment"))
	figures, ok := kubectl("", "get", "--raw", "/metrics")
	figures = strings.Join(slices.DeleteFunc(strings.Split(figures, "\n"), func(line string) bool { return !strings.HasPrefix(line, "apiserver_request_total{") }), "\n")
	expect(true, `apiserver_request_total{code="201",component="apiserver",dry_run="",group="fleet.example.com",resource="assignments",scope="resource",subresource="",verb="POST",version="v1beta1"}`,
		`resource="trucks",scope="resource",subresource="follow",verb="POST"`)(figures, ok)
	publishesActions(t, dir, s)
	recordsActions(t, log)
	speaksTypeScript(t, s)
}

// publishesActions looks for actions in the OpenAPI documents and the pages of a module.
func publishesActions(t *testing.T, dir string, s *instance) {
	t.Helper()
	text, err := s.client(t).RESTClient().Get().AbsPath("/openapi/v3/apis/fleet.example.com/v1beta1").DoRaw(testContext(t))
	type operation struct {
		Description string
		Deprecated  bool
		Verb        string `json:"x-kubernetes-verb"`
		Responses   map[string]struct {
			Description string
			Content     map[string]any
		}
	}
	var document struct {
		Paths map[string]struct{ Get, Post operation }
	}
	if err == nil {
		err = json.Unmarshal(text, &document)
	}
	if err != nil {
		t.Fatal(err)
	}
	const fleet = "/apis/fleet.example.com/v1beta1/namespaces/{namespace}"
	if does := document.Paths[fleet+"/assignments"].Post; does.Responses["201"].Content == nil || !strings.Contains(does.Description, "Gives a job") {
		t.Errorf("the action of a namespace is %+v", does)
	}
	if refused := document.Paths[fleet+"/assignments"].Post.Responses["409"]; refused.Description != "No truck is ready." || refused.Content == nil {
		t.Errorf("the refusal of the action of a namespace is %+v", refused)
	}
	for name, does := range map[string]operation{"follow": document.Paths[fleet+"/trucks/{name}/follow"].Post, "tail": document.Paths[fleet+"/trucks/{name}/tail"].Get} {
		if content := does.Responses["200"].Content; len(content) != 1 || content["application/json;stream=watch"] == nil {
			t.Errorf("%s answers %v", name, content)
		}
	}
	if does := document.Paths[fleet+"/trucks/{name}/follow"].Post; !does.Deprecated || does.Verb != "follow" {
		t.Errorf("the deprecated action with a verb of its own is %+v", does)
	}
	site := t.TempDir()
	runIn(t, dir, capstanGen(t), "docs", site)
	for kind, wants := range map[string][]string{"Assignment": {"POST …/assignments", "Gives a job to a truck", "<code>409 Conflict</code>: No truck is ready."}, "Truck": {"POST …/follow", "follow trucks/follow", "deprecated since 1.2", "GET …/tail", "a sequence of"}} {
		pages, err := filepath.Glob(filepath.Join(site, "kinds", "*", "*", kind+".html"))
		if err != nil || len(pages) == 0 {
			t.Fatalf("no page of %s: %v", kind, err)
		}
		var all []string // of both versions
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(text))
		}
		for _, want := range wants {
			if !strings.Contains(strings.Join(all, ""), want) {
				t.Errorf("the pages of %s lack %q", kind, want)
			}
		}
	}
}

// recordsActions looks for actions in the log of audit events.
func recordsActions(t *testing.T, log string) {
	t.Helper()
	file, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	stages := map[string][]string{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e struct {
			Stage, Verb   string
			User          struct{ Username string }
			ObjectRef     struct{ Resource, Subresource, Namespace string }
			RequestObject struct{ Kind string }
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		key := strings.Join([]string{e.User.Username, e.Verb, e.ObjectRef.Resource, e.ObjectRef.Subresource, e.ObjectRef.Namespace, e.RequestObject.Kind}, " ")
		stages[key] = append(stages[key], e.Stage)
	}
	for key, want := range map[string]string{
		"bob create assignments  default Assignment":     "ResponseComplete",
		"admin follow trucks follow default TruckFollow": "ResponseStarted ResponseComplete",
		"admin follow trucks follow default ":            "RequestReceived",
		"kubernetes-admin get trucks tail default ":      "RequestReceived ResponseStarted ResponseComplete",
		"kubernetes-admin create assignments  default ":  "RequestReceived",
	} {
		if got := strings.Join(stages[key], " "); got != want {
			t.Errorf("%s: the stages %q, want %q", key, got, want)
		}
	}
	if t.Failed() {
		t.Log(stages)
	}
}

// speaksTypeScript makes TypeScript of the document of a module, and runs a program with it.
func speaksTypeScript(t *testing.T, s *instance) {
	if nodeFolder == "" {
		return // make test-clients runs it
	}
	dir := typeScriptProject(t, "actions", "actions", s.config(t))
	text, err := s.client(t).RESTClient().Get().AbsPath("/openapi/v3/apis/fleet.example.com/v1beta1").DoRaw(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir, "documents/apis__fleet.example.com__v1beta1.json", text)
	runTypeScript(t, dir, "actions", s.config(t))
	types, err := os.ReadFile(filepath.Join(dir, "src", "apis__fleet.example.com__v1beta1.ts"))
	if marked := regexp.MustCompile(`@deprecated[\s*]+@description Shows where a truck is\.\s`); err != nil || len(marked.FindAll(types, -1)) == 0 {
		t.Errorf("the types do not mark the deprecated action: %v", err)
	}
}
