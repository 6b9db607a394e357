package objects_test

import (
	"math"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/measured"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// shape is a list or map in an object that a client may make arbitrarily long.
type shape struct {
	name       string
	collection string // of objects of the kind
	kind       string // apiVersion and kind
	// body is the object's members besides kind and metadata.name, with n entries that
	// contain value.
	body func(n int, value string) string
}

// around puts n entries between two texts.
func around(before, entry, after string) func(int, string) string {
	return func(n int, value string) string { return before + harness.Entries(n, entry, value) + after }
}

const pod = `"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i",`

var shapes = []shape{
	{"map", harness.ConfigMaps, `"v1","kind":"ConfigMap"`, around(`"data":{`, `"k%d":"%s"`, `}`)},
	{"annotations", harness.ConfigMaps, `"v1","kind":"ConfigMap"`, func(int, string) string { return "" }},
	{"map that fills another", "/api/v1/namespaces/default/secrets", `"v1","kind":"Secret"`, around(`"stringData":{`, `"k%d":"%s"`, `}`)},
	{"list by key", "/apis/apps/v1/namespaces/default/deployments", `"apps/v1","kind":"Deployment"`, around(pod+`"env":[`, `{"name":"k%d","value":"%s"}`, `]}]}}}`)},
	{"list of repeated keys", "/apis/apps/v1/namespaces/default/deployments", `"apps/v1","kind":"Deployment"`, around(pod+`"env":[`, `{"name":"k","value":"%s"}`, `]}]}}}`)},
	{"list by two keys", "/apis/apps/v1/namespaces/default/deployments", `"apps/v1","kind":"Deployment"`, around(pod+`"ports":[`, `{"containerPort":1%d,"hostIP":"%s"}`, `]}]}}}`)},
	{"list of strings", "/apis/apps/v1/namespaces/default/deployments", `"apps/v1","kind":"Deployment"`, around(pod+`"args":[`, `"%s%d"`, `]}]}}}`)},
	{"list of mistakes", "/apis/apps/v1/namespaces/default/deployments", `"apps/v1","kind":"Deployment"`, around(pod+`"volumeMounts":[`, `{"name":"%s%d"}`, `]}]}}}`)},
	{"unknown fields", harness.ConfigMaps, `"v1","kind":"ConfigMap"`, around(`"x":0,`, `"x%d":"%s"`, ``)},
	{"one long text", harness.ConfigMaps, `"v1","kind":"ConfigMap"`, func(n int, value string) string { return `"data":{"k":"` + strings.Repeat(value, 20*n) + `"}` }},
	{"one long number", harness.ConfigMaps, `"v1","kind":"ConfigMap"`, func(n int, _ string) string { return `"x":` + strings.Repeat("1", 20*n) }},
	{"one key again and again", harness.ConfigMaps, `"v1","kind":"ConfigMap"`, around(`"data":{`, `"k":"%s%d"`, `}`)},
	{"one member again and again", harness.ConfigMaps, `"v1","kind":"ConfigMap"`, around(`"x":0,`, `"data":{"k":"%s%d"}`, ``)},
	{"nesting", harness.ConfigMaps, `"v1","kind":"ConfigMap"`, func(n int, _ string) string { return `"x":` + strings.Repeat(`{"x":[`, n) + strings.Repeat("]}", n) }},
	{"nesting of schemas", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition"`, func(n int, _ string) string {
		return `"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"grown","kind":"Grown"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":` +
			strings.Repeat(`{"type":"array","items":`, n) + `{"type":"string"}` + strings.Repeat("}", n) + `}}]}`
	}},
	{"list without a type", "/api/v1/namespaces/default/endpoints", `"v1","kind":"Endpoints"`, around(`"subsets":[{"ports":[{"port":1}],"addresses":[`, `{"ip":"1.2.3.4","hostname":"%s%d"}`, `]}]`)},
	{"rules", "/apis/rbac.authorization.k8s.io/v1/clusterroles", `"rbac.authorization.k8s.io/v1","kind":"ClusterRole"`, around(`"rules":[`, `{"apiGroups":["%s"],"resources":["k%d"],"verbs":["get"]}`, `]`)},
	{"maps of amounts", "/api/v1/namespaces/default/limitranges", `"v1","kind":"LimitRange"`, func(n int, value string) string {
		amounts := around("{", `"example.com/k%d":"4"`, "}")(n/2, value)
		return `"spec":{"limits":[{"type":"Container","max":` + amounts + `,"min":` + amounts + `}]}`
	}},
	{"addresses that families do not fit", "/api/v1/namespaces/default/services", `"v1","kind":"Service"`, func(n int, value string) string {
		ips := strings.ReplaceAll(harness.Entries(n/2, `"10.0.0.%d"`, value), "0.00", "0.1")
		return `"spec":{"ports":[{"port":1}],"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1",` + ips + `],"ipFamilies":["IPv4"` + strings.Repeat(`,"IPv6"`, n/2) + `]}`
	}},
	{"ports times addresses", "/api/v1/namespaces/default/endpoints", `"v1","kind":"Endpoints"`, func(n int, value string) string {
		return `"subsets":[{"ports":[` + harness.Entries(n/2, `{"name":"p%d","port":1}`, "") + `],"addresses":[` + harness.Entries(n/2, `{"ip":"1.2.3.4","hostname":"%s%d"}`, value) + `]}]`
	}},
	{"values times rules", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition"`, func(n int, value string) string {
		texts := harness.Entries(n/3, `"%s%d"`, value)
		return `"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"grown","kind":"Grown"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"a":{"type":"array",` +
			`"default":[` + texts + `],"items":{"type":"string","enum":[` + texts + `]}},"b":{"type":"array","default":[` + harness.Entries(n/3, "{}", "") + `],"items":{"type":"object","required":[` + texts + `]}}}}}}]}`
	}},
	{"scopes", "/api/v1/namespaces/default/resourcequotas", `"v1","kind":"ResourceQuota"`, func(n int, value string) string {
		return `"spec":{"hard":{` + harness.Entries(n/2, `"requests.example.com/k%d":"4"`, "") + `},"scopes":[` + harness.Entries(n/2, `"NotTerminating"`, "") + "]}"
	}},
}

// text is an object of the shape.
func (s *shape) text(n int, value string) []byte {
	meta, body := `"name":"grown"`, s.body(n, value)
	if s.name == "annotations" {
		labels := harness.Entries(n/2, `"k%d":"`+value+`"`, "")
		meta += `,"labels":{` + labels + `},"annotations":{` + labels + `},"finalizers":[` + harness.Entries(n/4, `"a.b/k%d"`, "") + "]"
	}
	if body != "" {
		body = "," + body
	}
	return []byte(`{"apiVersion":` + s.kind + `,"metadata":{` + meta + `}` + body + `}`)
}

// mostHeap bounds the bytes that are allocated for each byte of a body or of the stored
// object, whichever is longer, by a client too.
const mostHeap = 600

// TestWorkGrowsWithSize: the cost of a write grows with the object, and with no product
// of its parts.
func TestWorkGrowsWithSize(t *testing.T) {
	harness.Measures(t)
	const small, large = 500, 4000
	for i := range shapes {
		s := &shapes[i]
		t.Run(s.name, func(t *testing.T) {
			h := harness.Start(t, harness.EvaluatedOnce)
			few, many := costs(h, s, small), costs(h, s, large)
			for range 3 { // again, when the machine was busy with something else
				if !tooMuch(few, many) {
					break
				}
				for j, c := range costs(h, s, large) {
					many[j].took, many[j].heap = min(many[j].took, c.took), min(many[j].heap, c.heap)
				}
			}
			for j, c := range many {
				if ratio := c.ratio(few[j]); ratio > mostGrowth {
					t.Errorf("%s of %d entries takes %s, of %d %s: %.0f times as much (%d)", c.what, small, few[j].took, large, c.took, ratio, c.code)
				}
				heap := c.heapPerByte()
				if heap > mostHeap {
					t.Errorf("%s of %d entries allocates %.0f bytes for each of %d (%d)", c.what, large, heap, c.size, c.code)
				}
				if testing.Verbose() {
					t.Logf("%-16s %d %10s %10s, %7d bytes %6.1f heap ÷ bytes", c.what, c.code, few[j].took, c.took, c.size, heap)
				}
			}
		})
	}
}

type cost struct {
	what string
	code int
	took time.Duration // computing, the best of a few
	size int           // of the body or the stored object
	heap uint64        // bytes that the server and its client allocated, the least of a few
}

// mostGrowth bounds how often a cost is that of an eighth of the entries. A quadratic cost
// would be 64 times, sorting is 8 to 12 times.
const mostGrowth = 24

// ratio is how often a cost is that of fewer entries.
func (c cost) ratio(few cost) float64 {
	return float64(c.took) / float64(max(few.took, 2*time.Millisecond))
}

func (c cost) heapPerByte() float64 { return float64(c.heap) / float64(c.size) }

// tooMuch reports whether one of the costs is beyond a bound.
func tooMuch(few, many []cost) bool {
	for j, c := range many {
		if c.ratio(few[j]) > mostGrowth || c.heapPerByte() > mostHeap {
			return true
		}
	}
	return false
}

// allocated is the number of bytes that the process has allocated so far.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// costs runs every kind of write with an object of n entries, the last two as another
// manager with conflicts.
func costs(h *harness.Server, s *shape, n int) (all []cost) {
	object := s.collection + "/grown"
	h.Send("DELETE", object, "", nil)
	h.Send("PATCH", object, "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	one, other := s.text(n, "a"), s.text(n, "b")
	try := func(what, method, path, media string, body []byte) {
		c, accept := cost{what: what, took: time.Hour, size: max(len(body), len(one)), heap: math.MaxUint64}, "application/json"
		if what == "table" {
			accept += ";as=Table;v=v1;g=meta.k8s.io"
		}
		for range 2 {
			begun, heap := measured.CPU(), allocated()
			c.code = h.Send(method, path+"dryRun=All", media, body, "Accept", accept).Code
			c.took, c.heap = min(c.took, measured.CPU()-begun), min(c.heap, allocated()-heap)
		}
		all = append(all, c)
	}
	const merge = "application/merge-patch+json"
	try("create", "POST", s.collection+"?", "application/json", one)
	try("create strictly", "POST", s.collection+"?fieldValidation=Strict&", "application/json", one)
	try("create by YAML", "POST", s.collection+"?", "application/yaml", one)
	try("create by apply", "PATCH", object+"?fieldManager=a&", harness.ApplyMedia, one)
	if h.Send("PATCH", object+"?fieldManager=a&force=true", harness.ApplyMedia, one).Code > 299 {
		h.Send("POST", s.collection, "application/json", one)
	}
	h.Send("PATCH", object+"?fieldManager=b&force=true", harness.ApplyMedia, s.text(n/2, "a"))
	try("update", "PUT", object+"?", "application/json", other)
	try("update to less", "PUT", object+"?", "application/json", s.text(n/2, "a"))
	try("merge", "PATCH", object+"?", merge, other)
	try("strategic", "PATCH", object+"?", harness.StrategicMedia, other)
	try("JSON patch", "PATCH", object+"?", harness.JSONPatchMedia, []byte("["+harness.Entries(n, `{"op":"add","path":"/metadata/annotations","value":{"k%d":"v"}}`, "")+"]"))
	try("apply", "PATCH", object+"?fieldManager=a&", harness.ApplyMedia, one)
	try("apply of less", "PATCH", object+"?fieldManager=a&", harness.ApplyMedia, s.text(n/2, "a"))
	try("apply by two", "PATCH", object+"?fieldManager=c&", harness.ApplyMedia, one)
	try("conflict", "PATCH", object+"?fieldManager=c&", harness.ApplyMedia, other)
	try("force", "PATCH", object+"?fieldManager=c&force=true&", harness.ApplyMedia, other)
	try("status", "PUT", object+"/status?", "application/json", other)
	try("table", "GET", object+"?", "", nil)
	return all
}
