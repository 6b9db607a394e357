package gen

import (
	"net/url"

	"github.com/capstan-dev/capstan/tools/differ/api"
	"github.com/capstan-dev/capstan/tools/differ/scenario"
)

func esc(s string) string { return url.QueryEscape(s) }

// scope keeps a list to the scenario's own objects, whatever else the server holds.
func scope(r *api.Resource, selector string) string {
	if r.Namespaced {
		if selector == "" {
			return ""
		}
		return "labelSelector=" + esc(selector)
	}
	own := "scenario%3D${NS}"
	if selector != "" {
		own += "," + esc(selector)
	}
	return "labelSelector=" + own
}

var labelSelectors = []string{"a=b", "a==b", "a!=b", "a", "!a", "a in (b,c)", "a notin (b)", "a in ()", "a=", "=b", "a=b,c=d", "a b", "a>1", "a<x",
	"bad key=v", "a=b!", "a in b",
	"example.com/y", "a=b,", ",", "a=0123456789012345678901234567890123456789012345678901234567890123"}

var fieldSelectors = []string{"metadata.name=a", "metadata.name!=a", "metadata.name==b", "metadata.namespace=${NS}", "metadata.namespace=other",
	"status.phase=Running", "spec.nodeName=",
	"spec.nodeName!=node-x", "type=Opaque", "involvedObject.kind=Pod", "metadata.labels.a=b", "x=y", "metadata.name",
	"metadata.name=a,metadata.namespace=${NS}", "=", "metadata.name>a",
	"spec.replicas=1", "status.successful=1", "spec.unschedulable=true", "metadata.name=a\\,b", "spec.signerName=example.com/s", "reason=Started",
	"status.podIP=", "spec.restartPolicy=Always"}

// list asks for a collection.
func (b *builder) list(r *api.Resource) {
	var p []string
	sel := ""
	switch b.r.Intn(5) {
	case 0, 1:
		sel = labelSelectors[b.r.Intn(len(labelSelectors))]
	}
	p = append(p, scope(r, sel))
	if b.r.Intn(3) == 0 {
		p = append(p, "fieldSelector="+escKeepVars(fieldSelectors[b.r.Intn(len(fieldSelectors))]))
	}
	sleep := 0.0
	id := "none"
	if o := b.objectOf(r); o.id != "none" {
		id = o.id
	}
	switch b.r.Intn(9) {
	case 0:
		p = append(p, "resourceVersion=0")
		sleep = 0.2
	case 1:
		p = append(p, "resourceVersion=${RV"+id+"}", b.chance(2, "resourceVersionMatch=NotOlderThan", "resourceVersionMatch=Exact", "resourceVersionMatch=Bogus"))
	case 2:
		p = append(p, "resourceVersion="+[]string{"abc", "-1", "1.5", "", "00"}[b.r.Intn(5)],
			b.chance(3, "resourceVersionMatch=Exact", "resourceVersionMatch=NotOlderThan"))
	case 3:
		p = append(p, "resourceVersionMatch="+[]string{"Exact", "NotOlderThan", "x", ""}[b.r.Intn(4)])
	}
	if b.r.Intn(4) == 0 && r.Namespaced {
		// A page, and the one after it. Of a collection that other scenarios use too, pages are not the same on both sides.
		limit := []string{"1", "1", "2", "0", "-1", "abc", "1000000"}[b.r.Intn(7)]
		b.n++
		v := "CONT" + string(rune('a'+b.n%26))
		b.add(&scenario.Step{Name: "page", Method: "GET", Path: query(r.Path(nsOf(r)), append(p, "limit="+limit)...), Sleep: sleep,
			Save: map[string]string{v: "metadata.continue"}})
		next := "continue=${" + v + "}"
		if b.r.Intn(6) == 0 {
			next = "continue=" + []string{"abc", "e30", ""}[b.r.Intn(3)]
		}
		b.add(&scenario.Step{Name: "next page", Method: "GET", Path: query(r.Path(nsOf(r)), scope(r, sel), "limit=1", next,
			b.chance(5, "resourceVersion=${RV"+id+"}", "resourceVersion=0", "resourceVersionMatch=Exact"))})
		return
	}
	path := r.Path(nsOf(r))
	if b.r.Intn(12) == 0 && r.Namespaced {
		path = r.Path("") // of all namespaces: restricted to this one by a field
		p = []string{"fieldSelector=metadata.namespace%3D${NS}"}
	}
	b.add(&scenario.Step{Name: "list", Method: "GET", Path: query(path,
		append(p, b.chance(6, "pretty=true", "timeoutSeconds=1", "timeoutSeconds=x", "limit=x", "nonsense=1"))...), Sleep: sleep})
}

func nsOf(r *api.Resource) string {
	if r.Namespaced {
		return "${NS}"
	}
	return ""
}

// escKeepVars escapes a query value but leaves ${NS} to be filled in.
func escKeepVars(s string) string {
	u := esc(s)
	for _, p := range [][2]string{{"%24%7BNS%7D", "${NS}"}} {
		for {
			i := indexOf(u, p[0])
			if i < 0 {
				break
			}
			u = u[:i] + p[1] + u[i+len(p[0]):]
		}
	}
	return u
}

func indexOf(s, sub string) int {
	for i := 0; i+len(sub) <= len(s); i++ {
		if s[i:i+len(sub)] == sub {
			return i
		}
	}
	return -1
}

// watch reads the changes since an object was made, for one second.
func (b *builder) watch(r *api.Resource) {
	o := b.objectOf(r)
	if o.id == "none" || unstable[r.Short()] {
		return
	}
	p := []string{"watch=true", "timeoutSeconds=1"}
	sel := ""
	if b.r.Intn(3) == 0 {
		sel = []string{"a=b", "a", "!a", "a in (b,c)"}[b.r.Intn(4)]
	}
	p = append(p, scope(r, sel))
	switch b.r.Intn(12) {
	case 0:
		p = append(p, "resourceVersion=abc")
	case 1:
		p = append(p, "fieldSelector=metadata.name%3Da")
		fallthrough
	default:
		p = append(p, "resourceVersion=${OLD"+o.id+"}")
	case 2:
		p = append(p, "resourceVersion=${OLD"+o.id+"}", b.chance(2, "resourceVersionMatch=Exact", "resourceVersionMatch=NotOlderThan", "limit=1", "continue=x",
			"allowWatchBookmarks=true"))
	case 3:
		p = append(p, "fieldSelector=x%3Dy")
	}
	h := map[string]string{}
	switch b.r.Intn(10) {
	case 0:
		h["Accept"] = "application/json;as=Table;v=v1;g=meta.k8s.io"
	case 1:
		h["Accept"] = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
	case 2:
		h["Accept"] = []string{"application/yaml", "text/html", "application/json;stream=watch", "*/*"}[b.r.Intn(4)]
	}
	b.add(&scenario.Step{Name: "watch", Method: "GET", Path: query(r.Path(nsOf(r)), p...), Headers: h, Watch: &scenario.Watch{TimeoutSeconds: 3}})
}

var accepts = []string{"application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "application/json;as=Table;v=v1;g=meta.k8s.io",
	"application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=Table;v=v1beta1;g=meta.k8s.io", "application/json;as=Table;v=v2;g=meta.k8s.io",
	"application/json;as=Table;v=v1;g=meta.k8s.io,application/json", "application/yaml;as=Table;v=v1;g=meta.k8s.io", "application/json;as=Table;g=x",
	"application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
	"application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", "application/json;as=Bogus;v=v1;g=meta.k8s.io", "*/*",
	"application/*", "text/html",
	"application/xml", "text/*", "application/json;q=0.1,application/yaml;q=0.9", "application/xml,application/yaml", "application/json; charset=utf-8",
	"application/json;pretty=1",
	"application/json;stream=watch", "garbage", "application/vnd.kubernetes.protobuf,application/json", "application/vnd.kubernetes.protobuf;stream=watch",
	"application/json;as=Table;v=v1;g=meta.k8s.io,text/html", ";", "application/json;as=", "application/cbor", "application/json;profile=x"}

var contentTypes = []string{"application/json; charset=utf-8", "application/yaml", "text/plain", "", "application/vnd.kubernetes.protobuf",
	"application/json-patch+json",
	"APPLICATION/JSON", "application/json;x", "garbage", "application/xml", "application/x-www-form-urlencoded", "application/json, text/plain"}

// negotiation asks for other forms of objects, collections and errors, and sends other content types.
func (b *builder) negotiation(r *api.Resource, o *object) {
	h := map[string]string{"Accept": accepts[b.r.Intn(len(accepts))]}
	incl := b.chance(4, "includeObject=None", "includeObject=Object", "includeObject=Metadata", "includeObject=bogus")
	switch b.r.Intn(6) {
	case 0:
		b.add(&scenario.Step{Name: "get as", Method: "GET", Path: query(o.path(), incl), Headers: h})
	case 1:
		b.add(&scenario.Step{Name: "list as", Method: "GET", Path: query(r.Path(nsOf(r)), scope(r, ""), incl), Headers: h})
	case 2:
		b.add(&scenario.Step{Name: "get nothing as", Method: "GET", Path: r.Path(nsOf(r)) + "/nothing", Headers: h})
	case 3:
		n := b.build(r)
		b.add(&scenario.Step{Name: "create as", Method: "POST", Path: query(r.Path(n.ns), incl, "dryRun=All"), Headers: h, Body: n.body})
	case 4:
		n := b.build(r)
		b.add(&scenario.Step{Name: "create from", Method: "POST", Path: query(r.Path(n.ns), "dryRun=All"),
			Headers: map[string]string{"Content-Type": contentTypes[b.r.Intn(len(contentTypes))]}, Body: n.body})
	case 5:
		b.add(&scenario.Step{Name: "delete as", Method: "DELETE", Path: query(o.path(), "dryRun=All"), Headers: h})
	}
}

// query sends requests with unusual methods, paths or parameters.
func (b *builder) query(r *api.Resource, o *object) {
	switch b.r.Intn(12) {
	case 11:
		b.add(&scenario.Step{Name: "head", Method: "HEAD", Path: []string{o.path(), r.Path(nsOf(r))}[b.r.Intn(2)]})
	case 0:
		b.add(&scenario.Step{Name: "method", Method: []string{"POST", "PUT", "PATCH", "OPTIONS"}[b.r.Intn(4)], Path: o.path(), Body: map[string]any{}})
	case 1:
		b.add(&scenario.Step{Name: "method on collection", Method: []string{"PUT", "PATCH", "OPTIONS"}[b.r.Intn(3)], Path: r.Path(nsOf(r)), Body: map[string]any{}})
	case 2:
		b.add(&scenario.Step{Name: "get", Method: "GET", Path: query(o.path(),
			"resourceVersion="+[]string{"0", "abc", "", "1", "${OLD" + o.id + "}", "-1"}[b.r.Intn(6)],
			b.chance(4, "resourceVersionMatch=Exact")), Sleep: 0.2})
	case 3:
		b.add(&scenario.Step{Name: "get", Method: "GET", Path: query(o.path(),
			[]string{"pretty=true", "pretty=1", "pretty=false", "pretty=x", "nonsense=1", "export=true", "limit=1", "watch=true"}[b.r.Intn(8)]+"&timeoutSeconds=1")})
	case 4:
		b.add(&scenario.Step{Name: "no such subresource", Method: []string{"GET", "PUT", "POST", "DELETE"}[b.r.Intn(4)],
			Path: o.path() + "/nothing", Body: map[string]any{}})
	case 5:
		b.add(&scenario.Step{Name: "no such resource", Method: "GET", Path: r.Path(nsOf(r)) + "x"})
	case 6:
		raw := []string{"", "{", "[]", "null", "5", "\"x\"", "{}", "{\"kind\":\"" + r.Kind + "\"}",
			"{\"kind\":\"" + r.Kind + "\",\"apiVersion\":\"" + r.APIVersion() + "\"}", "kind: " + r.Kind, "{\"a\":1}{\"b\":2}",
			"{\"apiVersion\":\"" + r.APIVersion() + "\",\"kind\":\"" + r.Kind + "\",\"metadata\":{\"name\":\"raw\"},}"}[b.r.Intn(12)]
		b.add(&scenario.Step{Name: "odd body", Method: []string{"POST", "POST", "PUT"}[b.r.Intn(3)], Path: query(r.Path(nsOf(r)), "dryRun=All"), Raw: &raw})
		if s := b.steps[len(b.steps)-1]; s.Method == "PUT" {
			s.Path = query(o.path(), "dryRun=All")
		}
	case 7:
		b.add(&scenario.Step{Name: "bad name in path", Method: "GET",
			Path: r.Path(nsOf(r)) + "/" + []string{"Bad_Name", "a%2Fb", "..%2Fx", "%20", "a%00b", "UPPER"}[b.r.Intn(6)]})
	case 8:
		if r.Namespaced {
			n := b.build(r)
			b.add(&scenario.Step{Name: "namespace of the path", Method: "POST",
				Path: query(r.Path([]string{"no-such-namespace", "Bad_NS", "default"}[b.r.Intn(3)]), "dryRun=All"), Body: n.body})
		}
	case 9:
		if r.Namespaced {
			n := b.build(r)
			b.add(&scenario.Step{Name: "create without namespace", Method: "POST", Path: query(r.Path(""), "dryRun=All"), Body: n.body})
		}
	case 10:
		n := b.build(r)
		b.add(&scenario.Step{Name: "put a new object", Method: "PUT", Path: query(n.path(), dryParam(dry(r, true)), b.chance(3, writeParams...)), Body: n.body})
	}
}
