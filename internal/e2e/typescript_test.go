package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

const boatDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"boats.harbour.example.com"},
	"spec":{"group":"harbour.example.com","scope":"Namespaced","names":{"plural":"boats","singular":"boat","kind":"Boat"},"versions":[{"name":"v1","served":true,"storage":true,
	"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","required":["length"],
	"properties":{"length":{"type":"integer","minimum":1},"flag":{"type":"string","default":"none"}}}}}}}]}}`

// TestTypeScriptClient validates all published OpenAPI documents, and those that are exported
// in the versions 3.0 and 3.1, by public validators, makes TypeScript of the published ones by a
// public generator, compiles that strictly, and runs a program with it.
func TestTypeScriptClient(t *testing.T) {
	t.Parallel()
	if nodeFolder == "" {
		t.Skip("make test-clients runs this")
	}
	tokens := filepath.Join(t.TempDir(), "tokens.csv")
	if err := os.WriteFile(tokens, []byte(`secret,admin,admin,"system:masters"`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, "", "--controllers=-*", "--token-auth-file", tokens)
	config := s.config(t)
	dir := typeScriptProject(t, "typescript", "smoke", config)

	if code := ask(t, config, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", boatDefinition, nil); code != http.StatusCreated {
		t.Fatalf("the definition: %d", code)
	}
	var index struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	for index.Paths["apis/harbour.example.com/v1"].ServerRelativeURL == "" && testContext(t).Err() == nil {
		ask(t, config, "GET", "/openapi/v3", "", &index)
	}
	documents := map[string]string{"v2.json": "/openapi/v2"}
	for path, at := range index.Paths {
		documents[strings.ReplaceAll(path, "/", "__")+".json"] = at.ServerRelativeURL
	}
	files := []string{"lint", "--extends=spec", "--format=stylish", "--max-problems=20"}
	for name, url := range documents {
		var text json.RawMessage
		ask(t, config, "GET", url, "", &text)
		writeFile(t, dir, "documents/"+name, text)
		files = append(files, "documents/"+name)
	}
	files = append(files, exported(t, dir)...)
	slices.Sort(files[4:])
	t.Logf("%d documents", len(files)-4)
	runTypeScript(t, dir, "smoke", config, append([]string{nodeTool("redocly")}, files...))
}

// typeScriptProject is a folder below the one of Node, where imports are resolved, with a program of testdata and the
// generator of the types that the program uses. The OpenAPI documents go into its folder documents.
func typeScriptProject(t *testing.T, name, program string, config *rest.Config) (dir string) {
	t.Helper()
	dir = filepath.Join(nodeFolder, name)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"documents", "exported", "src"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{"generate.mjs": "generate.mjs", program + ".ts": "src/" + program + ".ts", "tsconfig.json": "tsconfig.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", "typescript", from))
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, dir, to, text)
	}
	writeFile(t, dir, "package.json", []byte(`{"type":"module"}`))
	writeFile(t, dir, "ca.crt", config.CAData)
	return dir
}

// nodeTool is a program of the packages of Node.
func nodeTool(name string) string { return filepath.Join(nodeFolder, "node_modules", ".bin", name) }

// runTypeScript generates the types of a project, compiles it, and runs its program. Some commands may go before.
func runTypeScript(t *testing.T, dir, program string, config *rest.Config, before ...[]string) {
	t.Helper()
	for _, command := range append(before, []string{"node", "generate.mjs"}, []string{nodeTool("tsc")}, []string{"node", "out/" + program + ".js"}) {
		cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "SERVER="+config.Host, "TOKEN=secret", "NODE_EXTRA_CA_CERTS="+filepath.Join(dir, "ca.crt"),
			"REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%.8000s", filepath.Base(command[0]), err, out)
		}
	}
}

// exported are the OpenAPI documents of the project that the designers' program writes.
func exported(t *testing.T, dir string) (files []string) {
	t.Helper()
	for _, version := range []string{"3.0", "3.1"} {
		to := t.TempDir()
		runIn(t, filepath.Join("..", ".."), capstanGen(t), "export", "openapi-"+version, to)
		found, err := filepath.Glob(filepath.Join(to, "*.json"))
		if err != nil || len(found) == 0 {
			t.Fatalf("no documents of version %s: %v", version, err)
		}
		for _, file := range found {
			text, err := os.ReadFile(file)
			if err != nil || !strings.Contains(string(text), `"openapi": "`+version+".") {
				t.Fatalf("%s is not of version %s: %v", file, version, err)
			}
			name := "exported/" + version + "_" + filepath.Base(file)
			writeFile(t, dir, name, text)
			files = append(files, name)
		}
	}
	return files
}

func writeFile(t *testing.T, dir, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// ask sends a request as the administrator, and reads the answer into out, unless it is nil.
func ask(t *testing.T, config *rest.Config, method, path, body string, out any) int {
	t.Helper()
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: tlsConfig.Clone()}}
	defer client.CloseIdleConnections()
	r, err := http.NewRequestWithContext(testContext(t), method, config.Host+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err == nil && out != nil {
		err = json.Unmarshal(data, out)
	}
	if err != nil {
		t.Fatalf("%s %s: %v: %.300s", method, path, err, data)
	}
	return answer.StatusCode
}
