package admission_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

const (
	localReviews = harness.AccessGroup + "namespaces/default/localsubjectaccessreviews"
	rulesReviews = harness.AccessGroup + "selfsubjectrulesreviews"
	getPods      = `"resourceAttributes":{"namespace":"default","verb":"get","resource":"pods"}`
)

// Webhooks review requests whose objects are not stored, and the options of connections
// before anything is connected.
func TestWebhooksReviewWhatIsNotStored(t *testing.T) {
	h := harness.Start(t, nil)
	h.Create(harness.PodsPath, harness.PodBody)
	h.Create(harness.AccountsPath, `{"metadata":{"name":"robot"}}`)
	v := harness.NewReviewer(t, nil)
	h.ValidateBy(v, "all", `{"operations":["CREATE","CONNECT"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*/*"]}`, "")
	h.ValidateBy(v, "labels", harness.ReviewRule(`"CONNECT"`, "", "v1", "*/*"), `,"objectSelector":{"matchExpressions":[{"key":"a","operator":"DoesNotExist"}]}`)
	for _, c := range []struct {
		method, path, body string
		code               int
		want               []string
	}{
		{"POST", harness.PodsPath + "/none/exec?command=ls&command=-l&container=c&stdout=true&tty=0", "", 404, []string{
			`"kind":{"group":"","kind":"PodExecOptions","version":"v1"},"name":"none","namespace":"default","object":{"apiVersion":"v1","command":["ls","-l"],"container":"c","kind":"PodExecOptions","stdout":true},"oldObject":null,"operation":"CONNECT","options":null`,
			`"resource":{"group":"","resource":"pods","version":"v1"},"subResource":"exec"`, `"username":"admin"`, `"dryRun":false`}},
		{"GET", harness.PodsPath + "/p/exec?kind=x", "", 400, []string{`"object":{"apiVersion":"v1","command":null,"kind":"PodExecOptions"}`}},
		{"GET", harness.PodsPath + "/p/attach?stdin", "", 400, []string{`"object":{"apiVersion":"v1","kind":"PodAttachOptions","stdin":true}`}},
		{"POST", harness.PodsPath + "/p/portforward?ports=80,081&ports=443", "", 400, []string{`"object":{"apiVersion":"v1","kind":"PodPortForwardOptions","ports":[80,81,443]}`, `"subResource":"portforward"`}},
		{"PUT", harness.PodsPath + "/p:80/proxy/a//b/", "", 400, []string{`"name":"p:80"`, `"object":{"apiVersion":"v1","kind":"PodProxyOptions","path":"/a//b/"}`}},
		{"GET", "/api/v1/namespaces/default/services/https:s:web/proxy", "", 404, []string{`"name":"https:s:web"`, `"object":{"apiVersion":"v1","kind":"ServiceProxyOptions"}`}},
		{"DELETE", "/api/v1/nodes/n/proxy/pods?path=no", "", 404, []string{`"kind":"NodeProxyOptions","path":"/pods"}`, `"resource":"nodes"`, `"operation":"CONNECT"`}},
		{"POST", harness.SelfReviews, `{"spec":{` + getPods + `},"status":{"allowed":true}}`, 201, []string{`"kind":"SelfSubjectAccessReview"`, `"operation":"CREATE","options":{"apiVersion":"meta.k8s.io/v1","kind":"CreateOptions"}`}},
		{"POST", harness.AccessGroup + "subjectaccessreviews?dryRun=All", `{"spec":{"user":"x",` + getPods + `}}`, 201, []string{`"dryRun":true`, `"resource":"subjectaccessreviews"`}},
		{"POST", localReviews, `{"spec":{"user":"x",` + getPods + `}}`, 201, []string{`"kind":"LocalSubjectAccessReview"`, `"namespace":"default"`}},
		{"POST", rulesReviews, `{"spec":{"namespace":"default"}}`, 201, []string{`"resource":"selfsubjectrulesreviews"`}},
		{"POST", harness.TokenReviews, `{"metadata":{"name":"n"},"spec":{"token":"none"}}`, 201, []string{`"name":"n"`, `"spec":{"token":"none"}`}},
		{"POST", harness.AccountsPath + "/robot/token", `{}`, 201, []string{`"kind":"TokenRequest"`, `"name":"robot"`, `"subResource":"token"`, `"status":{"expirationTimestamp":null,"token":""}`, `"audiences":["https://kubernetes.default.svc"]`}},
		{"POST", "/api/v1/namespaces/default/bindings", `{"metadata":{"name":"none"},"target":{"name":"n"}}`, 404, []string{`"kind":"Binding"`, `"name":"none"`, `"resource":"bindings"`, `"target":{"name":"n"}`, `"fieldsV1":{"f:target":{}},"manager":`}},
		{"POST", harness.PodsPath + "/none/binding?fieldManager=m", `{"metadata":{"name":"none","labels":{"a":"b"}},"target":{"name":"n"}}`, 404, []string{`"creationTimestamp":null`, `"fieldsV1":{"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:target":{}},"manager":"m","operation":"Update","subresource":"binding","time":"`}},
		{"POST", harness.PodsPath + "/none/eviction?dryRun=All", `{"metadata":{"name":"none"},"deleteOptions":{"gracePeriodSeconds":1}}`, 404, []string{`"deleteOptions":{"dryRun":["All"],"gracePeriodSeconds":1}`,
			`"apiVersion":"policy/v1","fieldsType":"FieldsV1","fieldsV1":{"f:deleteOptions":{".":{},"f:gracePeriodSeconds":{}}},"manager":`, `"subresource":"eviction"`}},
		{"POST", harness.PodsPath + "/none/eviction", `{"metadata":{"name":"none"}}`, 404, []string{`"kind":"Eviction"`, `"subResource":"eviction"`}},
	} {
		got := h.Send(c.method, c.path, "", []byte(c.body))
		review, n := v.Last()
		if got.Code != c.code || n != 1 {
			t.Errorf("%s %s: %d after %d reviews: %s", c.method, c.path, got.Code, n, got.Body)
		}
		for _, want := range c.want {
			if !strings.Contains(review, want) {
				t.Errorf("%s %s: the review lacks %s: %s", c.method, c.path, want, review)
			}
		}
	}
	for _, c := range []struct{ path, body string }{ // wrong before any review
		{harness.PodsPath + "/p/exec?dryRun=All", ""}, {harness.PodsPath + "/p/portforward?ports=x", ""}, {harness.PodsPath + "/p/eviction", `{"metadata":{"name":"p","namespace":"other"}}`},
		{harness.PodsPath + "/p/binding", `{"metadata":{"name":"x"},"target":{"name":"n"}}`}, {harness.TokenReviews, `{}`}, {rulesReviews, `{}`}, {harness.SelfReviews, `{"spec":{}}`}} {
		got := h.Send("POST", c.path, "", []byte(c.body))
		if review, n := v.Last(); got.Code/100 != 4 || n != 0 {
			t.Errorf("%s: %d after %s", c.path, got.Code, review)
		}
	}
}

// A refusal ends such a request before it has an effect.
func TestWebhooksRefuseWhatIsNotStored(t *testing.T) {
	h := harness.Start(t, nil)
	h.Create(harness.PodsPath, harness.PodBody)
	h.Create(harness.AccountsPath, `{"metadata":{"name":"robot"}}`)
	v := harness.NewReviewer(t, func(_ string, _, response map[string]any) {
		response["allowed"], response["warnings"] = false, []any{"no way"}
		response["status"] = map[string]any{"message": "closed", "code": 418}
	})
	h.ValidateBy(v, "all", `{"operations":["CREATE","CONNECT"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*/*"]}`, "")
	const words = `denied the request: closed`
	h.Run(t, []harness.Step{
		{"exec", "POST", harness.PodsPath + "/p/exec?command=ls", "", "", 418, words},
		{"proxy", "GET", "/api/v1/nodes/n/proxy/", "", "", 418, words},
		{"review", "POST", harness.SelfReviews, "", `{"spec":{` + getPods + `}}`, 418, words},
		{"rules", "POST", rulesReviews, "", `{"spec":{"namespace":"default"}}`, 418, words},
		{"token review", "POST", harness.TokenReviews, "", `{"spec":{"token":"admin-token"}}`, 418, words},
		{"token", "POST", harness.AccountsPath + "/robot/token", "", `{}`, 418, words},
		{"binding", "POST", harness.PodsPath + "/p/binding", "", `{"metadata":{"name":"p"},"target":{"name":"n"}}`, 418, words},
		{"eviction", "POST", harness.PodsPath + "/p/eviction", "", `{"metadata":{"name":"p"}}`, 418, words},
	})
	if got := h.Send("POST", harness.PodsPath+"/p/exec", "", nil).Header.Get("Warning"); !strings.Contains(got, "no way") {
		t.Errorf("warning %q", got)
	}
	if got := string(h.Get(harness.PodsPath + "/p").Body); strings.Contains(got, "nodeName") || strings.Contains(got, "deletionTimestamp") {
		t.Errorf("refused, but done: %s", got)
	}
}

// The change of a mutating webhook takes effect: it is the changed body that is checked and
// answered.
func TestMutatingWebhooksChangeWhatIsNotStored(t *testing.T) {
	h := harness.Start(t, nil)
	h.Create(harness.PodsPath, harness.PodBody)
	h.Create(harness.PodsPath, strings.Replace(harness.PodBody, `"name":"p"`, `"name":"q"`, 1))
	h.Create(harness.AccountsPath, `{"metadata":{"name":"robot"}}`)
	patch := ""
	v := harness.NewMutator(t, func(string, map[string]any) string { return patch })
	h.MutateBy(v, "all", `{"operations":["CREATE","CONNECT"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*/*"]}`, "")
	replace := func(path, value string) string {
		return fmt.Sprintf(`[{"op":"add","path":%q,"value":%s}]`, path, value)
	}
	for _, c := range []struct {
		patch string
		harness.Step
	}{
		{replace("/container", `"other"`), harness.Step{"exec", "POST", harness.PodsPath + "/p/exec?container=c", "", "", 400, "container other is not valid for pod p"}},
		{replace("/none", `1`), harness.Step{"an unknown option", "POST", harness.PodsPath + "/p/exec", "", "", 400, "does not have a host assigned"}},
		{replace("/spec/token", `"admin-token"`), harness.Step{"token review", "POST", harness.TokenReviews, "", `{"spec":{"token":"x"}}`, 201, `"authenticated":true`}},
		{replace("/spec/token", `""`), harness.Step{"no token", "POST", harness.TokenReviews, "", `{"spec":{"token":"x"}}`, 400, `token is required`}},
		{replace("/status", `{"allowed":true}`), harness.Step{"a claim", "POST", harness.AccessGroup + "subjectaccessreviews", "", `{"spec":{"user":"x",` + getPods + `}}`, 201, `"status":{"allowed":false}}`}},
		{replace("/spec/user", `"y"`), harness.Step{"another user", "POST", harness.AccessGroup + "subjectaccessreviews", "", `{"spec":{"user":"x",` + getPods + `}}`, 201, `"user":"y"`}},
		{replace("/spec/namespace", `""`), harness.Step{"no namespace", "POST", rulesReviews, "", `{"spec":{"namespace":"default"}}`, 400, `no namespace`}},
		{replace("/spec/audiences", `["vault"]`), harness.Step{"token", "POST", harness.AccountsPath + "/robot/token", "", `{}`, 201, `"audiences":["vault"]`}},
		{replace("/target/name", `"other"`), harness.Step{"binding", "POST", harness.PodsPath + "/p/binding", "", `{"metadata":{"name":"p"},"target":{"name":"n"}}`, 201, ""}},
		{replace("/metadata/name", `"q"`), harness.Step{"another pod", "POST", harness.PodsPath + "/q/binding", "", `{"metadata":{"name":"q"},"target":{"name":""}}`, 422, "target.name"}},
		{replace("/metadata/name", `"p"`), harness.Step{"not its name", "POST", harness.PodsPath + "/q/binding", "", `{"metadata":{"name":"q"},"target":{"name":"n"}}`, 400, "name in URL does not match"}},
		{replace("/metadata/name", `"p"`), harness.Step{"nor of an eviction", "POST", harness.PodsPath + "/q/eviction", "", `{"metadata":{"name":"q"}}`, 400, "name in URL does not match"}},
		{replace("/deleteOptions", `{"dryRun":["All"]}`), harness.Step{"a dry eviction", "POST", harness.PodsPath + "/q/eviction", "", `{"metadata":{"name":"q"}}`, 201, ""}},
	} {
		patch = c.patch
		h.Run(t, []harness.Step{c.Step})
	}
	h.Run(t, []harness.Step{
		{"bound to the other node", "GET", harness.PodsPath + "/p", "", "", 200, `"nodeName":"other"`},
		{"still there", "GET", harness.PodsPath + "/q", "", "", 200, `"name":"q"`},
	})
}
