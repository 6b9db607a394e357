package conversion_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// A hostile or broken webhook is refused in bounded time with a 500 that has its words,
// stores nothing, and does not touch objects that need no conversion.
func TestHostileConversionWebhook(t *testing.T) {
	h := harness.Start(t, nil)
	hook := harness.NewConversionHook(t)
	h.GaugesBy(hook)
	h.Create(harness.GaugesV1, harness.Gauge("v1", "a", `,"spec":{"host":"h","port":"1"}`))
	h.Create(harness.GaugesV1, harness.Gauge("v1", "b", `,"spec":{"host":"h","port":"1"}`))
	response := func(change func(r map[string]any)) func(map[string]any) {
		return func(review map[string]any) { change(review["response"].(map[string]any)) }
	}
	object := func(change func(o map[string]any)) func(map[string]any) {
		return response(func(r map[string]any) {
			for _, o := range r["convertedObjects"].([]any) {
				change(o.(map[string]any))
			}
		})
	}
	metadata := func(change func(m map[string]any)) func(map[string]any) {
		return object(func(o map[string]any) { change(o["metadata"].(map[string]any)) })
	}
	answer := func(code int, media, body string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", media)
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
			return true
		}
	}
	for _, c := range []struct {
		name  string
		alter func(map[string]any)
		do    func(http.ResponseWriter, *http.Request) bool
		want  string
	}{
		{"another name", metadata(func(m map[string]any) { m["name"] = "other" }), nil, "must have the same name: a != other"},
		{"no name", metadata(func(m map[string]any) { delete(m, "name") }), nil, "must have the same name: a != "},
		{"another namespace", metadata(func(m map[string]any) { m["namespace"] = "other" }), nil, "must have the same namespace: default != other"},
		{"another uid", metadata(func(m map[string]any) { m["uid"] = "other" }), nil, "must have the same UID: "},
		{"a wrong label", metadata(func(m map[string]any) { m["labels"] = map[string]any{"a b": ""} }), nil, `metadata.labels: Invalid value: \"a b\"`},
		{"labels of numbers", metadata(func(m map[string]any) { m["labels"] = map[string]any{"a": 1} }), nil, "returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object"},
		{"a list as annotations", metadata(func(m map[string]any) { m["annotations"] = []any{} }), nil, "invalid metadata.annotations of type []interface {} in converted object"},
		{"long annotations", metadata(func(m map[string]any) { m["annotations"] = map[string]any{"a": strings.Repeat("x", 1<<18)} }), nil, "Too long"},
		{"no metadata", object(func(o map[string]any) { delete(o, "metadata") }), nil, "must have the same name"},
		{"another kind", object(func(o map[string]any) { o["kind"] = "Other" }), nil, "returned invalid object at index 0: invalid kind (expected Gauge, received Other)"},
		{"another version", object(func(o map[string]any) { o["apiVersion"] = "lab.example.com/v7" }), nil, "invalid groupVersion (expected lab.example.com/v1beta1, received lab.example.com/v7)"},
		{"fewer objects", response(func(r map[string]any) { r["convertedObjects"] = []any{} }), nil, "returned 0 objects, expected "},
		{"no list", response(func(r map[string]any) { delete(r, "convertedObjects") }), nil, "returned 0 objects, expected "},
		{"texts", response(func(r map[string]any) {
			for i := range r["convertedObjects"].([]any) {
				r["convertedObjects"].([]any)[i] = "x"
			}
		}), nil, "a JSON object is expected"},
		{"another review", response(func(r map[string]any) { r["uid"] = "x" }), nil, `expected response.uid=\"`},
		{"its refusal", response(func(r map[string]any) {
			r["result"] = map[string]any{"status": "Failure", "message": "this is my reason"}
		}), nil, "failed: this is my reason"},
		{"no result", response(func(r map[string]any) { delete(r, "result") }), nil, "response.result.status was '', not 'Success'"},
		{"no response", func(review map[string]any) { delete(review, "response") }, nil, "no response provided"},
		{"another type", func(review map[string]any) { review["kind"] = "AdmissionReview" }, nil, "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got apiextensions.k8s.io/v1, Kind=AdmissionReview"},
		{"HTML", nil, answer(200, "text/html", "<html>"), "json parse error"},
		{"garbage", nil, answer(200, "application/json", "{{"), "json parse error"},
		{"500", nil, answer(500, "text/plain", "out of order"), `an error on the server (\"out of order\") has prevented the request from succeeding`},
		{"redirect", nil, func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, "/convert", http.StatusTemporaryRedirect)
			return true
		}, "the server responded with the status code 307"},
		{"huge", nil, func(w http.ResponseWriter, _ *http.Request) bool {
			for part := []byte(strings.Repeat(" ", 1<<16)); ; {
				if _, err := w.Write(part); err != nil {
					return true
				}
			}
		}, "the webhook's answer has more than "},
		{"cut", nil, func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }, "failed: Post"},
	} {
		t.Run(c.name, func(t *testing.T) {
			hook.Behave()
			if c.alter != nil {
				hook.Alter(c.alter)
			}
			if c.do != nil {
				hook.Do(c.do)
			}
			h.Run(t, []harness.Step{
				{"read", "GET", harness.GaugesBeta + "/a", "", "", 500, c.want},
				{"list", "GET", harness.GaugesBeta, "", "", 500, "conversion webhook for lab.example.com/v1, Kind=Gauge "},
				{"patch", "PATCH", harness.GaugesBeta + "/a", harness.MergePatchMedia, `{"spec":{"address":"n:2"}}`, 500, "conversion webhook for"},
				{"create", "POST", harness.GaugesBeta, "", harness.Gauge("v1beta1", "new", `,"spec":{"address":"n:2"}`), 500, "conversion webhook for lab.example.com/v1beta1, Kind=Gauge "},
				{"nothing is stored", "GET", harness.GaugesV1 + "/new", "", "", 404, ""},
				{"nothing is changed", "GET", harness.GaugesV1 + "/a", "", "", 200, `"host":"h","port":"1"`},
			})
		})
	}
	hook.Behave()
	watch := h.Watch(harness.GaugesBeta + "?watch=true&resourceVersion=" + h.Get(harness.GaugesV1).Field(t, "metadata.resourceVersion").(string))
	hook.Do(answer(500, "text/plain", "no"))
	h.Create(harness.GaugesV1, harness.Gauge("v1", "c", `,"spec":{"host":"h","port":"1"}`))
	if e := watch.Next(); e.Type != "ERROR" || !strings.Contains(string(e.Object), "conversion webhook for lab.example.com/v1, Kind=Gauge failed") {
		t.Errorf("an event that cannot be converted: %s %s", e.Type, e.Object)
	}
	h.Run(t, []harness.Step{{"deleted", "DELETE", harness.GaugesBeta + "/c", "", "", 200, `"status":"Success"`}})
}

// Objects in a version that only a dead webhook converts are deleted with their namespace
// and owners, and with their definition.
func TestDeadConversionWebhook(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.Controllers = []string{"*"} })
	hook := harness.NewConversionHook(t)
	h.GaugesBy(hook)
	h.Create("/api/v1/namespaces", `{"metadata":{"name":"short"}}`)
	h.Create(strings.Replace(harness.GaugesV1, "default", "short", 1), harness.Gauge("v1", "g", ""))
	uid := h.Post(harness.GaugesV1, harness.Gauge("v1", "owner", "")).Field(t, "metadata.uid")
	h.Create(harness.GaugesV1, strings.Replace(harness.Gauge("v1", "owned", ""), `"name":"owned"`,
		fmt.Sprintf(`"name":"owned","ownerReferences":[{"apiVersion":"lab.example.com/v2","kind":"Gauge","name":"owner","uid":%q}]`, uid), 1))
	h.Create(harness.GaugesV1, harness.Gauge("v1", "last", ""))
	h.MergePatch(harness.GaugesAs, `{"spec":{"versions":`+harness.GaugeVersions("v2")+`}}`)
	h.AwaitStorage("v2")
	hook.Close()
	h.Get(harness.GaugesV2).Expect(t, 500, "")
	h.Remove("/api/v1/namespaces/short", "").Expect(t, http.StatusOK, "")
	h.AwaitGone("/api/v1/namespaces", "short")
	h.Remove(harness.GaugesV2+"/owner", "").Expect(t, http.StatusOK, "")
	h.AwaitGone(harness.GaugesV1, "owned")
	h.Remove(harness.GaugesAs, "").Expect(t, http.StatusOK, "")
	h.AwaitGone(harness.DefinitionsPath, "gauges.lab.example.com")
}

// The service of a webhook is resolved, and the certificate has to be for its name.
func TestConversionWebhookOfService(t *testing.T) {
	h := harness.Start(t, nil)
	hook := harness.NewConversionHook(t)
	_, port, _ := strings.Cut(hook.Listener.Addr().String(), ":")
	h.DefineGauges(fmt.Sprintf(`{"service":{"namespace":"default","name":"hook","path":"/convert","port":%s},"caBundle":%q}`, port, hook.CABundle()))
	h.Create(harness.GaugesV1, harness.Gauge("v1", "a", ""))
	h.Run(t, []harness.Step{
		{"no service", "GET", harness.GaugesBeta + "/a", "", "", 500, `failed: Post \"https://hook.default.svc:` + port + `/convert?timeout=30s\": service \"hook\" not found`},
		{"a service", "POST", "/api/v1/namespaces/default/services", "", `{"metadata":{"name":"hook"},"spec":{"type":"ExternalName","externalName":"localhost"}}`, 201, ""},
		{"another name", "GET", harness.GaugesBeta + "/a", "", "", 500, "certificate is valid for example.com, *.example.com, not hook.default.svc"},
	})
}
