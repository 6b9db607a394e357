package operate_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// A record that cannot be decrypted fails the reads that meet it, by its name. Who asks for
// it gets the others, and who has the right deletes it without looking into it.
func TestUnreadableObjects(t *testing.T) {
	dir, log := t.TempDir(), &harness.Lines{}
	start := func(letter string) *harness.Server {
		return harness.Start(t, func(c *server.Config) {
			c.InMemory, c.DataDir, c.EncryptionConfigFile = false, dir, harness.EncryptionConfig(t, harness.AESKeys(letter))
			c.Logger = slog.New(slog.NewTextHandler(log, nil))
		})
	}
	const all = "/api/v1/secrets"
	h := start("1")
	for _, name := range []string{"lost-1", "lost-2"} {
		h.Create(secretsPath, `{"metadata":{"name":"`+name+`","labels":{"l":"x"},"finalizers":["example.com/stay"]},"data":{"a":"MTIz"}}`)
	}
	if err := h.Running.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	h = start("2")
	for _, name := range []string{"a", "m", "z"} {
		h.Create(secretsPath, `{"metadata":{"name":"`+name+`","labels":{"l":"x"}}}`)
	}
	for _, path := range []string{secretsPath, all, secretsPath + "?labelSelector=l%3Dx", secretsPath + "?limit=2", secretsPath + "/lost-1"} {
		got := h.Get(path)
		if got.Code != 500 || !strings.Contains(string(got.Body), "secrets default/lost-1 cannot be read") || !strings.Contains(string(got.Body), "ignoreUnreadable=true") {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
	log.Mu.Lock()
	if text := log.Text.String(); !strings.Contains(text, `msg="an object cannot be read"`) || !strings.Contains(text, "key=core/secrets/default/lost-1") {
		t.Error("the log does not name the object")
	}
	log.Mu.Unlock()
	names := func(got harness.Reply) string {
		t.Helper()
		got.Expect(t, 200, "")
		var names []string
		list, _ := got.Field(t, "items").([]any)
		for i := range list {
			names = append(names, fmt.Sprint(got.Field(t, fmt.Sprintf("items.%d.metadata.name", i))))
		}
		return strings.Join(names, " ")
	}
	const readable = "ignoreUnreadable=true"
	for query, want := range map[string]string{"?": "a m z", "?labelSelector=l%3Dx&": "a m z", "?fieldSelector=metadata.name%3Dlost-2&": "", "?fieldSelector=type%3DOpaque&": "a m z"} {
		for _, path := range []string{secretsPath, all} {
			got := h.Get(path + query + readable)
			if list := names(got); list != want {
				t.Errorf("%s%s: %s", path, query, list)
			}
			if warning := got.Header.Get("Warning"); !strings.Contains(warning, "secrets that cannot be read are not in this list: default/lost-") {
				t.Errorf("%s%s: warning %q", path, query, warning)
			}
		}
	}
	var pages []string
	for token := ""; ; {
		got := h.Get(secretsPath + "?limit=1&" + readable + "&continue=" + token)
		pages = append(pages, names(got))
		if token, _ = got.Field(t, "metadata.continue").(string); token == "" {
			break
		}
	}
	if got := strings.Join(strings.Fields(strings.Join(pages, " ")), " "); got != "a m z" {
		t.Errorf("pages: %q", pages)
	}
	table := h.Send("GET", secretsPath+"?"+readable, "", nil, "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	if table.Code != 200 || strings.Count(string(table.Body), `"cells"`) != 3 {
		t.Errorf("as a table: %d %s", table.Code, table.Body)
	}

	const discard = "?ignoreStoreReadErrorWithClusterBreakingPotential=true"
	h.Create("/apis/rbac.authorization.k8s.io/v1/clusterroles", `{"metadata":{"name":"deleters"},"rules":[{"apiGroups":[""],"resources":["secrets"],"verbs":["delete","list","get"]}]}`)
	h.Create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", `{"metadata":{"name":"deleters"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"deleters"},"subjects":[{"kind":"User","name":"bob"}]}`)
	if got := h.Send("DELETE", secretsPath+"/lost-1"+discard, "", nil, "Authorization", "Bearer bob-token"); got.Code != 403 || !strings.Contains(string(got.Body), "cannot unsafe-delete-ignore-read-errors") {
		t.Errorf("without the right: %d %s", got.Code, got.Body)
	}
	before := h.Get(secretsPath+"?"+readable).Field(t, "metadata.resourceVersion")
	h.Run(t, []harness.Step{
		{"as others", "DELETE", secretsPath + "/lost-1", "", "", 500, "cannot be read"},
		{"with a precondition", "DELETE", secretsPath + "/lost-1" + discard, "", `{"preconditions":{"uid":"x"}}`, 400, "excludes"},
		{"dry run", "DELETE", secretsPath + "/lost-1" + discard + "&dryRun=All", "", "", 200, "Success"},
		{"still there", "GET", secretsPath + "/lost-1", "", "", 500, "cannot be read"},
		{"missing", "DELETE", secretsPath + "/none" + discard, "", "", 404, "NotFound"},
		{"discarded", "DELETE", secretsPath + "/lost-1" + discard, "", "", 200, "Success"},
		{"gone", "GET", secretsPath + "/lost-1", "", "", 404, "NotFound"},
		{"the other", "GET", secretsPath, "", "", 500, "lost-2"},
		{"a readable one", "DELETE", secretsPath + "/m" + discard, "", "", 200, "Success"},
		{"the other too", "DELETE", secretsPath + "/lost-2" + discard, "", "", 200, "Success"},
		{"the name is free", "POST", secretsPath, "", `{"metadata":{"name":"lost-1"}}`, 201, ""},
	})
	if got := names(h.Get(secretsPath)); got != "a lost-1 z" {
		t.Errorf("at the end: %s", got)
	}
	for _, state := range []string{"running", "started again"} { // from memory, and from the disk
		events := h.Send("GET", fmt.Sprintf("%s?watch=true&timeoutSeconds=1&resourceVersion=%v", secretsPath, before), "", nil)
		if got := strings.Count(string(events.Body), `"DELETED"`); events.Code != 200 || got != 3 || !strings.Contains(string(events.Body), `"name":"lost-2"`) {
			t.Errorf("%s: %d deletions, %s", state, got, events.Body)
		}
		if state == "running" {
			if err := h.Running.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			h = start("2")
		}
	}
}
