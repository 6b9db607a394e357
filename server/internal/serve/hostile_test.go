package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

const (
	hostileSize = 3<<20 - 1<<10 // just below the limit of a body

)

// fill repeats text up to the size of the largest body, between begin and end.
func fill(begin, text, end string) string {
	return begin + strings.Repeat(text, (hostileSize-len(begin)-len(end))/len(text)) + end
}

// writes sends a body to every endpoint that reads one.
func writes(name, contentType, body string, code int) []harness.Hostile {
	object := harness.ConfigMaps + "/there"
	requests := []harness.Hostile{
		{name + "/create", "POST", harness.ConfigMaps, contentType, body, code},
		{name + "/update", "PUT", object, contentType, body, code},
		{name + "/token", "POST", "/api/v1/namespaces/default/serviceaccounts/there/token", contentType, body, 0},
		{name + "/delete options", "DELETE", harness.ConfigMaps + "/nosuch", contentType, body, 0},
	}
	switch contentType {
	case "application/json":
		requests = append(requests,
			harness.Hostile{name + "/merge patch", "PATCH", object, harness.MergePatchMedia, body, code},
			harness.Hostile{name + "/strategic merge patch", "PATCH", object, harness.StrategicMedia, body, code},
			harness.Hostile{name + "/JSON patch", "PATCH", object, harness.JSONPatchMedia, body, 0},
			harness.Hostile{name + "/apply", "PATCH", object + "?fieldManager=x", harness.ApplyMedia, body, 400},
			harness.Hostile{name + "/scale", "PUT", "/apis/apps/v1/namespaces/default/deployments/there/scale", contentType, body, 0})
	case "application/yaml":
		requests = append(requests, harness.Hostile{name + "/apply", "PATCH", object + "?fieldManager=x", harness.ApplyMedia, body, code})
	}
	return requests
}

func TestHostileBodies(t *testing.T) {
	h := harness.Start(t, harness.EvaluatedOnce)
	h.Post(harness.ConfigMaps, harness.ConfigMap("there", `{"a":"1"}`)).Expect(t, 201, "")
	var requests []harness.Hostile
	laughs := "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < 12; i++ {
		laughs += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9), ","))
	}
	for name, body := range map[string]string{
		"billion laughs": laughs,
		"long alias":     "a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a,", 1<<18) + "*a]\n",
		"merge keys":     "a: &a {b: " + strings.Repeat("x", 1<<20) + "}\nc:\n" + strings.Repeat("- {<<: *a}\n", 1<<12),
		"YAML brackets":  fill("", "[", ""),
		"YAML questions": fill("", "? ", ""),
		"YAML dashes":    fill("", "- ", ""),
		"YAML anchors":   fill("[", "&a ", "]"),
		"YAML mappings":  fill("metadata:\n", "- a:\n", ""),
		"YAML tags":      fill("metadata:\n", "- !!str\n", ""),
		"YAML keys":      fill("kind: Wrong\n", "a:\n", ""),
		"YAML odd keys":  fill("kind: Wrong\n", "? [a]\n", ""),
		"YAML bare keys": fill("{kind: Wrong, ", "n,", "}"),
	} {
		requests = append(requests, writes(name, "application/yaml", body, 400)...)
	}
	deep := strings.Repeat(`{"a":`, 20000) + "1" + strings.Repeat("}", 20000)
	for name, body := range map[string]string{
		"brackets":        fill("", "[", ""),
		"closed brackets": strings.Repeat("[", hostileSize/2) + strings.Repeat("]", hostileSize/2),
		"braces":          fill("", `{"a":`, ""),
		"deep objects":    deep,
		"deep metadata":   `{"metadata":{"annotations":` + deep + `}}`,
		"deep owned":      `{"metadata":{"name":"there","managedFields":[{"manager":"x","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":` + deep + `}]}}`,
		"quotes":          fill("", `"`, ""),
		"backslashes":     fill(`{"data":{"a":"`, `\`, `"}}`),
		"empty lists":     fill(`{"metadata":[`, "[],", "[]]}"),
	} {
		requests = append(requests, writes(name, "application/json", body, 400)...)
	}
	for name, body := range map[string]string{
		"no message":     "k8s\x00",
		"long length":    "k8s\x00\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
		"deep messages":  "k8s\x00\x0a\x0f\x0a\x02v1\x12\x09ConfigMap" + fill("\x12\xff\xff\xbf\x01", "\x0a\xff\x7f", ""),
		"unended number": fill("k8s\x00\x12", "\xff", ""),
	} {
		requests = append(requests, writes(name, harness.BinaryMedia, body, 400)...)
	}
	h.Refuse(t, requests)
}

// TestHostileUnknownFields: every unknown field is reported, up to a bound.
func TestHostileUnknownFields(t *testing.T) {
	h := harness.Start(t, harness.EvaluatedOnce)
	var members strings.Builder
	for i := range 150_000 {
		fmt.Fprintf(&members, `"unknown%d":1,`, i)
	}
	body := `{"metadata":{"name":"x"},` + strings.TrimSuffix(members.String(), ",") + "}"
	twice := `{"metadata":{"name":"x"},"data":{` + strings.Repeat(`"a":"b",`, 100_000) + `"a":"c"}}`
	h.Refuse(t, []harness.Hostile{
		{"unknown", "POST", harness.ConfigMaps + "?fieldValidation=Strict", "application/json", body, 400},
		{"twice", "POST", harness.ConfigMaps + "?fieldValidation=Strict", "application/json", twice, 400},
		{"dry run", "POST", harness.ConfigMaps + "?fieldValidation=Strict&dryRun=All", "application/json", body, 400},
	})
	warned := h.Send("POST", harness.ConfigMaps+"?fieldValidation=Warn&dryRun=All", "application/json", []byte(body))
	warned.Expect(t, 201, "")
	size := 0
	for _, w := range warned.Header.Values("Warning") {
		size += len(w)
	}
	if size == 0 || size > 64<<10 {
		t.Errorf("%d bytes of warnings", size)
	}
}

func TestHostilePatches(t *testing.T) {
	h := harness.Start(t, harness.EvaluatedOnce)
	var members, removals []string
	for i := range 10_001 {
		members = append(members, fmt.Sprintf(`"k%d":"v"`, i))
		removals = append(removals, fmt.Sprintf(`{"op":"remove","path":"/data/k%d"}`, i))
	}
	h.Post(harness.ConfigMaps, harness.ConfigMap("there", "{"+strings.Join(members, ",")+"}")).Expect(t, 201, "")
	object := harness.ConfigMaps + "/there"
	list := func(n int, operations ...string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(strings.Join(operations, ",")+",", n), ",") + "]"
	}
	test := `{"op":"test","path":"/data/k1","value":"v"}`
	h.Refuse(t, []harness.Hostile{
		{"too many operations", "PATCH", object, harness.JSONPatchMedia, list(10_001, test), 413},
		{"too many removals", "PATCH", object, harness.JSONPatchMedia, "[" + strings.Join(removals, ",") + "]", 413},
		{"as many as are allowed, in vain", "PATCH", object, harness.JSONPatchMedia, "[" + strings.Join(removals[:9999], ",") + `,{"op":"test","path":"/data/k1","value":"gone"}]`, 422},
		{"doubling by copies", "PATCH", object, harness.JSONPatchMedia, list(40, `{"op":"copy","from":"/data","path":"/data/a"}`, `{"op":"copy","from":"/data","path":"/data/b"}`), 422},
		{"moves in themselves", "PATCH", object, harness.JSONPatchMedia, list(5000, `{"op":"move","from":"/data","path":"/data/a"}`), 422},
		{"deep pointer", "PATCH", object, harness.JSONPatchMedia, fill(`[{"op":"add","value":1,"path":"`, "/a", `"}]`), 0},
		{"deep pointers", "PATCH", object, harness.JSONPatchMedia, list(9_000, `{"op":"remove","path":"`+strings.Repeat("/a", 120)+`"}`), 422},
		{"pointer of escapes", "PATCH", object, harness.JSONPatchMedia, fill(`[{"op":"remove","path":"/`, "~1", `"}]`), 422},
		{"large test", "PATCH", object, harness.JSONPatchMedia, `[{"op":"test","path":"/data","value":{` + strings.Join(members[1:], ",") + `}}]`, 422},
		{"wide array", "PATCH", object, harness.JSONPatchMedia, `[{"op":"add","path":"/x","value":` + strings.TrimSuffix(fill("[", "0,", ""), ",") + `]}]`, 0},
		{"repeated elements", "PATCH", object, harness.StrategicMedia, fill(`{"metadata":{"ownerReferences":[`, `{"uid":"a"},`, `{"uid":"a"}]}}`), 0},
		{"order without keys", "PATCH", object, harness.StrategicMedia, fill(`{"metadata":{"ownerReferences":[{"uid":"b"}],"$setElementOrder/ownerReferences":[`, `{"uid":"a"},`, `{}]}}`), 400},
		{"unknown directive", "PATCH", object, harness.StrategicMedia, `{"data":{"$patch":"explode"}}`, 400},
		{"apply of nothing but fields", "PATCH", object + "?fieldManager=x&force=true", harness.ApplyMedia, fill(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"there"},"x":[`, "{},", "{}]}"), 400},
		{"apply of a large version", "PATCH", object + "?fieldManager=x", harness.ApplyMedia, `{"kind":"ConfigMap","apiVersion":"` + strings.Repeat("v", 1<<20) + `"}`, 400},
	})
}

func TestHostileQueries(t *testing.T) {
	h := harness.Start(t, harness.EvaluatedOnce)
	h.Post(harness.ConfigMaps, harness.ConfigMap("there", `{"a":"1"}`)).Expect(t, 201, "")
	var requests []harness.Hostile
	for name, query := range map[string]string{
		"set":             "labelSelector=a%20in%20(" + strings.Repeat("b,", 450<<10) + "b)",
		"requirements":    "labelSelector=" + strings.Repeat("a,", 450<<10) + "a",
		"parentheses":     "labelSelector=" + strings.Repeat("(", 900<<10),
		"bangs":           "labelSelector=" + strings.Repeat("!", 900<<10),
		"field selector":  "fieldSelector=" + strings.Repeat("metadata.name=a,", 55<<10),
		"escapes":         "fieldSelector=metadata.name=" + strings.Repeat("%5C", 300<<10),
		"continue":        "limit=1&continue=" + strings.Repeat("A", 900<<10),
		"resourceVersion": "resourceVersion=" + strings.Repeat("9", 900<<10),
		"limit":           "limit=" + strings.Repeat("9", 900<<10),
		"more than fits":  "labelSelector=" + strings.Repeat("a", 2<<20),
	} {
		requests = append(requests,
			harness.Hostile{name + "/list", "GET", harness.ConfigMaps + "?" + query, "", "", 0},
			harness.Hostile{name + "/delete all", "DELETE", harness.ConfigMaps + "?" + query, "", "", 0})
		if name != "continue" { // a watch has no pages
			requests = append(requests, harness.Hostile{name + "/watch", "GET", harness.ConfigMaps + "?watch=true&" + query, "", "", 0})
		}
	}
	for name, query := range map[string]string{
		"manager":        "fieldManager=" + strings.Repeat("x", 900<<10),
		"validation":     "fieldValidation=" + strings.Repeat("x", 900<<10),
		"dry run":        "dryRun=" + strings.Repeat("x", 900<<10),
		"dry runs":       strings.Repeat("dryRun=x&", 90<<10),
		"not printable":  "fieldManager=%00",
		"propagation":    "propagationPolicy=" + strings.Repeat("x", 900<<10),
		"grace period":   "gracePeriodSeconds=99999999999999999999",
		"many questions": "dryRun=All&" + strings.Repeat("a&", 400<<10),
	} {
		method, path, body := "POST", harness.ConfigMaps, harness.ConfigMap("new", "{}")
		if name == "propagation" || name == "grace period" {
			method, path, body = "DELETE", harness.ConfigMaps+"/there", ""
		}
		requests = append(requests, harness.Hostile{name, method, path + "?" + query, "application/json", body, 0})
	}
	h.Refuse(t, requests)
}

// TestHostilePaths puts impossible names into every segment of a path.
func TestHostilePaths(t *testing.T) {
	h := harness.Start(t, harness.EvaluatedOnce)
	h.Post(harness.ConfigMaps, harness.ConfigMap("there", `{"a":"1"}`)).Expect(t, 201, "")
	segments := map[string]string{
		"dots": "..", "dot": ".", "escaped dots": "%2e%2e", "half escaped dots": ".%2E", "slash": "%2f", "climb": "..%2f..", "slash inside": "a%2Fb",
		"NUL": "%00", "NUL inside": "there%00", "line break": "there%0d%0aX: y", "percent": "%25", "escaped twice": "%252e%252e%252f", "long way to a slash": "%c0%af",
		"not UTF-8": "%ff", "delete character": "%7f", "backslash": "..%5c", "a megabyte": strings.Repeat("a", 900<<10), "colon": "there:x", "question": "%3f", "nothing": "",
		"blank": "%20", "wide slash": "%ef%bc%8f",
	}
	odd := map[string]bool{"backslash": true, "wide slash": true, "question": true, "colon": true, "blank": true, "a megabyte": true}
	paths := []string{
		"/@/v1/namespaces/default/configmaps/there", "/api/@/namespaces/default/configmaps/there", "/api/v1/@/default/configmaps/there",
		"/api/v1/namespaces/@/configmaps/there", "/api/v1/namespaces/default/@/there", "/api/v1/namespaces/default/configmaps/@",
		"/api/v1/namespaces/default/configmaps/there/@", "/api/v1/namespaces/default/pods/@/status", "/api/v1/namespaces/default/pods/there/@",
		"/apis/@/v1/namespaces/default/deployments/there", "/apis/apps/@/namespaces/default/deployments/there",
		"/apis/apps/v1/namespaces/default/deployments/@/scale", "/apis/apps/v1/namespaces/default/deployments/there/@",
		"/api/v1/watch/namespaces/@/configmaps", "/api/v1/watch/namespaces/default/configmaps/@", "/api/v1/namespaces/@/status", "/api/v1/nodes/@/status",
		"/openapi/v3/apis/@/v1", "/readyz/@", "/@",
	}
	var requests []harness.Hostile
	for name, segment := range segments {
		for _, path := range paths {
			for _, method := range []string{"GET", "PUT", "DELETE", "PATCH"} {
				// An empty last segment is the path above it, and odd names may be
				// watched, though no object has them.
				reads := method == "GET" || method == "DELETE"
				if name == "nothing" && (reads || strings.HasSuffix(path, "/@")) || odd[name] && method == "GET" && strings.Contains(path, "/watch/") {
					continue
				}
				contentType, body := "application/json", harness.ConfigMap("there", `{"a":"2"}`)
				if method == "PATCH" {
					contentType = harness.MergePatchMedia
				}
				requests = append(requests, harness.Hostile{name + " in " + method + " " + path, method, strings.ReplaceAll(path, "@", segment), contentType, body, 0})
			}
		}
	}
	h.Refuse(t, requests)
}

// TestHostileNames creates objects whose names are paths.
func TestHostileNames(t *testing.T) {
	h := harness.Start(t, harness.EvaluatedOnce)
	var requests []harness.Hostile
	for _, name := range []string{"..", ".", "../x", "a/b", "a%2fb", "a\x00b", "a\nb", "a\x7fb", strings.Repeat("a", 1<<20), "ａ", "\u202e"} {
		quoted, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{harness.ConfigMaps, "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", "/api/v1/namespaces"} {
			if strings.HasSuffix(path, "roles") && !strings.ContainsAny(name, "./%\x00\n\x7f") {
				continue // a role's name may be any path segment
			}
			requests = append(requests, harness.Hostile{fmt.Sprintf("%.20q in %s", name, path), "POST", path, "application/json", `{"metadata":{"name":` + string(quoted) + `}}`, 422})
		}
		requests = append(requests,
			harness.Hostile{fmt.Sprintf("namespace %.20q", name), "POST", "/api/v1/configmaps", "application/json", `{"metadata":{"name":"x","namespace":` + string(quoted) + `}}`, 0},
			harness.Hostile{fmt.Sprintf("generated %.20q", name), "POST", harness.ConfigMaps, "application/json", `{"metadata":{"generateName":` + string(quoted) + `}}`, 0})
	}
	h.Refuse(t, requests)
}

// TestHostileStream sends a body without end.
func TestHostileStream(t *testing.T) {
	h := harness.Start(t, harness.EvaluatedOnce)
	body := &endless{}
	req, err := http.NewRequest("POST", h.Running.URL()+harness.ConfigMaps, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+harness.AdminToken)
	req.Header.Set("Content-Type", "application/json")
	resp, err := h.HTTP.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("answered %d, want 413", resp.StatusCode)
	}
}
