package server_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
)

// A hostile or broken webhook is refused in bounded time with a 500 that has its words,
// stores nothing, and does not touch objects that need no conversion.
func TestHostileConversionWebhook(t *testing.T) {
	h := startServer(t, nil)
	hook := newConversionHook(t)
	h.gaugesBy(hook)
	h.create(gaugesV1, gauge("v1", "a", `,"spec":{"host":"h","port":"1"}`))
	h.create(gaugesV1, gauge("v1", "b", `,"spec":{"host":"h","port":"1"}`))
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
			hook.behave()
			if c.alter != nil {
				hook.alter(c.alter)
			}
			if c.do != nil {
				hook.do(c.do)
			}
			h.run(t, []step{
				{"read", "GET", gaugesBeta + "/a", "", "", 500, c.want},
				{"list", "GET", gaugesBeta, "", "", 500, "conversion webhook for lab.example.com/v1, Kind=Gauge "},
				{"patch", "PATCH", gaugesBeta + "/a", mergeType, `{"spec":{"address":"n:2"}}`, 500, "conversion webhook for"},
				{"create", "POST", gaugesBeta, "", gauge("v1beta1", "new", `,"spec":{"address":"n:2"}`), 500, "conversion webhook for lab.example.com/v1beta1, Kind=Gauge "},
				{"nothing is stored", "GET", gaugesV1 + "/new", "", "", 404, ""},
				{"nothing is changed", "GET", gaugesV1 + "/a", "", "", 200, `"host":"h","port":"1"`},
			})
		})
	}
	hook.behave()
	watch := h.watch(gaugesBeta + "?watch=true&resourceVersion=" + h.get(gaugesV1).field(t, "metadata.resourceVersion").(string))
	hook.do(answer(500, "text/plain", "no"))
	h.create(gaugesV1, gauge("v1", "c", `,"spec":{"host":"h","port":"1"}`))
	if e := watch.next(); e.Type != "ERROR" || !strings.Contains(string(e.Object), "conversion webhook for lab.example.com/v1, Kind=Gauge failed") {
		t.Errorf("an event that cannot be converted: %s %s", e.Type, e.Object)
	}
	h.run(t, []step{{"deleted", "DELETE", gaugesBeta + "/c", "", "", 200, `"status":"Success"`}})
}

// Objects in a version that only a dead webhook converts are deleted with their namespace
// and owners, and with their definition.
func TestDeadConversionWebhook(t *testing.T) {
	h := startServer(t, func(c *server.Config) { c.Controllers = []string{"*"} })
	hook := newConversionHook(t)
	h.gaugesBy(hook)
	h.create("/api/v1/namespaces", `{"metadata":{"name":"short"}}`)
	h.create(strings.Replace(gaugesV1, "default", "short", 1), gauge("v1", "g", ""))
	uid := h.post(gaugesV1, gauge("v1", "owner", "")).field(t, "metadata.uid")
	h.create(gaugesV1, strings.Replace(gauge("v1", "owned", ""), `"name":"owned"`,
		fmt.Sprintf(`"name":"owned","ownerReferences":[{"apiVersion":"lab.example.com/v2","kind":"Gauge","name":"owner","uid":%q}]`, uid), 1))
	h.create(gaugesV1, gauge("v1", "last", ""))
	h.mergePatch(gaugesAs, `{"spec":{"versions":`+gaugeVersions("v2")+`}}`)
	h.awaitStorage("v2")
	hook.Close()
	h.get(gaugesV2).expect(t, 500, "")
	h.remove("/api/v1/namespaces/short", "").expect(t, http.StatusOK, "")
	h.awaitGone("/api/v1/namespaces", "short")
	h.remove(gaugesV2+"/owner", "").expect(t, http.StatusOK, "")
	h.awaitGone(gaugesV1, "owned")
	h.remove(gaugesAs, "").expect(t, http.StatusOK, "")
	h.awaitGone(definitionsPath, "gauges.lab.example.com")
}

// The service of a webhook is resolved, and the certificate has to be for its name.
func TestConversionWebhookOfService(t *testing.T) {
	h := startServer(t, nil)
	hook := newConversionHook(t)
	_, port, _ := strings.Cut(hook.Listener.Addr().String(), ":")
	h.defineGauges(fmt.Sprintf(`{"service":{"namespace":"default","name":"hook","path":"/convert","port":%s},"caBundle":%q}`, port, hook.caBundle()))
	h.create(gaugesV1, gauge("v1", "a", ""))
	h.run(t, []step{
		{"no service", "GET", gaugesBeta + "/a", "", "", 500, `failed: Post \"https://hook.default.svc:` + port + `/convert?timeout=30s\": service \"hook\" not found`},
		{"a service", "POST", "/api/v1/namespaces/default/services", "", `{"metadata":{"name":"hook"},"spec":{"type":"ExternalName","externalName":"localhost"}}`, 201, ""},
		{"another name", "GET", gaugesBeta + "/a", "", "", 500, "certificate is valid for example.com, *.example.com, not hook.default.svc"},
	})
}
