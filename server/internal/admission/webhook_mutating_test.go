package admission_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// Mutating webhooks change objects in the order of their names, before they are validated.
func TestMutatingWebhooks(t *testing.T) {
	h := harness.Start(t, nil)
	v := harness.NewMutator(t, func(path string, request map[string]any) string {
		obj, _ := request["object"].(map[string]any)
		data, _ := obj["data"].(map[string]any)
		if path == "/b-second" {
			return `[{"op":"add","path":"/data","value":{"after":` + fmt.Sprintf("%q", fmt.Sprint(data["first"])) + `}}]`
		}
		if text, ok := data["patch"].(string); ok {
			return text
		}
		return `[{"op":"add","path":"/data","value":{"first":"1"}}]`
	})
	only := `,"objectSelector":{"matchLabels":{"case":"order"}}`
	h.MutateBy(v, "b-second", harness.ReviewRule(`"*"`, "", "v1", "configmaps"), only)
	h.MutateBy(v, "a-first", harness.ReviewRule(`"*"`, "", "v1", "configmaps"), "")
	ask := func(name, patch string) string {
		text, _ := json.Marshal(patch)
		return `{"metadata":{"name":"` + name + `"},"data":{"patch":` + string(text) + `}}`
	}
	label := func(n int) string {
		return "[" + strings.Repeat(`{"op":"add","path":"/metadata/labels","value":{"x":"y"}},`, n-1) + `{"op":"remove","path":"/data"}]`
	}
	slow := `[{"op":"replace","path":"/metadata/finalizers","value":[]}` + strings.Repeat(`,{"op":"add","path":"/metadata/finalizers/0","value":1}`, 25_000) + "]"
	double := `[{"op":"add","path":"/data/a","value":"` + strings.Repeat("x", 1<<16) + `"}` + strings.Repeat(`,{"op":"copy","from":"/data","path":"/data/a"}`, 30) + `]`
	h.Run(t, []harness.Step{
		{"in order", "POST", harness.ConfigMaps, "", `{"metadata":{"name":"o","labels":{"case":"order"}}}`, 201, `"data":{"after":"1"}`},
		{"stored", "GET", harness.ConfigMaps + "/o", "", "", 200, `"data":{"after":"1"}`},
		{"nothing of it is owned", "GET", harness.ConfigMaps + "/o", "", "", 200, `"fieldsV1":{"f:metadata":{"f:labels":{".":{},"f:case":{}}}}`},
		{"many operations", "POST", harness.ConfigMaps, "", ask("many", label(10_001)), 201, `"labels":{"x":"y"}`},
		{"an unknown field", "POST", harness.ConfigMaps, "", ask("unknown", `[{"op":"add","path":"/unknown","value":1}]`), 201, `"name":"unknown"`},
		{"its own uid", "POST", harness.ConfigMaps, "", ask("uid", `[{"op":"add","path":"/metadata/uid","value":"mine"}]`), 201, `"uid":"`},
		{"another name", "POST", harness.ConfigMaps, "", ask("was", `[{"op":"replace","path":"/metadata/name","value":"renamed"}]`), 201, `"name":"renamed"`},
		{"another namespace", "POST", harness.ConfigMaps, "", ask("ns", `[{"op":"add","path":"/metadata/namespace","value":"other"}]`), 400, `namespace`},
		{"an invalid object", "POST", harness.ConfigMaps, "", ask("bad", `[{"op":"add","path":"/metadata/labels","value":{"a b":"c"}}]`), 422, `metadata.labels: Invalid value`},
		{"another type", "POST", harness.ConfigMaps, "", ask("type", `[{"op":"add","path":"/data","value":"x"}]`), 500, `InternalError`},
		{"another kind", "POST", harness.ConfigMaps, "", ask("kind", `[{"op":"replace","path":"/kind","value":"Secret"}]`), 500, `the kind of the changed object is \"Secret\"`},
		{"another version", "POST", harness.ConfigMaps, "", ask("v2", `[{"op":"replace","path":"/apiVersion","value":"v2"}]`), 500, `the apiVersion of the changed object is \"v2\"`},
		{"a whole object", "POST", harness.ConfigMaps, "", ask("whole", `[{"op":"replace","path":"","value":{"metadata":{"name":"whole"}}}]`), 201, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"whole","namespace":"default"`},
		{"a resourceVersion", "POST", harness.ConfigMaps, "", ask("rv", `[{"op":"add","path":"/metadata/resourceVersion","value":"5"}]`), 500, `resourceVersion should not be set on objects to be created`},
		{"its creation", "POST", harness.ConfigMaps, "", ask("time", `[{"op":"replace","path":"/metadata/creationTimestamp","value":"2001-01-01T00:00:00Z"}]`), 201, `"creationTimestamp":"20`},
		{"what is not there", "POST", harness.ConfigMaps, "", ask("missing", `[{"op":"remove","path":"/none"}]`), 500, `InternalError`},
		{"no patch", "POST", harness.ConfigMaps, "", ask("none", `{}`), 500, `InternalError`},
		{"slow operations", "POST", harness.ConfigMaps, "", ask("slow", slow), 500, `moves more than`},
		{"doubling", "POST", harness.ConfigMaps, "", ask("double", double), 500, `InternalError`},
		{"a delete cannot be changed", "DELETE", harness.ConfigMaps + "/o", "", "", 500, `attempted to modify the object, which is not supported for this operation`},
	})
	if got := h.Get(harness.ConfigMaps+"/uid").Field(t, "metadata.uid"); got == "mine" {
		t.Error("a webhook chose the uid")
	}
	made := h.Post(harness.ConfigMaps, strings.Replace(ask("", `[{"op":"remove","path":"/data"}]`), `"name":""`, `"generateName":"gen-"`, 1))
	if name := fmt.Sprint(made.Field(t, "metadata.name")); !strings.HasPrefix(name, "gen-") || len(name) < 6 {
		t.Errorf("a generated name: %s", name)
	}
	v.Mu.Lock()
	text, _ := json.Marshal(v.Requests[len(v.Requests)-1]["object"])
	v.Mu.Unlock()
	if strings.Contains(string(text), `"uid"`) || strings.Contains(string(text), `"name"`) {
		t.Errorf("a new object is reviewed with a name or a uid: %s", text)
	}
	h.Run(t, []harness.Step{
		{"a name cannot change", "PATCH", harness.ConfigMaps + "/many", harness.MergePatchMedia, `{"data":{"patch":"[{\"op\":\"replace\",\"path\":\"/metadata/name\",\"value\":\"x\"}]"}}`, 422, `metadata.name: Invalid value: \"x\": field is immutable`},
		{"nor a namespace", "PATCH", harness.ConfigMaps + "/many", harness.MergePatchMedia, `{"data":{"patch":"[{\"op\":\"replace\",\"path\":\"/metadata/namespace\",\"value\":\"kube-system\"}]"}}`, 400, `the namespace of the provided object does not match the namespace sent on the request`},
		{"nor be of another revision", "PATCH", harness.ConfigMaps + "/many", harness.MergePatchMedia, `{"data":{"patch":"[{\"op\":\"replace\",\"path\":\"/metadata/resourceVersion\",\"value\":\"1\"}]"}}`, 409, `the object has been modified`},
		{"nothing is stored", "GET", harness.ConfigMaps + "/many", "", "", 200, `"name":"many","namespace":"default"`},
		{"nor a uid", "PATCH", harness.ConfigMaps + "/many", harness.MergePatchMedia, `{"data":{"patch":"[{\"op\":\"replace\",\"path\":\"/metadata/uid\",\"value\":\"x\"}]"}}`, 422, `metadata.uid`},
	})
}

// A changed object gets defaults, and other versions and scales are changed in theirs.
func TestMutatingWebhookVersions(t *testing.T) {
	h := harness.Start(t, nil)
	v := harness.NewMutator(t, func(path string, request map[string]any) string {
		switch path {
		case "/pods":
			return `[{"op":"add","path":"/spec/containers/-","value":{"name":"side","image":"i"}}]`
		case "/scale":
			return `[{"op":"replace","path":"/spec/replicas","value":9}]`
		}
		return `[{"op":"replace","path":"/spec/maxReplicas","value":77}]`
	})
	h.MutateBy(v, "pods", harness.ReviewRule(`"CREATE"`, "", "v1", "pods"), "")
	h.MutateBy(v, "scale", harness.ReviewRule(`"UPDATE"`, "apps", "v1", "deployments/scale"), "")
	h.MutateBy(v, "hpa", harness.ReviewRule(`"CREATE"`, "autoscaling", "v1", "horizontalpodautoscalers"), "")
	const deployments = "/apis/apps/v1/namespaces/default/deployments"
	h.Run(t, []harness.Step{
		{"a container", "POST", "/api/v1/namespaces/default/pods", "", `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`, 201, `{"name":"side","image":"i","resources":{},"terminationMessagePath":"/dev/termination-log"`},
		{"deployment", "POST", deployments, "", `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`, 201, ""},
		{"a scale", "PATCH", deployments + "/d/scale", harness.MergePatchMedia, `{"spec":{"replicas":2}}`, 200, `"replicas":9`},
		{"of the object", "GET", deployments + "/d", "", "", 200, `"replicas":9`},
		{"which is a change", "GET", deployments + "/d", "", "", 200, `"generation":2,`},
		{"the same scale again", "PATCH", deployments + "/d/scale", harness.MergePatchMedia, `{"spec":{"replicas":3}}`, 200, `"replicas":9`},
		{"which is none", "GET", deployments + "/d", "", "", 200, `"generation":2,`},
		{"another version", "POST", "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers", "", harness.AutoscalerV2, 201, `"maxReplicas":77`},
	})
}

// A webhook that wants to see later changes is called once more, others are not.
func TestMutatingWebhookSeesLaterChanges(t *testing.T) {
	h := harness.Start(t, nil)
	calls := map[string]int{} // under the lock of the reviewer
	v := harness.NewMutator(t, func(path string, request map[string]any) string {
		calls[path]++
		return fmt.Sprintf(`[{"op":"add","path":"/data","value":{"by":%q,"n":"%d"}}]`, path, calls[path])
	})
	h.MutateBy(v, "a", harness.ReviewRule(`"CREATE"`, "", "v1", "configmaps"), `,"reinvocationPolicy":"IfNeeded"`)
	h.MutateBy(v, "b", harness.ReviewRule(`"CREATE"`, "", "v1", "configmaps"), "")
	h.MutateBy(v, "c", harness.ReviewRule(`"CREATE"`, "", "v1", "configmaps"), `,"reinvocationPolicy":"IfNeeded"`)
	h.Run(t, []harness.Step{{"create", "POST", harness.ConfigMaps, "", harness.ConfigMap("x", `{}`), 201, `"data":{"by":"/c","n":"2"}`}})
	if fmt.Sprint(calls) != "map[/a:2 /b:1 /c:2]" {
		t.Errorf("calls %v", calls)
	}
}

// A new custom object has no creationTimestamp, neither before nor after a webhook has
// changed it, and in another version.
func TestMutatingWebhooksSeeNewCustomObjects(t *testing.T) {
	h := harness.Start(t, nil)
	h.Define(harness.WidgetSchema, `},{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":`+harness.WidgetSchema+`}`)
	v := harness.NewMutator(t, func(string, map[string]any) string {
		return `[{"op":"add","path":"/metadata/labels","value":{"a":"b"}}]`
	})
	for _, name := range []string{"first", "second"} {
		h.MutateBy(v, name, harness.ReviewRule(`"CREATE"`, "shop.example.com", "v1", "widgets"), "")
	}
	for i, path := range []string{harness.ShopWidgets, strings.Replace(harness.ShopWidgets, "/v1/", "/v2/", 1)} {
		h.Post(path, strings.Replace(harness.Widget(fmt.Sprintf("w%d", i), `,"spec":{"name":"abc"}`), "/v1", fmt.Sprintf("/v%d", i+1), 1)).Expect(t, 201, "")
		v.Mu.Lock()
		if len(v.Requests) != 2 {
			t.Errorf("%s: %d reviews", path, len(v.Requests))
		}
		for _, request := range v.Requests {
			meta := request["object"].(map[string]any)["metadata"].(map[string]any)
			if value, ok := meta["creationTimestamp"]; ok {
				t.Errorf("%s: created at %v", path, value)
			}
		}
		v.Requests = nil
		v.Mu.Unlock()
	}
}

// Mutating webhooks see objects as they were sent, with defaults: the server sets its own
// fields after them, and validating webhooks see those.
func TestMutatingWebhooksComeBeforeTheServersFields(t *testing.T) {
	h := harness.Start(t, nil)
	v := harness.NewReviewer(t, nil)
	const services, deployments = "/api/v1/namespaces/default/services", "/apis/apps/v1/namespaces/default/deployments"
	all := `{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["configmaps","pods","services","services/status","namespaces","jobs","deployments"]}`
	h.MutateBy(v, "m", all, "")
	h.ValidateBy(v, "v", all, "")
	// seen are the members at paths of the object as the webhooks have seen it, and of the older one.
	seen := func(paths ...string) (got string) {
		t.Helper()
		v.Mu.Lock()
		defer v.Mu.Unlock()
		if len(v.Requests) != 2 {
			t.Fatalf("%d reviews", len(v.Requests))
		}
		for i, request := range v.Requests {
			got += [...]string{"mutating", "; validating"}[i]
			for _, path := range paths {
				var value any = request["object"]
				for _, name := range strings.Split(path, ".") {
					members, _ := value.(map[string]any)
					var ok bool
					if value, ok = members[name]; !ok {
						value = "none"
					}
				}
				switch name := path[strings.LastIndexByte(path, '.')+1:]; {
				case name == "uid" && value != "none" && value != "mine", name == "creationTimestamp" && value != nil && value != "none":
					value = "set"
				case name == "resourceVersion" && value != "none":
					value = "set"
				case name == "clusterIP" && value != "none", name == "selector" && value != "none", name == "name" && strings.HasPrefix(fmt.Sprint(value), "gen-"):
					value = "chosen"
				}
				got += fmt.Sprintf(" %s=%v", path[strings.LastIndexByte(path, '.')+1:], value)
			}
		}
		v.Requests = nil
		return got
	}
	const job = `"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}`
	const template = `"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}`
	for _, c := range []struct {
		name, method, path, media, body string
		code                            int
		paths, want                     string
	}{
		{"create", "POST", harness.ConfigMaps, "", `{"metadata":{"name":"c","uid":"mine","creationTimestamp":"2001-01-01T00:00:00Z","generation":7}}`, 201, "metadata.uid metadata.creationTimestamp metadata.generation",
			"mutating uid=none creationTimestamp=<nil> generation=7; validating uid=set creationTimestamp=set generation=7"},
		{"generated name", "POST", harness.ConfigMaps, "", `{"metadata":{"generateName":"gen-"}}`, 201, "metadata.name", "mutating name=none; validating name=chosen"},
		{"put", "PUT", harness.ConfigMaps + "/c", "", `{"metadata":{"name":"c"}}`, 200, "metadata.uid metadata.creationTimestamp metadata.resourceVersion",
			"mutating uid=none creationTimestamp=<nil> resourceVersion=none; validating uid=set creationTimestamp=set resourceVersion=set"},
		{"put that creates", "PUT", services + "/p", "", `{"metadata":{"name":"p"},"spec":{"ports":[{"port":80}]}}`, 201, "metadata.uid spec.clusterIP", "mutating uid=none clusterIP=none; validating uid=set clusterIP=chosen"},
		{"merge", "PATCH", harness.ConfigMaps + "/c", harness.MergePatchMedia, `{"metadata":{"generation":9}}`, 200, "metadata.uid metadata.generation", "mutating uid=set generation=9; validating uid=set generation=7"},
		{"pod", "POST", "/api/v1/namespaces/default/pods", "", `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]},"status":{"phase":"Failed"}}`, 201, "status.phase status.qosClass",
			"mutating phase=Failed qosClass=none; validating phase=Pending qosClass=BestEffort"},
		{"status", "PATCH", services + "/p/status", harness.MergePatchMedia, `{"metadata":{"labels":{"a":"b"}},"spec":{"sessionAffinity":"ClientIP"}}`, 200, "spec.sessionAffinity", "mutating sessionAffinity=ClientIP; validating sessionAffinity=None"},
		{"namespace", "POST", "/api/v1/namespaces", "", `{"metadata":{"name":"n"}}`, 201, "spec.finalizers status.phase", "mutating finalizers=none phase=Active; validating finalizers=[kubernetes] phase=Active"},
		{"job", "POST", "/apis/batch/v1/namespaces/default/jobs", "", `{"metadata":{"name":"j"},` + job + `}`, 201, "spec.selector", "mutating selector=none; validating selector=chosen"},
		{"deployment", "POST", deployments, "", `{"metadata":{"name":"d"},"spec":{` + template + `},"status":{"replicas":3}}`, 201, "metadata.generation status.replicas", "mutating generation=none replicas=3; validating generation=1 replicas=none"},
		{"its spec", "PATCH", deployments + "/d", harness.MergePatchMedia, `{"spec":{"replicas":2}}`, 200, "metadata.generation", "mutating generation=1; validating generation=2"},
	} {
		if got := h.Send(c.method, c.path, c.media, []byte(c.body)); got.Code != c.code {
			t.Errorf("%s: %d %s", c.name, got.Code, got.Body)
		}
		if got := seen(strings.Fields(c.paths)...); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// A stale update is refused after the mutating webhooks have seen it: their refusal comes
// first, as in 1.25, but that of another object comes before them.
func TestMutatingWebhooksSeeStaleUpdates(t *testing.T) {
	h := harness.Start(t, nil)
	v := harness.NewReviewer(t, func(_ string, request, response map[string]any) {
		if request["operation"] == "UPDATE" {
			response["allowed"], response["status"] = false, map[string]any{"code": 418}
		}
	})
	h.MutateBy(v, "m", harness.ReviewRule(`"*"`, "", "v1", "configmaps"), "")
	h.Run(t, []harness.Step{
		{"create", "POST", harness.ConfigMaps, "", `{"metadata":{"name":"c"}}`, 201, ""},
		{"stale", "PUT", harness.ConfigMaps + "/c", "", `{"metadata":{"name":"c","resourceVersion":"1"}}`, 418, ""},
		{"stale patch", "PATCH", harness.ConfigMaps + "/c", harness.MergePatchMedia, `{"metadata":{"resourceVersion":"1"}}`, 418, ""},
		{"another", "PUT", harness.ConfigMaps + "/c", "", `{"metadata":{"name":"c","uid":"1"}}`, 409, "Precondition failed: UID in precondition"},
	})
}

// Scales are reviewed as such however they are written: the mutating webhook sees the one
// that was sent, with the owners of its fields, the validating one that of the changed
// object.
func TestReviewsOfScales(t *testing.T) {
	h := harness.Start(t, nil)
	v := harness.NewReviewer(t, nil)
	const path = "/apis/apps/v1/namespaces/default/deployments"
	const head = `{"apiVersion":"autoscaling/v1","kind":"Scale",`
	h.Create(path, deployment)
	h.MutateBy(v, "m", harness.ReviewRule(`"UPDATE"`, "apps", "v1", "deployments/scale"), "")
	h.ValidateBy(v, "v", harness.ReviewRule(`"UPDATE"`, "apps", "v1", "deployments/scale"), "")
	for _, c := range []struct {
		name, method, query, media, body string
		code                             int
		replicas, owner                  string // of the new scale
	}{
		{"put", "PUT", "fieldManager=p", "", `{"metadata":{"name":"d","labels":{"a":"b"}},"spec":{"replicas":3},"status":{"replicas":9}}`, 200, "3", "p Update map[f:metadata:map[f:labels:map[.:map[] f:a:map[]]] f:spec:map[f:replicas:map[]] f:status:map[f:replicas:map[]]]"},
		{"merge", "PATCH", "fieldManager=m", harness.MergePatchMedia, `{"spec":{"replicas":4}}`, 200, "4", "m Update map[f:spec:map[f:replicas:map[]]]"},
		{"no change", "PATCH", "fieldManager=m", harness.MergePatchMedia, `{}`, 200, "4", "m Update map[f:spec:map[f:replicas:map[]]]"},
		{"apply against an owner", "PATCH", "fieldManager=x", harness.ApplyMedia, head + `"spec":{"replicas":5}}`, 409, "", `conflict with \"m\" with subresource \"scale\" using autoscaling/v1: .spec.replicas`},
		{"apply", "PATCH", "fieldManager=x&force=true", harness.ApplyMedia, head + `"metadata":{"labels":{"a":"b"}},"spec":{"replicas":5}}`, 200, "5", "x Apply map[f:metadata:map[f:labels:map[f:a:map[]]] f:spec:map[f:replicas:map[]]]"},
		{"apply of another object", "PATCH", "fieldManager=x", harness.ApplyMedia, head + `"metadata":{"uid":"1"}}`, 409, "<nil>", `deployments/scale.apps \"d\": Precondition failed: UID in precondition: 1`},
		{"a wrong one", "PATCH", "fieldManager=x", harness.ApplyMedia, head + `"spec":{"replicas":-1}}`, 422, "-1", `Scale.autoscaling \"d\" is invalid`},
		{"apply of nothing", "PATCH", "fieldManager=x", harness.ApplyMedia, head + `"metadata":{"name":"d"}}`, 200, "<nil>", ""},
		{"stale", "PUT", "", "", `{"metadata":{"name":"d","resourceVersion":"1"},"spec":{"replicas":6}}`, 409, "6", ""},
	} {
		v.Last()
		got := h.Send(c.method, path+"/d/scale?"+c.query, c.media, []byte(c.body))
		v.Mu.Lock()
		all := v.Requests
		v.Mu.Unlock()
		if got.Code != c.code || len(all) != 2 && c.code == 200 || len(all) > 1 && c.code != 200 {
			t.Errorf("%s: %d reviews, %d %s", c.name, len(all), got.Code, got.Body)
			continue
		}
		if c.code != 200 && !strings.Contains(string(got.Body), c.owner) {
			t.Errorf("%s: %s", c.name, got.Body)
		}
		for i, request := range all {
			obj, old := request["object"].(map[string]any), request["oldObject"].(map[string]any)
			if kind := fmt.Sprint(request["kind"], request["subResource"], obj["kind"], old["kind"]); kind != "map[group:autoscaling kind:Scale version:v1]scaleScaleScale" {
				t.Errorf("%s: the review is of a %s", c.name, kind)
			}
			if got := fmt.Sprint(obj["spec"].(map[string]any)["replicas"]); got != c.replicas {
				t.Errorf("%s: %s replicas", c.name, got)
			}
			owner := ownerOf(obj)
			if i == 1 && (owner != "" || ownerOf(old) != "" || obj["status"].(map[string]any)["selector"] != "a=b") || i == 0 && c.code == 200 && owner != c.owner {
				t.Errorf("%s: review %d: owned by %q of %q: %v", c.name, i, owner, ownerOf(old), obj)
			}
		}
	}
}

// ownerOf is the first manager of an object's fields.
func ownerOf(obj map[string]any) string {
	list, _ := obj["metadata"].(map[string]any)["managedFields"].([]any)
	if list == nil {
		return ""
	}
	e := list[0].(map[string]any)
	return fmt.Sprint(e["manager"], " ", e["operation"], " ", e["fieldsV1"])
}
