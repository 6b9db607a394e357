package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
)

// Bounds of the cost of one hostile request. The client runs in the same process, so the
// figures include its cost of sending 3 MiB.
const (
	hostileTime  = 10 * time.Second // generous: other tests run at the same time
	hostileBytes = 512 << 20        // all allocations, not the memory in use
	// The mistake may be in the message, in a cause and in the details.
	hostileAnswer = 160 << 10
)

// measures skips a test of the time and memory of requests under the race detector, which
// multiplies both.
func measures(t *testing.T) {
	t.Helper()
	if server.RaceEnabled {
		t.Skip("the race detector multiplies the costs that this test measures")
	}
}

// slowed is a time that suffices under the race detector too.
func slowed(d time.Duration) time.Duration {
	if server.RaceEnabled {
		return 5 * d
	}
	return d
}

// hostile is a request that must be refused.
type hostile struct {
	name, method, path, contentType, body string
	code                                  int // 0: any from 400 to 499
}

// refuse sends requests and checks that each is refused soon, with little memory, and
// that all of them together wrote nothing.
func (h *harness) refuse(t *testing.T, requests []hostile) {
	t.Helper()
	measures(t)
	before := h.get("/api/v1/configmaps").field(t, "metadata.resourceVersion")
	for _, r := range requests {
		t.Run(r.name, func(t *testing.T) {
			var start, end runtime.MemStats
			runtime.ReadMemStats(&start)
			begun := time.Now()
			answer := h.send(r.method, r.path, r.contentType, []byte(r.body))
			took := time.Since(begun)
			runtime.ReadMemStats(&end)
			if r.code == 0 && (answer.code < 400 || answer.code > 499) || r.code != 0 && answer.code != r.code {
				t.Errorf("answered %d, want %d: %.300s", answer.code, r.code, answer.body)
			}
			if len(answer.body) > hostileAnswer {
				t.Errorf("the answer has %d bytes", len(answer.body))
			}
			if used := end.TotalAlloc - start.TotalAlloc; took > hostileTime || used > hostileBytes {
				t.Errorf("took %s and %d MiB, at most %s and %d MiB are allowed", took, used>>20, hostileTime, hostileBytes>>20)
			}
			if testing.Verbose() {
				t.Logf("%d in %s with %d MiB", answer.code, took.Round(time.Microsecond), (end.TotalAlloc-start.TotalAlloc)>>20)
			}
		})
	}
	if after := h.get("/api/v1/configmaps").field(t, "metadata.resourceVersion"); after != before {
		t.Errorf("the revision moved from %v to %v: something was written", before, after)
	}
}

const (
	hostileSize = 3<<20 - 1<<10 // just below the limit of a body
	jsonPatch   = "application/json-patch+json"
	mergePatch  = "application/merge-patch+json"
	strategic   = "application/strategic-merge-patch+json"
	applyPatch  = "application/apply-patch+yaml"
	binaryForm  = "application/vnd.kubernetes.protobuf"
)

// fill repeats text up to the size of the largest body, between begin and end.
func fill(begin, text, end string) string {
	return begin + strings.Repeat(text, (hostileSize-len(begin)-len(end))/len(text)) + end
}

// writes sends a body to every endpoint that reads one.
func writes(name, contentType, body string, code int) []hostile {
	object := configMaps + "/there"
	requests := []hostile{
		{name + "/create", "POST", configMaps, contentType, body, code},
		{name + "/update", "PUT", object, contentType, body, code},
		{name + "/token", "POST", "/api/v1/namespaces/default/serviceaccounts/there/token", contentType, body, 0},
		{name + "/delete options", "DELETE", configMaps + "/nosuch", contentType, body, 0},
	}
	switch contentType {
	case "application/json":
		requests = append(requests,
			hostile{name + "/merge patch", "PATCH", object, mergePatch, body, code},
			hostile{name + "/strategic merge patch", "PATCH", object, strategic, body, code},
			hostile{name + "/JSON patch", "PATCH", object, jsonPatch, body, 0},
			hostile{name + "/apply", "PATCH", object + "?fieldManager=x", applyPatch, body, 400},
			hostile{name + "/scale", "PUT", "/apis/apps/v1/namespaces/default/deployments/there/scale", contentType, body, 0})
	case "application/yaml":
		requests = append(requests, hostile{name + "/apply", "PATCH", object + "?fieldManager=x", applyPatch, body, code})
	}
	return requests
}

func TestHostileBodies(t *testing.T) {
	h := startServer(t, evaluatedOnce)
	h.post(configMaps, configMap("there", `{"a":"1"}`)).expect(t, 201, "")
	var requests []hostile
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
		requests = append(requests, writes(name, binaryForm, body, 400)...)
	}
	h.refuse(t, requests)
}

// TestHostileUnknownFields: every unknown field is reported, up to a bound.
func TestHostileUnknownFields(t *testing.T) {
	h := startServer(t, evaluatedOnce)
	var members strings.Builder
	for i := range 150_000 {
		fmt.Fprintf(&members, `"unknown%d":1,`, i)
	}
	body := `{"metadata":{"name":"x"},` + strings.TrimSuffix(members.String(), ",") + "}"
	twice := `{"metadata":{"name":"x"},"data":{` + strings.Repeat(`"a":"b",`, 100_000) + `"a":"c"}}`
	h.refuse(t, []hostile{
		{"unknown", "POST", configMaps + "?fieldValidation=Strict", "application/json", body, 400},
		{"twice", "POST", configMaps + "?fieldValidation=Strict", "application/json", twice, 400},
		{"dry run", "POST", configMaps + "?fieldValidation=Strict&dryRun=All", "application/json", body, 400},
	})
	warned := h.send("POST", configMaps+"?fieldValidation=Warn&dryRun=All", "application/json", []byte(body))
	warned.expect(t, 201, "")
	size := 0
	for _, w := range warned.header.Values("Warning") {
		size += len(w)
	}
	if size == 0 || size > 64<<10 {
		t.Errorf("%d bytes of warnings", size)
	}
}

func TestHostilePatches(t *testing.T) {
	h := startServer(t, evaluatedOnce)
	var members, removals []string
	for i := range 10_001 {
		members = append(members, fmt.Sprintf(`"k%d":"v"`, i))
		removals = append(removals, fmt.Sprintf(`{"op":"remove","path":"/data/k%d"}`, i))
	}
	h.post(configMaps, configMap("there", "{"+strings.Join(members, ",")+"}")).expect(t, 201, "")
	object := configMaps + "/there"
	list := func(n int, operations ...string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(strings.Join(operations, ",")+",", n), ",") + "]"
	}
	test := `{"op":"test","path":"/data/k1","value":"v"}`
	h.refuse(t, []hostile{
		{"too many operations", "PATCH", object, jsonPatch, list(10_001, test), 413},
		{"too many removals", "PATCH", object, jsonPatch, "[" + strings.Join(removals, ",") + "]", 413},
		{"as many as are allowed, in vain", "PATCH", object, jsonPatch, "[" + strings.Join(removals[:9999], ",") + `,{"op":"test","path":"/data/k1","value":"gone"}]`, 422},
		{"doubling by copies", "PATCH", object, jsonPatch, list(40, `{"op":"copy","from":"/data","path":"/data/a"}`, `{"op":"copy","from":"/data","path":"/data/b"}`), 422},
		{"moves in themselves", "PATCH", object, jsonPatch, list(5000, `{"op":"move","from":"/data","path":"/data/a"}`), 422},
		{"deep pointer", "PATCH", object, jsonPatch, fill(`[{"op":"add","value":1,"path":"`, "/a", `"}]`), 0},
		{"deep pointers", "PATCH", object, jsonPatch, list(9_000, `{"op":"remove","path":"`+strings.Repeat("/a", 120)+`"}`), 422},
		{"pointer of escapes", "PATCH", object, jsonPatch, fill(`[{"op":"remove","path":"/`, "~1", `"}]`), 422},
		{"large test", "PATCH", object, jsonPatch, `[{"op":"test","path":"/data","value":{` + strings.Join(members[1:], ",") + `}}]`, 422},
		{"wide array", "PATCH", object, jsonPatch, `[{"op":"add","path":"/x","value":` + strings.TrimSuffix(fill("[", "0,", ""), ",") + `]}]`, 0},
		{"repeated elements", "PATCH", object, strategic, fill(`{"metadata":{"ownerReferences":[`, `{"uid":"a"},`, `{"uid":"a"}]}}`), 0},
		{"order without keys", "PATCH", object, strategic, fill(`{"metadata":{"ownerReferences":[{"uid":"b"}],"$setElementOrder/ownerReferences":[`, `{"uid":"a"},`, `{}]}}`), 400},
		{"unknown directive", "PATCH", object, strategic, `{"data":{"$patch":"explode"}}`, 400},
		{"apply of nothing but fields", "PATCH", object + "?fieldManager=x&force=true", applyPatch, fill(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"there"},"x":[`, "{},", "{}]}"), 400},
		{"apply of a large version", "PATCH", object + "?fieldManager=x", applyPatch, `{"kind":"ConfigMap","apiVersion":"` + strings.Repeat("v", 1<<20) + `"}`, 400},
	})
}

func TestHostileQueries(t *testing.T) {
	h := startServer(t, evaluatedOnce)
	h.post(configMaps, configMap("there", `{"a":"1"}`)).expect(t, 201, "")
	var requests []hostile
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
			hostile{name + "/list", "GET", configMaps + "?" + query, "", "", 0},
			hostile{name + "/delete all", "DELETE", configMaps + "?" + query, "", "", 0})
		if name != "continue" { // a watch has no pages
			requests = append(requests, hostile{name + "/watch", "GET", configMaps + "?watch=true&" + query, "", "", 0})
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
		method, path, body := "POST", configMaps, configMap("new", "{}")
		if name == "propagation" || name == "grace period" {
			method, path, body = "DELETE", configMaps+"/there", ""
		}
		requests = append(requests, hostile{name, method, path + "?" + query, "application/json", body, 0})
	}
	h.refuse(t, requests)
}

// TestHostilePaths puts impossible names into every segment of a path.
func TestHostilePaths(t *testing.T) {
	h := startServer(t, evaluatedOnce)
	h.post(configMaps, configMap("there", `{"a":"1"}`)).expect(t, 201, "")
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
	var requests []hostile
	for name, segment := range segments {
		for _, path := range paths {
			for _, method := range []string{"GET", "PUT", "DELETE", "PATCH"} {
				// An empty last segment is the path above it, and odd names may be
				// watched, though no object has them.
				reads := method == "GET" || method == "DELETE"
				if name == "nothing" && (reads || strings.HasSuffix(path, "/@")) || odd[name] && method == "GET" && strings.Contains(path, "/watch/") {
					continue
				}
				contentType, body := "application/json", configMap("there", `{"a":"2"}`)
				if method == "PATCH" {
					contentType = mergePatch
				}
				requests = append(requests, hostile{name + " in " + method + " " + path, method, strings.ReplaceAll(path, "@", segment), contentType, body, 0})
			}
		}
	}
	h.refuse(t, requests)
}

// TestHostileNames creates objects whose names are paths.
func TestHostileNames(t *testing.T) {
	h := startServer(t, evaluatedOnce)
	var requests []hostile
	for _, name := range []string{"..", ".", "../x", "a/b", "a%2fb", "a\x00b", "a\nb", "a\x7fb", strings.Repeat("a", 1<<20), "ａ", "\u202e"} {
		quoted, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{configMaps, "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", "/api/v1/namespaces"} {
			if strings.HasSuffix(path, "roles") && !strings.ContainsAny(name, "./%\x00\n\x7f") {
				continue // a role's name may be any path segment
			}
			requests = append(requests, hostile{fmt.Sprintf("%.20q in %s", name, path), "POST", path, "application/json", `{"metadata":{"name":` + string(quoted) + `}}`, 422})
		}
		requests = append(requests,
			hostile{fmt.Sprintf("namespace %.20q", name), "POST", "/api/v1/configmaps", "application/json", `{"metadata":{"name":"x","namespace":` + string(quoted) + `}}`, 0},
			hostile{fmt.Sprintf("generated %.20q", name), "POST", configMaps, "application/json", `{"metadata":{"generateName":` + string(quoted) + `}}`, 0})
	}
	h.refuse(t, requests)
}

// TestHostileStream sends a body without end.
func TestHostileStream(t *testing.T) {
	h := startServer(t, evaluatedOnce)
	body := &endless{}
	req, err := http.NewRequest("POST", h.server.URL()+configMaps, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+adminToken)
	req.Header.Set("Content-Type", "application/json")
	resp, err := h.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("answered %d, want 413", resp.StatusCode)
	}
}
