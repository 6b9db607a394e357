package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capstan-dev/capstan/internal/audit"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// recordedRequest is a request with the events that kube-apiserver 1.25 recorded.
type recordedRequest struct {
	Method, Path, Media, Body string
	Headers                   http.Header
	Events                    []map[string]any
}

// plainEvent replaces the parts of an event that differ each time.
func plainEvent(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for key, value := range x {
			text, isText := value.(string)
			switch {
			case key == "managedFields":
				x[key] = "*"
			case isText && text != "" && slices.Contains([]string{"uid", "resourceVersion", "creationTimestamp", "time", "token", "expirationTimestamp", "lastTransitionTime", "deletionTimestamp"}, key):
				x[key] = "*"
			case isText && key == "name" && strings.HasPrefix(text, "gen-"):
				x[key] = "gen-*"
			default:
				plainEvent(value)
			}
		}
	case []any:
		for _, e := range x {
			plainEvent(e)
		}
	}
	return v
}

// Events equal those that kube-apiserver 1.25 writes for the same requests and policy.
func TestAuditEventsAreThoseOfUpstream(t *testing.T) {
	policy, err := os.ReadFile("testdata/audit/policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	h, lines := harness.StartAudited(t, string(policy), func(c *server.Config) {
		c.AuthorizationModes, c.DisableAdmissionPlugins, c.DisablePriorityAndFairness = []string{"RBAC"}, nil, false
	})
	text, err := os.ReadFile("testdata/audit/requests.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var requests []recordedRequest
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var r recordedRequest
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		requests = append(requests, r)
		q, err := http.NewRequest(r.Method, h.Running.URL()+r.Path, strings.NewReader(r.Body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header = http.Header{"Authorization": {"Bearer " + harness.AdminToken}, "Accept": {"application/json"}, "User-Agent": {"audit-test/1"}, "Audit-Id": {fmt.Sprint("step-", i)}}
		if r.Media != "" {
			q.Header.Set("Content-Type", r.Media)
		}
		for name, values := range r.Headers {
			if q.Header[name] = values; name == "Authorization" && len(values) == 1 && values[0] == "Bearer admintoken" {
				q.Header.Set(name, "Bearer "+harness.AdminToken)
			}
		}
		answer, err := h.HTTP.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		if id := answer.Header.Get("Audit-Id"); id != fmt.Sprint("step-", i) {
			t.Errorf("%s %s: the answer has the id %q", r.Method, r.Path, id)
		}
		_ = answer.Body.Close()
		if strings.HasSuffix(r.Path, "/customresourcedefinitions") {
			h.AwaitCode("/apis/example.com/v1", http.StatusOK)
		}
	}
	got := map[string][]map[string]any{}
	for _, line := range lines() {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		id, _ := e["auditID"].(string)
		for _, key := range []string{"kind", "apiVersion", "auditID", "userAgent", "requestReceivedTimestamp", "stageTimestamp"} {
			delete(e, key)
		}
		if user, ok := e["user"].(map[string]any); ok && user["uid"] != nil {
			e["user"] = "admin"
		}
		got[id] = append(got[id], plainEvent(e).(map[string]any))
	}
	for i, r := range requests {
		for _, e := range r.Events {
			plainEvent(e)
		}
		if diff := cmp.Diff(r.Events, got[fmt.Sprint("step-", i)]); r.Events != nil && diff != "" {
			t.Errorf("%s %s: %s", r.Method, r.Path, diff)
		}
	}
}

// A line has the members of an event in the order of 1.25, and its escapes.
func TestAuditLine(t *testing.T) {
	h, lines := harness.StartAudited(t, "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Request}]\n", nil)
	h.Send("PATCH", harness.ConfigMaps+"/a?x=<", "application/merge-patch+json", []byte(`{"data": {"b": "&"}}`), "Audit-ID", "me", "User-Agent", "a\"b")
	all := lines()
	want := `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Request","auditID":"me","stage":"ResponseComplete","requestURI":"/api/v1/namespaces/default/configmaps/a?x=\u003c","verb":"patch",` +
		`"user":{"username":"admin","uid":"1","groups":["system:masters","system:authenticated"]},"sourceIPs":["127.0.0.1"],"userAgent":"a\"b",` +
		`"objectRef":{"resource":"configmaps","namespace":"default","name":"a","apiVersion":"v1"},` +
		`"responseStatus":{"metadata":{},"status":"Failure","message":"configmaps \"a\" not found","reason":"NotFound","details":{"name":"a","kind":"configmaps"},"code":404},` +
		`"requestObject":{"data":{"b":"\u0026"}},"requestReceivedTimestamp":"T","stageTimestamp":"T","annotations":{"authorization.k8s.io/decision":"allow","authorization.k8s.io/reason":""}}`
	got := regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"`).ReplaceAllString(all[len(all)-1], `"T"`)
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// Without a policy every answered request is recorded, and nothing of any body.
func TestStandardAuditPolicy(t *testing.T) {
	h, lines := harness.StartAudited(t, "", nil)
	h.Create("/api/v1/namespaces/default/secrets", `{"metadata":{"name":"s"},"stringData":{"password":"hunter2"}}`)
	h.Get("/api/v1/namespaces/default/secrets/s")
	h.Create("/api/v1/namespaces/default/serviceaccounts", `{"metadata":{"name":"a"}}`)
	token, _ := h.Post("/api/v1/namespaces/default/serviceaccounts/a/token", `{}`).Field(t, "status.token").(string)
	h.Post("/apis/authentication.k8s.io/v1/tokenreviews", `{"spec":{"token":"`+token+`"}}`).Expect(t, 201, "")
	all := lines()
	if len(all) != 5 {
		t.Errorf("%d events: %s", len(all), all)
	}
	for _, line := range all {
		if !strings.Contains(line, `"stage":"ResponseComplete"`) || strings.Contains(line, "requestObject") || strings.Contains(line, "responseObject") ||
			strings.Contains(line, "hunter2") || strings.Contains(line, "aHVudGVyMg") || token == "" || strings.Contains(line, token) {
			t.Error(line)
		}
	}
}

// A request whose begin cannot be recorded is refused in the mode blocking-strict, and
// counted; in the mode blocking it goes on.
func TestAuditLogThatCannotBeWritten(t *testing.T) {
	for mode, code := range map[string]int{"blocking-strict": 500, "blocking": 201} {
		if _, err := os.Stat("/dev/full"); err != nil {
			t.Skip(err)
		}
		h := harness.Start(t, func(c *server.Config) {
			c.Audit.Log.Path, c.Audit.Log.Mode = "/dev/full", mode
			c.Audit.PolicyFile = filepath.Join(t.TempDir(), "policy.yaml")
			policy := "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata, resources: [{group: \"\"}]}]\n"
			if err := os.WriteFile(c.Audit.PolicyFile, []byte(policy), 0o600); err != nil {
				t.Fatal(err)
			}
		})
		if got := h.Post(harness.ConfigMaps, harness.ConfigMap("a", "{}")); got.Code != code || code == 500 && !strings.Contains(string(got.Body), "failed to store audit event") {
			t.Errorf("%s: %d %s", mode, got.Code, got.Body)
		}
		figures := h.Figures()
		lost, refused, recorded := figures[`apiserver_audit_error_total{plugin="log"`], figures["apiserver_audit_requests_rejected_total"], figures[`apiserver_audit_level_total{level="Metadata"`]
		if lost == "" || (refused == "1") != (code == 500) || recorded != "1" {
			t.Errorf("%s: %s lost, %s refused, %s requests", mode, lost, refused, recorded)
		}
	}
}

// A mistake in a policy refuses the start, with file and line.
func TestAuditPolicyMistakeRefusesStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: All\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := server.Start(context.Background(), server.Config{InMemory: true, Audit: audit.Config{PolicyFile: file, Log: audit.LogConfig{Path: filepath.Join(t.TempDir(), "log")}}})
	if err == nil || err.Error() != file+`:4: the level "All" is none of None, Metadata, Request, RequestResponse` {
		t.Error(err)
	}
}

// Events say which webhooks were asked and what they changed, and have their annotations;
// patches are shown where bodies are.
func TestAuditOfWebhooks(t *testing.T) {
	h, lines := harness.StartAudited(t, "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules:\n- {level: Request, verbs: [create], resources: [{resources: [configmaps]}]}\n- {level: Metadata, resources: [{resources: [configmaps]}]}\n", nil)
	v := harness.NewReviewer(t, func(path string, _, response map[string]any) {
		response["auditAnnotations"] = map[string]any{"why": path, "not a key": "x"}
		if path == "/first" {
			response["patch"], response["patchType"] = "W3sib3AiOiJhZGQiLCJwYXRoIjoiL2RhdGEiLCJ2YWx1ZSI6eyJhIjoiYiJ9fV0=", "JSONPatch"
		}
	})
	rule := harness.ReviewRule(`"CREATE","UPDATE"`, "", "v1", "configmaps")
	h.MutateBy(v, "first", rule, "")
	h.MutateBy(v, "second", rule, `,"reinvocationPolicy":"IfNeeded"`)
	h.ValidateBy(v, "third", rule, "")
	h.Create(harness.ConfigMaps, harness.ConfigMap("a", "{}"))
	v.Close()
	for _, path := range []string{harness.MutatingPath + "/first", harness.MutatingPath + "/second"} {
		h.Remove(path, "")
	}
	h.MergePatch(harness.ValidatingPath+"/third", `{"webhooks":[{"name":"third.example.com","failurePolicy":"Ignore","clientConfig":{"url":"https://127.0.0.1:1"},"sideEffects":"None","admissionReviewVersions":["v1"],"rules":[`+rule+`]}]}`)
	h.MergePatch(harness.ConfigMaps+"/a", `{"data":{"c":"d"}}`)
	got := lines()
	for i, want := range []string{
		`"annotations":{"authorization.k8s.io/decision":"allow","authorization.k8s.io/reason":"","first.example.com/why":"/first",` +
			`"mutation.webhook.admission.k8s.io/round_0_index_0":"{\"configuration\":\"first\",\"webhook\":\"first.example.com\",\"mutated\":true}",` +
			`"mutation.webhook.admission.k8s.io/round_0_index_1":"{\"configuration\":\"second\",\"webhook\":\"second.example.com\",\"mutated\":false}",` +
			`"patch.webhook.admission.k8s.io/round_0_index_0":"{\"configuration\":\"first\",\"webhook\":\"first.example.com\",\"patch\":[{\"op\":\"add\",\"path\":\"/data\",\"value\":{\"a\":\"b\"}}],\"patchType\":\"JSONPatch\"}",` +
			`"second.example.com/why":"/second","third.example.com/why":"/third"}}`,
		`"failed-open.validating.webhook.admission.k8s.io/round_0_index_0":"third.example.com"}}`,
	} {
		if i >= len(got) || !strings.HasSuffix(got[i], want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// A panic is the last event of its request.
func TestAuditPanic(t *testing.T) {
	h, lines := harness.StartAudited(t, "", func(c *server.Config) {
		harness.LookOn(c, harness.Onlooker{Admitting: func(r *admission.Request) error {
			if r.User != nil {
				panic("on purpose")
			}
			return nil
		}})
	})
	h.Post(harness.ConfigMaps, harness.ConfigMap("a", "{}")).Expect(t, 500, "InternalError")
	all := lines()
	if len(all) != 1 || !strings.Contains(all[0], `"stage":"Panic"`) || !strings.Contains(all[0], `"responseStatus":{"metadata":{},"status":"Failure","message":"APIServer panic'd: on purpose","reason":"InternalError","code":500}`) {
		t.Errorf("%s", all)
	}
}

// A list that finds no room in memory is recorded without its body, which the event says.
func TestAuditLargeList(t *testing.T) {
	h, lines := harness.StartAudited(t, "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: RequestResponse, verbs: [list]}]\n", func(c *server.Config) { c.ListMemoryBytes = 64 << 10 })
	for i := range 3 {
		h.Create(harness.ConfigMaps, harness.ConfigMap(fmt.Sprint("a", i), `{"x":"`+strings.Repeat("x", 50<<10)+`"}`))
	}
	h.Get(harness.ConfigMaps).Expect(t, 200, "")
	h.Get("/api/v1/namespaces/none/configmaps").Expect(t, 200, "")
	all := lines()
	if len(all) != 2 || strings.Contains(all[0], "responseObject") || !strings.Contains(all[0], `"audit.k8s.io/truncated":"true"`) || !strings.Contains(all[1], `"responseObject":{"kind":"ConfigMapList"`) {
		t.Errorf("%s", bytes.Join([][]byte{[]byte(all[0][:min(len(all[0]), 500)])}, nil))
	}
}
