package admission_test

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
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// A validating webhook reviews the writes that its rules and selectors match, and refuses
// with its words.
func TestValidatingWebhooks(t *testing.T) {
	h := harness.Start(t, nil)
	v := harness.NewReviewer(t, func(path string, request, response map[string]any) {
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
	h.ValidateBy(v, "all", harness.ReviewRule(`"*"`, "", "v1", "configmaps"), `,"objectSelector":{"matchExpressions":[{"key":"skip","operator":"DoesNotExist"}]}`)
	h.Run(t, []harness.Step{
		{"allowed", "POST", harness.ConfigMaps, "", harness.ConfigMap("a", `{"x":"1"}`), 201, ""},
		{"refused", "POST", harness.ConfigMaps, "", harness.ConfigMap("no", `{}`), 403, `"message":"admission webhook \"all.example.com\" denied the request: not this one","reason":"Forbidden","details":{"causes":[{"reason":"Why","message":"so","field":"data"}]},"code":403`},
		{"not stored", "GET", harness.ConfigMaps + "/no", "", "", 404, ""},
		{"without words", "POST", harness.ConfigMaps, "", harness.ConfigMap("bare", `{}`), 403, `denied the request without explanation","reason":"Forbidden","code":403`},
		{"with a code of success", "POST", harness.ConfigMaps, "", harness.ConfigMap("fine", `{}`), 403, `denied the request: as it is","reason":"Forbidden","code":403`},
		{"with a reason only", "POST", harness.ConfigMaps, "", harness.ConfigMap("reason", `{}`), 403, `denied the request: Conflict","reason":"Conflict","code":403`},
		{"another uid", "POST", harness.ConfigMaps, "", harness.ConfigMap("uid", `{}`), 500, `Internal error occurred: failed calling webhook \"all.example.com\": received invalid webhook response: expected response.uid=`},
		{"a patch", "POST", harness.ConfigMaps, "", harness.ConfigMap("patch", `{}`), 500, `validating webhook may not return response.patch`},
		{"its own configuration", "PATCH", harness.ValidatingPath + "/all", harness.MergePatchMedia, `{"metadata":{"labels":{"a":"b"}}}`, 200, ""},
	})
	if got := h.Post(harness.ConfigMaps, harness.ConfigMap("warn", `{}`)).Header.Values("Warning"); fmt.Sprint(got) != `[299 - "be careful"]` {
		t.Errorf("warnings %q", got)
	}
	v.Last()
	for _, c := range []struct{ method, path, media, body, want string }{
		{"PATCH", harness.ConfigMaps + "/a?fieldManager=me&dryRun=All", harness.MergePatchMedia, `{"data":{"x":"2"}}`, `"dryRun":true,"kind":{"group":"","kind":"ConfigMap","version":"v1"},"name":"a","namespace":"default","object":{"apiVersion":"v1","data":{"x":"2"}`},
		{"PATCH", harness.ConfigMaps + "/a?fieldManager=me&dryRun=All", harness.MergePatchMedia, `{"data":{"x":"3"}}`, `"options":{"apiVersion":"meta.k8s.io/v1","dryRun":["All"],"fieldManager":"me","kind":"UpdateOptions"}`},
		{"DELETE", harness.ConfigMaps + "/a?propagationPolicy=Background", "", "", `"object":null,"oldObject":{"apiVersion":"v1","data":{"x":"1"}`},
		{"DELETE", harness.ConfigMaps + "/warn?gracePeriodSeconds=3", "", "", `"operation":"DELETE","options":{"apiVersion":"meta.k8s.io/v1","gracePeriodSeconds":3,"kind":"DeleteOptions"}`},
		{"POST", harness.ConfigMaps, "", `{"metadata":{"generateName":"made-"}}`, `"userInfo":{"groups":["system:masters","system:authenticated"],"uid":"1","username":"admin"}`},
		{"DELETE", harness.ConfigMaps, "", "", `"operation":"DELETE"`},
	} {
		if got := h.Send(c.method, c.path, c.media, []byte(c.body)).Header.Get("Warning"); strings.Contains(got, "be careful") != strings.Contains(c.path, "warn") {
			t.Errorf("%s %s: warning %q", c.method, c.path, got)
		}
		if got, n := v.Last(); n != 1 || !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %d reviews, the last %s\n want %s", c.method, c.path, n, got, c.want)
		}
	}
	h.Create(harness.ConfigMaps, `{"metadata":{"name":"no-skip","labels":{"skip":""}}}`)
	h.Remove(harness.ValidatingPath+"/all", "")
	h.Create(harness.ConfigMaps, harness.ConfigMap("no", `{}`)) // the next write after the change
}

// Reviews of deletes show the options as they were sent, the object in the version of the
// request, and both steps of a pod's delete.
func TestReviewsOfDeletes(t *testing.T) {
	h := harness.Start(t, nil)
	h.Define(`{"type":"object"}`, `},{"name":"v1beta1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}`)
	h.Create(harness.ShopWidgets, harness.Widget("w", ""))
	h.Create(harness.ConfigMaps, harness.ConfigMap("a", `{}`))
	h.Create(harness.PodsPath, `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	v := harness.NewReviewer(t, nil)
	h.ValidateBy(v, "all", harness.ReviewRule(`"DELETE"`, "*", "*", "*"), "")
	for _, c := range []struct {
		path, options, want string
		reviews             int
	}{
		{harness.ConfigMaps + "/a?dryRun=All", `{"orphanDependents":true}`, `"kind":"DeleteOptions","orphanDependents":true}`, 1},
		{harness.ConfigMaps + "/a?orphanDependents=false", "", `"kind":"DeleteOptions","orphanDependents":false}`, 1},
		{harness.PodsPath + "/p?dryRun=All", "", `"gracePeriodSeconds":0`, 1},
		{harness.PodsPath + "/p", "", `"deletionGracePeriodSeconds":0`, 2},
		{strings.Replace(harness.ShopWidgets, "/v1/", "/v1beta1/", 1), "", `"oldObject":{"apiVersion":"shop.example.com/v1beta1"`, 1},
	} {
		h.Remove(c.path, c.options).Expect(t, 200, "")
		if got, n := v.Last(); n != c.reviews || !strings.Contains(got, c.want) {
			t.Errorf("%s: %d reviews, the last %s\n want %d, %s", c.path, n, got, c.reviews, c.want)
		}
	}
}

// A webhook that knows another version gets the object in it.
func TestValidatingWebhookVersions(t *testing.T) {
	h := harness.Start(t, nil)
	v := harness.NewReviewer(t, nil)
	const scalers = "/namespaces/default/horizontalpodautoscalers"
	h.ValidateBy(v, "old", harness.ReviewRule(`"CREATE"`, "autoscaling", "v1", "horizontalpodautoscalers"), "")
	h.Post("/apis/autoscaling/v2"+scalers, harness.AutoscalerV2).Expect(t, 201, "")
	got, _ := v.Last()
	for _, want := range []string{`"kind":{"group":"autoscaling","kind":"HorizontalPodAutoscaler","version":"v1"}`, `"requestKind":{"group":"autoscaling","kind":"HorizontalPodAutoscaler","version":"v2"}`,
		`"object":{"apiVersion":"autoscaling/v1"`, `"targetCPUUtilizationPercentage":`, `"requestResource":{"group":"autoscaling","resource":"horizontalpodautoscalers","version":"v2"}`} {
		if !strings.Contains(got, want) {
			t.Errorf("the review lacks %s: %s", want, got)
		}
	}
	h.MergePatch(harness.ValidatingPath+"/old", `{"webhooks":[{"name":"old.example.com","matchPolicy":"Exact","clientConfig":{"url":"`+v.URL+`/x"},"sideEffects":"None","admissionReviewVersions":["v1"],"rules":[`+harness.ReviewRule(`"CREATE"`, "autoscaling", "v1", "horizontalpodautoscalers")+`]}]}`)
	h.Post("/apis/autoscaling/v2"+scalers, strings.Replace(harness.AutoscalerV2, `"web"`, `"web2"`, 1)).Expect(t, 201, "")
	if got, n := v.Last(); n != 0 {
		t.Errorf("reviewed: %s", got)
	}
	h.ValidateBy(v, "scale", harness.ReviewRule(`"UPDATE"`, "apps", "v1", "deployments/scale"), "")
	h.Create("/apis/apps/v1/namespaces/default/deployments", `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`)
	h.Merge("/apis/apps/v1/namespaces/default/deployments/d/scale", `{"spec":{"replicas":4}}`).Expect(t, 200, "")
	if got, n := v.Last(); n != 1 || !strings.Contains(got, `"kind":{"group":"autoscaling","kind":"Scale","version":"v1"}`) || !strings.Contains(got, `"subResource":"scale"`) {
		t.Errorf("%d reviews: %s", n, got)
	}
	// It sees the scale of the changed object.
	h.Send("PUT", "/apis/apps/v1/namespaces/default/deployments/d/scale", "application/json", []byte(`{"metadata":{"name":"d"},"spec":{"replicas":5},"status":{"replicas":9}}`)).Expect(t, 200, "")
	got, _ = v.Last()
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
	h := harness.Start(t, nil)
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
		v := harness.NewReviewer(t, nil)
		v.Do(func(w http.ResponseWriter, r *http.Request) bool { c.do(w, r); return true })
		only := fmt.Sprintf(`,"timeoutSeconds":1,"objectSelector":{"matchLabels":{"case":%q}}`, name)
		h.ValidateBy(v, name, harness.ReviewRule(`"CREATE"`, "", "v1", "configmaps"), only)
		h.Run(t, []harness.Step{{name, "POST", harness.ConfigMaps, "", `{"metadata":{"name":"x","labels":{"case":"` + name + `"}}}`, 500, c.want}})
		h.MergePatch(harness.ValidatingPath+"/"+name, fmt.Sprintf(`{"webhooks":[{"name":"%s.example.com","failurePolicy":"Ignore","clientConfig":{"url":"%s/x","caBundle":%q},"sideEffects":"None","admissionReviewVersions":["v1"],"rules":[%s]%s}]}`,
			name, v.URL, v.CABundle(), harness.ReviewRule(`"CREATE"`, "", "v1", "configmaps"), only))
		h.Run(t, []harness.Step{{name + " and is ignored", "POST", harness.ConfigMaps, "", `{"metadata":{"name":"x-` + name + `","labels":{"case":"` + name + `"}}}`, 201, ""}})
	}
	harness.AwaitQuiet(t, "internal/admission/webhooks.")
}

// A service that a webhook refuses, whatever the way, keeps neither its address nor its port;
// nor does one whose webhook has another certificate.
func TestRefusedServicesKeepNothing(t *testing.T) {
	h := harness.Start(t, nil)
	v := harness.NewReviewer(t, func(path string, _, response map[string]any) {
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
		h.ValidateBy(v, name, harness.ReviewRule(`"CREATE"`, "", "v1", "services"), "")
		if name == "is-a-stranger" {
			h.MergePatch(harness.ValidatingPath+"/"+name, fmt.Sprintf(`{"webhooks":[{"name":"w.example.com","clientConfig":{"url":%q,"caBundle":%q},"sideEffects":"None","admissionReviewVersions":["v1"],"rules":[%s]}]}`,
				v.URL, base64.StdEncoding.EncodeToString(h.Running.CA()), harness.ReviewRule(`"CREATE"`, "", "v1", "services")))
		}
		if got := h.Post(services, body); got.Code < 400 || !strings.Contains(string(got.Body), want) {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
		h.Remove(harness.ValidatingPath+"/"+name, "").Expect(t, 200, "")
	}
	h.Create(services, body)
}

// The writes of the server's own controllers are reviewed, as those of their accounts.
func TestWebhooksReviewControllers(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.Controllers = []string{"*"} })
	seen := make(chan string, 10)
	v := harness.NewReviewer(t, func(_ string, request, _ map[string]any) {
		if request["name"] == "kube-root-ca.crt" && request["namespace"] == "shop" {
			seen <- fmt.Sprint(request["operation"], request["userInfo"].(map[string]any)["username"])
		}
	})
	h.ValidateBy(v, "all", harness.ReviewRule(`"*"`, "", "v1", "configmaps"), "")
	h.Create("/api/v1/namespaces", `{"metadata":{"name":"shop"}}`)
	if got := <-seen; got != "CREATEsystem:serviceaccount:kube-system:root-ca-cert-publisher" {
		t.Errorf("reviewed: %s", got)
	}
	h.AwaitText("/api/v1/namespaces/shop/configmaps/kube-root-ca.crt", `"manager":"kube-controller-manager"`)
	h.Remove("/api/v1/namespaces/shop", "").Expect(t, 200, "")
	if got := <-seen; got != "DELETEsystem:serviceaccount:kube-system:namespace-controller" {
		t.Errorf("reviewed: %s", got)
	}
}

// While a webhook thinks about a write, other writes of the same object go on, and so does
// the end of a namespace.
func TestValidatingWebhookHoldsNoLock(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.Controllers = []string{"*"} })
	asked, answer := make(chan struct{}, 10), make(chan struct{})
	v := harness.NewReviewer(t, func(_ string, request, _ map[string]any) {
		if text, _ := json.Marshal(request); bytes.Contains(text, []byte("slow")) {
			asked <- struct{}{}
			<-answer
		}
	})
	h.Create(harness.ConfigMaps, harness.ConfigMap("a", `{}`))
	h.Create("/api/v1/namespaces", `{"metadata":{"name":"short"}}`)
	h.Create("/api/v1/namespaces", `{"metadata":{"name":"slow"}}`)
	h.ValidateBy(v, "all", harness.ReviewRule(`"*"`, "", "v1", "*"), `,"timeoutSeconds":30`) // a busy machine takes its time
	done := make(chan harness.Reply, 2)
	go func() { done <- h.Merge(harness.ConfigMaps+"/a", `{"data":{"slow":"1"}}`) }()
	<-asked
	go func() { done <- h.Remove("/api/v1/namespaces/slow", "") }()
	<-asked
	h.Merge(harness.ConfigMaps+"/a", `{"data":{"quick":"1"}}`).Expect(t, 200, "")
	h.Create("/api/v1/namespaces/short/configmaps", harness.ConfigMap("b", `{}`))
	h.Remove("/api/v1/namespaces/short", "").Expect(t, 200, "")
	h.AwaitGone("/api/v1/namespaces", "short")
	close(answer)
	for range 2 {
		if got := <-done; got.Code != 200 {
			t.Errorf("%d %s", got.Code, got.Body)
		}
	}
	if got := h.Get(harness.ConfigMaps + "/a"); got.Field(t, "data.slow") != "1" || got.Field(t, "data.quick") != "1" {
		t.Errorf("two writes at once: %s", got.Body)
	}
}

// Several webhooks are asked at the same time; the first refusal by name is the answer.
// The metrics have the names of 1.25.
func TestValidatingWebhooksAtOnce(t *testing.T) {
	h := harness.Start(t, nil)
	var waiting sync.WaitGroup
	waiting.Add(3)
	v := harness.NewReviewer(t, func(path string, _, response map[string]any) {
		waiting.Done()
		waiting.Wait() // until all are asked
		if path != "/a" {
			response["allowed"], response["status"] = false, map[string]any{"message": "I am " + path, "code": 418}
		}
	})
	for _, name := range []string{"c", "a", "b"} {
		h.ValidateBy(v, name, harness.ReviewRule(`"CREATE"`, "", "v1", "configmaps"), "")
	}
	h.Run(t, []harness.Step{{"refused", "POST", harness.ConfigMaps, "", harness.ConfigMap("x", `{"a":"b"}`), 418, `admission webhook \"b.example.com\" denied the request: I am /b`}})
	text := string(h.Get("/metrics").Body)
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
		do   func(v *harness.Reviewer)
	}{
		{"418", func(v *harness.Reviewer) {
			v.Do(func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusTeapot); return true })
		}},
		{"503", func(*harness.Reviewer) {}},
		{"400", func(v *harness.Reviewer) { v.Close() }},
	} {
		h := harness.Start(t, nil)
		v := harness.NewReviewer(t, func(_ string, _, response map[string]any) { response["uid"] = "of another" })
		h.ValidateBy(v, "a", harness.ReviewRule(`"CREATE"`, "", "v1", "configmaps"), "")
		c.do(v)
		h.Send("POST", harness.ConfigMaps, "", []byte(harness.ConfigMap("x", `{}`))).Expect(t, http.StatusInternalServerError, "InternalError")
		h.Merge(harness.ValidatingPath+"/a", `{"webhooks":[{"name":"a.example.com","failurePolicy":"Ignore","clientConfig":{"url":"`+v.URL+`"},"sideEffects":"None","admissionReviewVersions":["v1"],"rules":[`+
			harness.ReviewRule(`"CREATE"`, "", "v1", "configmaps")+`]}]}`).Expect(t, http.StatusOK, "")
		h.Create(harness.ConfigMaps, harness.ConfigMap("x", `{}`))
		text := string(h.Get("/metrics").Body)
		for _, want := range []string{`apiserver_admission_webhook_rejection_count{error_type="calling_webhook_error",name="a.example.com",operation="CREATE",rejection_code="` + c.code + `",type="validating"} 1`,
			`apiserver_admission_webhook_request_total{code="` + c.code + `",name="a.example.com",operation="CREATE",rejected="true",type="validating"} 1`,
			`apiserver_admission_webhook_fail_open_count{name="a.example.com",type="validating"} 1`} {
			if !strings.Contains(text, want) {
				t.Errorf("the metrics lack %s", want)
			}
		}
	}
}
