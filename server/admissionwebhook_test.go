package server_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
)

const validatingPath = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"

// reviewer is an admission webhook that keeps the requests of its reviews.
type reviewer struct {
	*conversionHook // its server
	mu              sync.Mutex
	requests        []map[string]any
}

// newReviewer answers with what respond adds to the response of a request at a path.
func newReviewer(t *testing.T, respond func(path string, request, response map[string]any)) *reviewer {
	t.Helper()
	v := &reviewer{conversionHook: newConversionHook(t)}
	v.do(func(w http.ResponseWriter, r *http.Request) bool {
		var review map[string]any
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			if text := err.Error(); !strings.Contains(text, "CANCEL") && !strings.Contains(text, "client disconnected") { // its client gave up
				t.Error(err)
			}
			return false
		}
		request := review["request"].(map[string]any)
		v.mu.Lock()
		v.requests = append(v.requests, request)
		v.mu.Unlock()
		response := map[string]any{"uid": request["uid"], "allowed": true}
		if respond != nil {
			respond(r.URL.Path, request, response)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": review["kind"], "apiVersion": review["apiVersion"], "response": response})
		return true
	})
	return v
}

// last is the newest request, as JSON; the number of requests begins anew.
func (v *reviewer) last() (text string, n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if n = len(v.requests); n > 0 {
		b, _ := json.Marshal(v.requests[n-1])
		text = string(b)
	}
	v.requests = nil
	return text, n
}

// validateBy configures a validating webhook with a path, rules and further members.
func (h *harness) validateBy(v *reviewer, name, rules, members string) {
	h.t.Helper()
	h.create(validatingPath, fmt.Sprintf(`{"metadata":{"name":%q},"webhooks":[{"name":"%s.example.com","clientConfig":{"url":"%s/%s","caBundle":%q},
		"sideEffects":"None","admissionReviewVersions":["v1"],"rules":[%s]%s}]}`, name, name, v.URL, name, v.caBundle(), rules, members))
}

func reviewRule(operations, group, version, resource string) string {
	return fmt.Sprintf(`{"operations":[%s],"apiGroups":[%q],"apiVersions":[%q],"resources":[%q]}`, operations, group, version, resource)
}

// A validating webhook reviews the writes that its rules and selectors match, and refuses
// with its words.
func TestValidatingWebhooks(t *testing.T) {
	h := startServer(t, nil)
	v := newReviewer(t, func(path string, request, response map[string]any) {
		name, _ := request["name"].(string)
		switch {
		case strings.HasPrefix(name, "no"):
			response["allowed"] = false
			response["status"] = map[string]any{"message": "not this one", "reason": "Forbidden", "code": 403, "details": map[string]any{"causes": []any{map[string]any{"reason": "Why", "field": "data", "message": "so"}}}}
		case strings.HasPrefix(name, "bare"):
			response["allowed"] = false
		case strings.HasPrefix(name, "fine"):
			response["allowed"], response["status"] = false, map[string]any{"message": "as it is", "code": 200}
		case strings.HasPrefix(name, "reason"):
			response["allowed"], response["status"] = false, map[string]any{"reason": "Conflict"}
		case strings.HasPrefix(name, "warn"):
			response["warnings"] = []any{"be careful", "", "be\ncareful", "be careful"}
		case name == "uid":
			response["uid"] = "other"
		case name == "patch":
			response["patch"], response["patchType"] = "W10=", "JSONPatch"
		}
	})
	h.validateBy(v, "all", reviewRule(`"*"`, "", "v1", "configmaps"), `,"objectSelector":{"matchExpressions":[{"key":"skip","operator":"DoesNotExist"}]}`)
	h.run(t, []step{
		{"allowed", "POST", configMaps, "", configMap("a", `{"x":"1"}`), 201, ""},
		{"refused", "POST", configMaps, "", configMap("no", `{}`), 403, `"message":"admission webhook \"all.example.com\" denied the request: not this one","reason":"Forbidden","details":{"causes":[{"reason":"Why","message":"so","field":"data"}]},"code":403`},
		{"not stored", "GET", configMaps + "/no", "", "", 404, ""},
		{"without words", "POST", configMaps, "", configMap("bare", `{}`), 403, `denied the request without explanation","reason":"Forbidden","code":403`},
		{"with a code of success", "POST", configMaps, "", configMap("fine", `{}`), 403, `denied the request: as it is","reason":"Forbidden","code":403`},
		{"with a reason only", "POST", configMaps, "", configMap("reason", `{}`), 403, `denied the request: Conflict","reason":"Conflict","code":403`},
		{"another uid", "POST", configMaps, "", configMap("uid", `{}`), 500, `Internal error occurred: failed calling webhook \"all.example.com\": received invalid webhook response: expected response.uid=`},
		{"a patch", "POST", configMaps, "", configMap("patch", `{}`), 500, `validating webhook may not return response.patch`},
		{"its own configuration", "PATCH", validatingPath + "/all", mergeType, `{"metadata":{"labels":{"a":"b"}}}`, 200, ""},
	})
	if got := h.post(configMaps, configMap("warn", `{}`)).header.Values("Warning"); fmt.Sprint(got) != `[299 - "be careful"]` {
		t.Errorf("warnings %q", got)
	}
	v.last()
	for _, c := range []struct{ method, path, media, body, want string }{
		{"PATCH", configMaps + "/a?fieldManager=me&dryRun=All", mergeType, `{"data":{"x":"2"}}`, `"dryRun":true,"kind":{"group":"","kind":"ConfigMap","version":"v1"},"name":"a","namespace":"default","object":{"apiVersion":"v1","data":{"x":"2"}`},
		{"PATCH", configMaps + "/a?fieldManager=me&dryRun=All", mergeType, `{"data":{"x":"3"}}`, `"options":{"apiVersion":"meta.k8s.io/v1","dryRun":["All"],"fieldManager":"me","kind":"UpdateOptions"}`},
		{"DELETE", configMaps + "/a?propagationPolicy=Background", "", "", `"object":null,"oldObject":{"apiVersion":"v1","data":{"x":"1"}`},
		{"DELETE", configMaps + "/warn?gracePeriodSeconds=3", "", "", `"operation":"DELETE","options":{"apiVersion":"meta.k8s.io/v1","gracePeriodSeconds":3,"kind":"DeleteOptions"}`},
		{"POST", configMaps, "", `{"metadata":{"generateName":"made-"}}`, `"userInfo":{"groups":["system:masters","system:authenticated"],"uid":"1","username":"admin"}`},
		{"DELETE", configMaps, "", "", `"operation":"DELETE"`},
	} {
		if got := h.send(c.method, c.path, c.media, []byte(c.body)).header.Get("Warning"); strings.Contains(got, "be careful") != strings.Contains(c.path, "warn") {
			t.Errorf("%s %s: warning %q", c.method, c.path, got)
		}
		if got, n := v.last(); n != 1 || !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %d reviews, the last %s\n want %s", c.method, c.path, n, got, c.want)
		}
	}
	h.create(configMaps, `{"metadata":{"name":"no-skip","labels":{"skip":""}}}`)
	h.remove(validatingPath+"/all", "")
	h.create(configMaps, configMap("no", `{}`)) // the next write after the change
}

// Reviews of deletes show the options as they were sent, the object in the version of the
// request, and both steps of a pod's delete.
func TestReviewsOfDeletes(t *testing.T) {
	h := startServer(t, nil)
	h.define(`{"type":"object"}`, `},{"name":"v1beta1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}`)
	h.create(shopWidgets, widget("w", ""))
	h.create(configMaps, configMap("a", `{}`))
	h.create(podsPath, `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	v := newReviewer(t, nil)
	h.validateBy(v, "all", reviewRule(`"DELETE"`, "*", "*", "*"), "")
	for _, c := range []struct {
		path, options, want string
		reviews             int
	}{
		{configMaps + "/a?dryRun=All", `{"orphanDependents":true}`, `"kind":"DeleteOptions","orphanDependents":true}`, 1},
		{configMaps + "/a?orphanDependents=false", "", `"kind":"DeleteOptions","orphanDependents":false}`, 1},
		{podsPath + "/p?dryRun=All", "", `"gracePeriodSeconds":0`, 1},
		{podsPath + "/p", "", `"deletionGracePeriodSeconds":0`, 2},
		{strings.Replace(shopWidgets, "/v1/", "/v1beta1/", 1), "", `"oldObject":{"apiVersion":"shop.example.com/v1beta1"`, 1},
	} {
		h.remove(c.path, c.options).expect(t, 200, "")
		if got, n := v.last(); n != c.reviews || !strings.Contains(got, c.want) {
			t.Errorf("%s: %d reviews, the last %s\n want %d, %s", c.path, n, got, c.reviews, c.want)
		}
	}
}

// A webhook that knows another version gets the object in it.
func TestValidatingWebhookVersions(t *testing.T) {
	h := startServer(t, nil)
	v := newReviewer(t, nil)
	const scalers = "/namespaces/default/horizontalpodautoscalers"
	h.validateBy(v, "old", reviewRule(`"CREATE"`, "autoscaling", "v1", "horizontalpodautoscalers"), "")
	h.post("/apis/autoscaling/v2"+scalers, autoscalerV2).expect(t, 201, "")
	got, _ := v.last()
	for _, want := range []string{`"kind":{"group":"autoscaling","kind":"HorizontalPodAutoscaler","version":"v1"}`, `"requestKind":{"group":"autoscaling","kind":"HorizontalPodAutoscaler","version":"v2"}`,
		`"object":{"apiVersion":"autoscaling/v1"`, `"targetCPUUtilizationPercentage":`, `"requestResource":{"group":"autoscaling","resource":"horizontalpodautoscalers","version":"v2"}`} {
		if !strings.Contains(got, want) {
			t.Errorf("the review lacks %s: %s", want, got)
		}
	}
	h.mergePatch(validatingPath+"/old", `{"webhooks":[{"name":"old.example.com","matchPolicy":"Exact","clientConfig":{"url":"`+v.URL+`/x"},"sideEffects":"None","admissionReviewVersions":["v1"],"rules":[`+reviewRule(`"CREATE"`, "autoscaling", "v1", "horizontalpodautoscalers")+`]}]}`)
	h.post("/apis/autoscaling/v2"+scalers, strings.Replace(autoscalerV2, `"web"`, `"web2"`, 1)).expect(t, 201, "")
	if got, n := v.last(); n != 0 {
		t.Errorf("reviewed: %s", got)
	}
	h.validateBy(v, "scale", reviewRule(`"UPDATE"`, "apps", "v1", "deployments/scale"), "")
	h.create("/apis/apps/v1/namespaces/default/deployments", `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`)
	h.merge("/apis/apps/v1/namespaces/default/deployments/d/scale", `{"spec":{"replicas":4}}`).expect(t, 200, "")
	if got, n := v.last(); n != 1 || !strings.Contains(got, `"kind":{"group":"autoscaling","kind":"Scale","version":"v1"}`) || !strings.Contains(got, `"subResource":"scale"`) {
		t.Errorf("%d reviews: %s", n, got)
	}
	// It sees the scale of the changed object.
	h.send("PUT", "/apis/apps/v1/namespaces/default/deployments/d/scale", "application/json", []byte(`{"metadata":{"name":"d"},"spec":{"replicas":5},"status":{"replicas":9}}`)).expect(t, 200, "")
	got, _ = v.last()
	var review struct {
		Object struct {
			Metadata struct{ UID, ResourceVersion string }
			Spec     struct{ Replicas int }
			Status   struct {
				Replicas int
				Selector string
			}
		}
	}
	if err := json.Unmarshal([]byte(got), &review); err != nil {
		t.Fatal(err)
	}
	if o := review.Object; o.Metadata.UID == "" || o.Metadata.ResourceVersion == "" || o.Spec.Replicas != 5 || o.Status.Replicas != 0 || o.Status.Selector != "a=b" {
		t.Errorf("the reviewed scale is not that of the object: %s", got)
	}
}

// A hostile webhook is refused in bounded time; one that may be ignored is.
func TestHostileValidatingWebhooks(t *testing.T) {
	h := startServer(t, nil)
	for name, c := range map[string]struct {
		do   func(w http.ResponseWriter, r *http.Request)
		want string
	}{
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/else", http.StatusTemporaryRedirect)
		}, "status code 307"},
		"huge": {func(w http.ResponseWriter, _ *http.Request) {
			for part := bytes.Repeat([]byte(" "), 1<<16); ; {
				if _, err := w.Write(part); err != nil {
					return
				}
			}
		}, "more than 3145728 bytes"},
		"dribbles": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil { // as long as its client listens, and less than the bound
				_, _ = io.WriteString(w, " ")
				_ = http.NewResponseController(w).Flush()
				time.Sleep(10 * time.Millisecond)
			}
		}, "context deadline exceeded"},
		"hangs":   {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "context deadline exceeded"},
		"garbage": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{{") }, "json parse error"},
		"fails":   {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "out of order", 500) }, `an error on the server (\"out of order\")`},
		"metadata": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data/", http.StatusFound)
		}, "status code 302"},
		"cut": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "failed to call webhook: Post"},
	} {
		v := newReviewer(t, nil)
		v.do(func(w http.ResponseWriter, r *http.Request) bool { c.do(w, r); return true })
		only := fmt.Sprintf(`,"timeoutSeconds":1,"objectSelector":{"matchLabels":{"case":%q}}`, name)
		h.validateBy(v, name, reviewRule(`"CREATE"`, "", "v1", "configmaps"), only)
		h.run(t, []step{{name, "POST", configMaps, "", `{"metadata":{"name":"x","labels":{"case":"` + name + `"}}}`, 500, c.want}})
		h.mergePatch(validatingPath+"/"+name, fmt.Sprintf(`{"webhooks":[{"name":"%s.example.com","failurePolicy":"Ignore","clientConfig":{"url":"%s/x","caBundle":%q},"sideEffects":"None","admissionReviewVersions":["v1"],"rules":[%s]%s}]}`,
			name, v.URL, v.caBundle(), reviewRule(`"CREATE"`, "", "v1", "configmaps"), only))
		h.run(t, []step{{name + " and is ignored", "POST", configMaps, "", `{"metadata":{"name":"x-` + name + `","labels":{"case":"` + name + `"}}}`, 201, ""}})
	}
	awaitQuiet(t, "internal/admission/webhooks.")
}

// A service that a webhook refuses, whatever the way, keeps neither its address nor its port;
// nor does one whose webhook has another certificate.
func TestRefusedServicesKeepNothing(t *testing.T) {
	h := startServer(t, nil)
	v := newReviewer(t, func(path string, _, response map[string]any) {
		switch path {
		case "/denies":
			response["allowed"] = false
		case "/answers-another":
			response["uid"] = "0"
		}
	})
	const services = "/api/v1/namespaces/default/services"
	body := `{"metadata":{"name":"s"},"spec":{"type":"NodePort","clusterIP":"10.0.0.77","ports":[{"port":80,"nodePort":30777}]}}`
	for name, want := range map[string]string{"denies": "denied the request", "answers-another": "expected response.uid", "is-a-stranger": "certificate signed by unknown authority"} {
		h.validateBy(v, name, reviewRule(`"CREATE"`, "", "v1", "services"), "")
		if name == "is-a-stranger" {
			h.mergePatch(validatingPath+"/"+name, fmt.Sprintf(`{"webhooks":[{"name":"w.example.com","clientConfig":{"url":%q,"caBundle":%q},"sideEffects":"None","admissionReviewVersions":["v1"],"rules":[%s]}]}`,
				v.URL, base64.StdEncoding.EncodeToString(h.server.CA()), reviewRule(`"CREATE"`, "", "v1", "services")))
		}
		if got := h.post(services, body); got.code < 400 || !strings.Contains(string(got.body), want) {
			t.Errorf("%s: %d %s", name, got.code, got.body)
		}
		h.remove(validatingPath+"/"+name, "").expect(t, 200, "")
	}
	h.create(services, body)
}

// The writes of the server's own controllers are reviewed, as those of their accounts.
func TestWebhooksReviewControllers(t *testing.T) {
	h := startServer(t, func(c *server.Config) { c.Controllers = []string{"*"} })
	seen := make(chan string, 10)
	v := newReviewer(t, func(_ string, request, _ map[string]any) {
		if request["name"] == "kube-root-ca.crt" && request["namespace"] == "shop" {
			seen <- fmt.Sprint(request["operation"], request["userInfo"].(map[string]any)["username"])
		}
	})
	h.validateBy(v, "all", reviewRule(`"*"`, "", "v1", "configmaps"), "")
	h.create("/api/v1/namespaces", `{"metadata":{"name":"shop"}}`)
	if got := <-seen; got != "CREATEsystem:serviceaccount:kube-system:root-ca-cert-publisher" {
		t.Errorf("reviewed: %s", got)
	}
	h.awaitText("/api/v1/namespaces/shop/configmaps/kube-root-ca.crt", `"manager":"kube-controller-manager"`)
	h.remove("/api/v1/namespaces/shop", "").expect(t, 200, "")
	if got := <-seen; got != "DELETEsystem:serviceaccount:kube-system:namespace-controller" {
		t.Errorf("reviewed: %s", got)
	}
}

// While a webhook thinks about a write, other writes of the same object go on, and so does
// the end of a namespace.
func TestValidatingWebhookHoldsNoLock(t *testing.T) {
	h := startServer(t, func(c *server.Config) { c.Controllers = []string{"*"} })
	asked, answer := make(chan struct{}, 10), make(chan struct{})
	v := newReviewer(t, func(_ string, request, _ map[string]any) {
		if text, _ := json.Marshal(request); bytes.Contains(text, []byte("slow")) {
			asked <- struct{}{}
			<-answer
		}
	})
	h.create(configMaps, configMap("a", `{}`))
	h.create("/api/v1/namespaces", `{"metadata":{"name":"short"}}`)
	h.create("/api/v1/namespaces", `{"metadata":{"name":"slow"}}`)
	h.validateBy(v, "all", reviewRule(`"*"`, "", "v1", "*"), `,"timeoutSeconds":30`) // a busy machine takes its time
	done := make(chan reply, 2)
	go func() { done <- h.merge(configMaps+"/a", `{"data":{"slow":"1"}}`) }()
	<-asked
	go func() { done <- h.remove("/api/v1/namespaces/slow", "") }()
	<-asked
	h.merge(configMaps+"/a", `{"data":{"quick":"1"}}`).expect(t, 200, "")
	h.create("/api/v1/namespaces/short/configmaps", configMap("b", `{}`))
	h.remove("/api/v1/namespaces/short", "").expect(t, 200, "")
	h.awaitGone("/api/v1/namespaces", "short")
	close(answer)
	for range 2 {
		if got := <-done; got.code != 200 {
			t.Errorf("%d %s", got.code, got.body)
		}
	}
	if got := h.get(configMaps + "/a"); got.field(t, "data.slow") != "1" || got.field(t, "data.quick") != "1" {
		t.Errorf("two writes at once: %s", got.body)
	}
}

// Several webhooks are asked at the same time; the first refusal by name is the answer.
// The metrics have the names of 1.25.
func TestValidatingWebhooksAtOnce(t *testing.T) {
	h := startServer(t, nil)
	var waiting sync.WaitGroup
	waiting.Add(3)
	v := newReviewer(t, func(path string, _, response map[string]any) {
		waiting.Done()
		waiting.Wait() // until all are asked
		if path != "/a" {
			response["allowed"], response["status"] = false, map[string]any{"message": "I am " + path, "code": 418}
		}
	})
	for _, name := range []string{"c", "a", "b"} {
		h.validateBy(v, name, reviewRule(`"CREATE"`, "", "v1", "configmaps"), "")
	}
	h.run(t, []step{{"refused", "POST", configMaps, "", configMap("x", `{"a":"b"}`), 418, `admission webhook \"b.example.com\" denied the request: I am /b`}})
	text := string(h.get("/metrics").body)
	for _, want := range []string{`apiserver_admission_webhook_rejection_count{error_type="no_error",name="b.example.com",operation="CREATE",rejection_code="418",type="validating"} 1`,
		`apiserver_admission_webhook_request_total{code="200",name="a.example.com",operation="CREATE",rejected="false",type="validating"} 1`,
		`apiserver_admission_controller_admission_duration_seconds_count{name="ValidatingAdmissionWebhook",operation="CREATE",rejected="true",type="validate"} 1`,
		`apiserver_admission_controller_admission_duration_seconds_bucket{name="MutatingAdmissionWebhook",operation="CREATE",rejected="false",type="admit",le="2.5"} `,
		`apiserver_admission_step_admission_duration_seconds_count{operation="CREATE",rejected="true",type="validate"} 1`,
		`apiserver_admission_step_admission_duration_seconds_summary_count{operation="CREATE",rejected="true",type="validate"} 1`,
		`apiserver_admission_webhook_admission_duration_seconds_count{name="c.example.com",operation="CREATE",rejected="true",type="validating"} 1`} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
}

// Failed calls are counted with 1.25's codes: that of the webhook's answer, 503 for an
// answer that cannot be used, 400 for none.
func TestCodesOfFailedCalls(t *testing.T) {
	for _, c := range []struct {
		code string
		do   func(v *reviewer)
	}{
		{"418", func(v *reviewer) {
			v.do(func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusTeapot); return true })
		}},
		{"503", func(*reviewer) {}},
		{"400", func(v *reviewer) { v.Close() }},
	} {
		h := startServer(t, nil)
		v := newReviewer(t, func(_ string, _, response map[string]any) { response["uid"] = "of another" })
		h.validateBy(v, "a", reviewRule(`"CREATE"`, "", "v1", "configmaps"), "")
		c.do(v)
		h.send("POST", configMaps, "", []byte(configMap("x", `{}`))).expect(t, http.StatusInternalServerError, "InternalError")
		h.merge(validatingPath+"/a", `{"webhooks":[{"name":"a.example.com","failurePolicy":"Ignore","clientConfig":{"url":"`+v.URL+`"},"sideEffects":"None","admissionReviewVersions":["v1"],"rules":[`+
			reviewRule(`"CREATE"`, "", "v1", "configmaps")+`]}]}`).expect(t, http.StatusOK, "")
		h.create(configMaps, configMap("x", `{}`))
		text := string(h.get("/metrics").body)
		for _, want := range []string{`apiserver_admission_webhook_rejection_count{error_type="calling_webhook_error",name="a.example.com",operation="CREATE",rejection_code="` + c.code + `",type="validating"} 1`,
			`apiserver_admission_webhook_request_total{code="` + c.code + `",name="a.example.com",operation="CREATE",rejected="true",type="validating"} 1`,
			`apiserver_admission_webhook_fail_open_count{name="a.example.com",type="validating"} 1`} {
			if !strings.Contains(text, want) {
				t.Errorf("the metrics lack %s", want)
			}
		}
	}
}
