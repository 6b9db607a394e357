package selector

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
)

// pods has every sort of selectable field.
func pods() *api.Resource {
	return &api.Resource{
		GV: &api.GroupVersion{Version: "v1"}, Plural: "pods", Kind: "Pod", Namespaced: true,
		Selectable: []api.Selectable{
			{Name: "metadata.name"},
			{Name: "metadata.namespace"},
			{Name: "spec.nodeName", Path: []string{"spec", "nodeName"}},
			{Name: "spec.host", AliasOf: "spec.nodeName"},
			{Name: "status.podIPs", Path: []string{"status", "podIPs"}, Never: true},
			{Name: "status.phase", Path: []string{"status", "phase"}},
			{Name: "spec.unschedulable", Path: []string{"spec", "unschedulable"}, Default: "false"},
			{Name: "status.replicas", Path: []string{"status", "replicas"}, Default: "0"},
		},
	}
}

func nodes() *api.Resource {
	return &api.Resource{
		GV: &api.GroupVersion{Version: "v1"}, Plural: "nodes", Kind: "Node",
		Selectable: []api.Selectable{{Name: "metadata.namespace"}, {Name: "spec.unschedulable", Path: []string{"spec", "unschedulable"}, Default: "false"}},
	}
}

func header(t testing.TB, object string, r *api.Resource) []byte {
	t.Helper()
	d, err := document.DecodeAny([]byte(object), document.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Release()
	meta := AppendMeta(nil, d.Root(), r.Selectable)
	if err := checkHeader(meta); err != nil {
		t.Fatalf("header of %s: %v", object, err)
	}
	return meta
}

// matches is s.Matches; a chosen header must have all bits of s.
func matches(t interface {
	Helper()
	Errorf(string, ...any)
}, s *Selector, key string, meta []byte) bool {
	t.Helper()
	chosen := s.Matches(key, meta)
	if bits := HeaderBits(meta); chosen && lacks(bits, s.Bits()) {
		t.Errorf("%q is chosen, but has the bits %b, not all of %b", meta, bits, s.Bits())
	}
	return chosen
}

func lacks(bits, need [2]uint64) bool { return need[0]&^bits[0]|need[1]&^bits[1] != 0 }

// TestBits: the requirements of a selector show in its bits, and headers without them
// mostly lack some.
func TestBits(t *testing.T) {
	r := pods()
	for _, test := range []struct {
		labels, fields string
		demands        bool
	}{
		{"app=web-7", "", true},
		{"app=web-7,tier", "spec.nodeName!=x", true},
		{"app in (web-7)", "", true},
		{"", "spec.nodeName=node-7", true},
		{"", "spec.host=node-7", true},
		{"", "spec.unschedulable=true", true},
		{"app in (web-7,web-8)", "", false},
		{"app!=web-7", "", false},
		{"app,!tier", "", false},
		{"", "spec.nodeName!=node-7", false},
		{"", "spec.nodeName=", false},
		{"", "spec.unschedulable=false", false},
		{"", "metadata.name=x,metadata.namespace=y,status.podIPs=z", false},
	} {
		s, err := parsed(test.labels, test.fields, r)
		if err != nil {
			t.Fatal(err)
		}
		need, settled := s.Bits(), 0
		for i := range 100 {
			meta := header(t, fmt.Sprintf(`{"metadata":{"labels":{"app":"web-%d","app.kubernetes.io/name":"web","tier":"front"}},"spec":{"nodeName":"node-%d"},"status":{"phase":"Running"}}`, i, i), r)
			if matches(t, s, "core/pods/n/a", meta); lacks(HeaderBits(meta), need) {
				settled++
			}
		}
		if test.demands != (settled > 90) || (need != [2]uint64{}) != test.demands {
			t.Errorf("labels %q fields %q: the bits %b settle %d of 100", test.labels, test.fields, need, settled)
		}
	}
}

func TestMatchesLabels(t *testing.T) {
	r := pods()
	objects := map[string]string{
		"a": `{"metadata":{"labels":{"env":"prod","tier":"1","example.com/x":"y"}}}`,
		"b": `{"metadata":{"labels":{"tier":"2","env":"dev"}}}`,
		"c": `{"metadata":{"labels":{"env":"prod","tier":"x"}}}`,
		"d": `{"metadata":{"labels":{"env":""}}}`,
		"e": `{"metadata":{}}`,
	}
	for _, test := range []struct{ selector, want string }{
		{"", "abcde"},
		{"env=prod", "ac"},
		{"env==prod", "ac"},
		{"env!=prod", "bde"},
		{"env in (prod,dev)", "abc"},
		{"env in ()", "d"},
		{"env in (prod, ,dev)", "abcd"},
		{"env notin (prod,dev)", "de"},
		{"env", "abcd"},
		{"!env", "e"},
		{"env,tier", "abc"},
		{"env=prod,tier!=1", "c"},
		{"tier>1", "b"},
		{"tier<3", "ab"},
		{"tier>0,tier<2", "a"},
		{"env=", "d"},
		{" env = prod ", "ac"},
		{"env!=prod,env!=dev,!tier", "de"},
		{"example.com/x=y", "a"},
		{"zzz", ""},
		{"!zzz", "abcde"},
		{"aaa=1", ""},
		{"env=prod,env=dev", ""},
		{"example.com/x,env in (prod),tier notin (9),!zone", "a"},
	} {
		s, err := parsed(test.selector, "", r)
		if err != nil {
			t.Errorf("%q: %v", test.selector, err)
			continue
		}
		got := ""
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			if matches(t, s, "core/pods/ns/"+name, header(t, objects[name], r)) {
				got += name
			}
		}
		if got != test.want {
			t.Errorf("%q chose %q, want %q", test.selector, got, test.want)
		}
	}
}

func TestMatchesFields(t *testing.T) {
	objects := []struct {
		key    string
		r      *api.Resource
		object string
	}{
		{"core/pods/n1/a", pods(), `{"spec":{"nodeName":"x"},"status":{"phase":"Running","podIPs":[{"ip":"1.1.1.1"}],"replicas":3}}`},
		{"core/pods/n2/b", pods(), `{"spec":{"nodeName":"x,y=\\","unschedulable":true},"status":{"phase":"","replicas":null}}`},
		{"core/pods/n2/c", pods(), `{"metadata":{"labels":{"l":"1"}},"spec":{"unschedulable":false}}`},
		{"core/nodes/d", nodes(), `{}`},
	}
	for _, test := range []struct {
		selector, want string
		label          string
	}{
		{selector: "metadata.name=a", want: "a"},
		{selector: "metadata.name==a", want: "a"},
		{selector: "metadata.name!=a", want: "bcd"},
		{selector: "metadata.name=a,metadata.name=b", want: ""},
		{selector: "metadata.name=d,metadata.namespace=", want: "d"},
		{selector: "metadata.namespace=n2", want: "bc"},
		{selector: "metadata.namespace!=n2", want: "ad"},
		{selector: "metadata.namespace=core", want: ""},
		{selector: "spec.unschedulable=false", want: "acd"},
		{selector: "spec.unschedulable=true", want: "b"},
		{selector: "spec.unschedulable!=true,metadata.name!=c", want: "ad"},
		{selector: "spec.nodeName=x", want: "a"},
		{selector: "spec.host=x", want: "a"},
		{selector: "spec.nodeName=", want: "c"},
		{selector: `spec.nodeName=x\,y\=\\`, want: "b"},
		{selector: "status.podIPs=1.1.1.1", want: ""},
		{selector: "status.podIPs!=1.1.1.1", want: "abc"},
		{selector: "status.phase=Running,spec.nodeName=x", want: "a"},
		{selector: "status.phase!=Running", want: "bc"},
		{selector: "status.replicas=3", want: "a"},
		{selector: "status.replicas=0", want: "bc"},
		{selector: "status.replicas=0", label: "l", want: "c"},
		{selector: "metadata.name=b", label: "!l", want: "b"},
		{selector: "spec.nodeName=", label: "l=2", want: ""},
	} {
		got := ""
		for _, o := range objects {
			s, err := parsed(test.label, test.selector, o.r)
			if err != nil {
				if o.r.Plural == "nodes" && strings.Contains(err.Error(), "not supported") {
					continue
				}
				t.Errorf("%q: %v", test.selector, err)
				break
			}
			if matches(t, s, o.key, header(t, o.object, o.r)) {
				got += o.key[len(o.key)-1:]
			}
		}
		if got != test.want {
			t.Errorf("%q and labels %q chose %q, want %q", test.selector, test.label, got, test.want)
		}
	}
}

func TestErrors(t *testing.T) {
	r := pods()
	for _, test := range []struct{ labels, fields, want string }{
		{labels: "env===prod", want: "unable to parse requirement: "},
		{labels: "=prod", want: "unable to parse requirement: "},
		{labels: "env in prod", want: "unable to parse requirement: "},
		{labels: "env=prod,", want: "unable to parse requirement: "},
		{labels: "(env)", want: "unable to parse requirement: "},
		{labels: "env=a b", want: "unable to parse requirement: "},
		{labels: "a>x", want: "unable to parse requirement: "},
		{labels: "env=" + strings.Repeat("a", 64), want: "unable to parse requirement: "},
		{labels: strings.Repeat("a", 1<<20), want: "at most 65536"},
		{fields: strings.Repeat("a", 1<<20), want: "at most 65536"},
		{fields: "nosuch=1", want: "field label not supported: nosuch (supported: metadata.name, metadata.namespace, spec.host, "},
		{fields: "=x", want: "field label not supported: "},
		{fields: "metadata.name", want: "can't understand 'metadata.name'"},
		{fields: `metadata.name=a\b`, want: `invalid escape sequence`},
		{fields: `metadata.name=a=b`, want: `invalid field selector`},
	} {
		_, err := parsed(test.labels, test.fields, r)
		var refused *api.Error
		if !errors.As(err, &refused) || refused.Code != 400 || refused.Reason != api.ReasonBadRequest || !strings.Contains(refused.Message, test.want) {
			t.Errorf("labels %.40q fields %.40q: %.200v, want a 400 with %q", test.labels, test.fields, err, test.want)
		}
	}
	cluster := &api.Resource{GV: r.GV, Selectable: r.Selectable[2:3]}
	if _, err := parsed("", "metadata.namespace=", cluster); err == nil || !strings.Contains(err.Error(), "(supported: metadata.name, spec.nodeName)") {
		t.Errorf("a kind of the cluster with a field of its own: %v", err)
	}
	cluster.Selectable = nil
	if _, err := parsed("", "metadata.namespace=", cluster); err != nil {
		t.Errorf("a kind of the cluster without one: %v", err)
	}
	cluster.Definition = &api.Definition{}
	if _, err := parsed("", "metadata.name=a,metadata.namespace=", cluster); err == nil || err.Error() != "field label not supported: metadata.namespace" {
		t.Errorf("a custom kind of the cluster: %v", err)
	}
}

func TestName(t *testing.T) {
	for _, test := range []struct {
		fields, name string
		ok, all      bool
	}{
		{fields: "", all: true},
		{fields: "metadata.name=a", name: "a", ok: true},
		{fields: "status.phase=x,metadata.name==b,spec.host!=c", name: "b", ok: true},
		{fields: "metadata.name!=a"},
		{fields: "metadata.namespace=a"},
	} {
		s, err := parsed("", test.fields, pods())
		if err != nil {
			t.Fatal(err)
		}
		if name, ok := s.Name(); name != test.name || ok != test.ok || s.Everything() != test.all {
			t.Errorf("%q: Name %q %v, Everything %v", test.fields, name, ok, s.Everything())
		}
	}
	if s, _ := parsed("a", "", pods()); s.Everything() {
		t.Error("a label selector is not Everything")
	}
}

// TestOldHeader: a header written before fields were added reads as if the fields had
// their defaults.
func TestOldHeader(t *testing.T) {
	now := pods()
	old := pods()
	old.Selectable = old.Selectable[:4]
	meta := header(t, `{"spec":{"nodeName":"x","unschedulable":true}}`, old)
	for fields, want := range map[string]bool{
		"spec.nodeName=x":                           true,
		"spec.unschedulable=false":                  true,
		"spec.unschedulable=true":                   false,
		"spec.nodeName=x,status.replicas=0":         true,
		"spec.nodeName!=x,spec.unschedulable=false": false,
	} {
		s, err := parsed("", fields, now)
		if err != nil {
			t.Fatal(err)
		}
		if matches(t, s, "core/pods/n/a", meta) != want {
			t.Errorf("%s: %v", fields, !want)
		}
		if fields == "spec.unschedulable=false" && !matches(t, s, "core/pods/n/a", nil) {
			t.Error("no header at all reads as defaults")
		}
	}
}

func BenchmarkMatches(b *testing.B) {
	r := pods()
	keys := make([]string, 5000)
	headers := make([][]byte, len(keys))
	for i := range headers {
		keys[i] = fmt.Sprintf("core/pods/default/pod-%05d", i)
		headers[i] = header(b, fmt.Sprintf(`{"metadata":{"labels":{"app":"web-%d","app.kubernetes.io/name":"web","pod-template-hash":"5d4f8c7b9","tier":"front"}},
			"spec":{"nodeName":"node-%d"},"status":{"phase":"Running"}}`, i%50, i%100), r)
	}
	for _, bench := range []struct{ name, labels, fields string }{
		{"equal", "app=web-7", ""},
		{"three", "app in (web-1,web-2,web-7),tier!=back,!canary", ""},
		{"field", "", "spec.nodeName=node-7"},
		{"both", "app=web-7,tier", "spec.nodeName=node-7,status.phase!=Failed"},
	} {
		s, err := parsed(bench.labels, bench.fields, r)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for i := range headers {
					s.Matches(keys[i], headers[i])
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(headers)), "ns/object")
		})
	}
}

func TestMatchesDoesNotAllocate(t *testing.T) {
	meta := header(t, `{"metadata":{"labels":{"a":"1","b":"x"}},"spec":{"nodeName":"x"}}`, pods())
	s, err := parsed("a>0,b in (x,y),!c", "metadata.namespace=n,spec.nodeName=x", pods())
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() {
		if !s.Matches("core/pods/n/a", meta) {
			t.Fatal("no match")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestExactName(t *testing.T) {
	for text, want := range map[string]string{"": "", "metadata.name=a": "a", "x=y,metadata.name==a": "a", "metadata.name!=a": "", "metadata.name": "", "x=metadata.name": ""} {
		if got := ExactName(text, ""); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := ExactName("metadata.name=a", "b ad"); got != "" {
		t.Errorf("with a wrong label selector: %q", got)
	}
}
