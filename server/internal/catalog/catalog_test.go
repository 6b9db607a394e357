package catalog

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/server/internal/kinds/conversion"
	"github.com/capstan-dev/capstan/server/internal/kinds/policy"
)

func generated() *Catalog {
	return New(catalog.New(policy.New(time.Now), conversion.Hooks{}), catalog.Meta())
}

// resolve finds the row of a path.
func resolve(s *Snapshot, path string) (Target, bool) {
	a, ok := ParsePath(path)
	if !ok {
		return Target{}, false
	}
	return s.Resolve(&a)
}

// TestEveryRowIsFound finds each row by every look-up.
func TestEveryRowIsFound(t *testing.T) {
	s := generated().Snapshot()
	seen := 0
	for typ := range s.Types() {
		for _, row := range typ.Rows {
			seen++
			gv := row.GV
			if s.Resource(gv.Group, gv.Version, row.Plural) != row || s.Kind(gv.APIVersion(), row.Kind) != row || typ.Version(gv.APIVersion()) != row {
				t.Errorf("%s %s is not found by its names", gv.APIVersion(), row.Plural)
			}
			if row.Stored && (s.Type(row.Key("ns", "name")) != typ || s.Stored(typ.Stored.GV.Group, typ.Stored.Plural) != typ.Stored || row.Storage() != typ.Stored) {
				t.Errorf("%s %s is not found by its keys", gv.APIVersion(), row.Plural)
			}
			ns := ""
			if row.Namespaced {
				ns = "namespaces/ns/"
			}
			paths := map[string]Target{gv.Prefix() + "/" + row.Plural: {Row: row}}
			object := Target{Row: row, Name: "name"}
			if row.Namespaced {
				object.Namespace = "ns"
				paths[gv.Prefix()+"/"+ns+row.Plural] = Target{Row: row, Namespace: "ns"}
			}
			paths[gv.Prefix()+"/"+ns+row.Plural+"/name"] = object
			for i := range row.Subresources {
				with := object
				with.Sub = &row.Subresources[i]
				paths[gv.Prefix()+"/"+ns+row.Plural+"/name/"+with.Sub.Name] = with
				if row.SchemaOf(with.Sub).Table() != with.Sub.Table {
					t.Errorf("%s/%s has the schema of another table", row.Plural, with.Sub.Name)
				}
			}
			if row.Verbs.Has(api.VerbWatch) {
				old := object
				old.Watch = true
				paths[gv.Prefix()+"/watch/"+ns+row.Plural+"/name"] = old
			}
			for path, want := range paths {
				if got, ok := resolve(s, path); !ok || got != want {
					t.Errorf("%s: %+v %v, expected %+v", path, got, ok, want)
				}
			}
		}
	}
	if seen < 60 {
		t.Errorf("%d rows", seen)
	}
}

func TestResolve(t *testing.T) {
	s := generated().Snapshot()
	for _, c := range []struct{ path, want string }{
		{"/api/v1/namespaces", "collection namespaces ns= name="},
		{"/api/v1/namespaces/default", "object namespaces ns= name=default"},
		{"/api/v1/namespaces/default/status", "status namespaces ns= name=default"},
		{"/api/v1/namespaces/default/finalize", "finalize namespaces ns= name=default"},
		{"/api/v1/namespaces/status", "object namespaces ns= name=status"},
		{"/api/v1/namespaces/status/status", "status namespaces ns= name=status"},
		{"/api/v1/namespaces/pods", "object namespaces ns= name=pods"},
		{"/api/v1/namespaces/pods/pods", "collection pods ns=pods name="},
		{"/api/v1/namespaces/status/pods/status", "object pods ns=status name=status"},
		{"/api/v1/namespaces/default/pods", "collection pods ns=default name="},
		{"/api/v1/namespaces/default/pods/a", "object pods ns=default name=a"},
		{"/api/v1/namespaces/default/pods/a.b.c", "object pods ns=default name=a.b.c"},
		{"/api/v1/namespaces/default/pods/status", "object pods ns=default name=status"},
		{"/api/v1/namespaces/default/pods/status/status", "status pods ns=default name=status"},
		{"/api/v1/namespaces/default/pods/a/log", "log pods ns=default name=a"},
		{"/api/v1/namespaces/default/pods/a/nothing", "nothing"},
		{"/api/v1/namespaces/default/pods/a/proxy", "proxy pods ns=default name=a"},
		{"/api/v1/namespaces/default/pods/a/proxy/deep/path", "proxy pods ns=default name=a"},
		{"/api/v1/namespaces/default/nothing", "nothing"},
		{"/api/v1/namespaces/default/nothing/a", "nothing"},
		{"/api/v1/namespaces/default/nodes", "nothing"},
		{"/api/v1/namespaces/default/namespaces", "nothing"},
		{"/api/v1/namespaces/default/namespaces/default", "nothing"},
		{"/api/v1/namespaces/default/namespaces/a/status", "nothing"},
		{"/api/v1/watch/namespaces/default/namespaces/a", "nothing"},
		{"/api/v1/pods", "collection pods ns= name="},
		{"/api/v1/pods/a", "nothing"},
		{"/api/v1/nodes/n1", "object nodes ns= name=n1"},
		{"/api/v1/nodes/n1/status", "status nodes ns= name=n1"},
		{"/api/v1/nodes/n1/proxy/x", "proxy nodes ns= name=n1"},
		{"/api/v1/nodes/pods", "object nodes ns= name=pods"},
		{"/api/v1/watch/pods", "watch pods ns= name="},
		{"/api/v1/watch/namespaces", "watch namespaces ns= name="},
		{"/api/v1/watch/namespaces/default", "watch namespaces ns= name=default"},
		{"/api/v1/watch/namespaces/default/pods", "watch pods ns=default name="},
		{"/api/v1/watch/namespaces/default/pods/a", "watch pods ns=default name=a"},
		{"/api/v1/watch/nodes/n1", "watch nodes ns= name=n1"},
		{"/api/v1/watch/bindings", "nothing"},
		{"/apis/apps/v1/deployments", "collection deployments ns= name="},
		{"/apis/apps/v1/namespaces/d/deployments/a/scale", "scale deployments ns=d name=a"},
		{"/apis/apps/v1/watch/namespaces/d/deployments/a", "watch deployments ns=d name=a"},
		{"/apis/apps/v1/namespaces/d", "nothing"},
		{"/apis/apps/v2/deployments", "nothing"},
		{"/api/v1", "nothing"},
		{"/api/v1/namespaces/default/pods/a/log/more", "nothing"},
		{"/api/v1/watch/namespaces/default/pods/a/status", "nothing"},
		{"/api/v1/watch/pods/a", "nothing"},
		{"/api/v1/proxy/namespaces/default/pods/a", "nothing"},
		{"/api/v1/namespaces/default/nodes/n/status", "nothing"},
		{"/api/v1/namespaces/default/status/more", "nothing"},
	} {
		got := "nothing"
		if at, ok := resolve(s, c.path); ok {
			what := "object"
			switch {
			case at.Watch:
				what = "watch"
			case at.Sub != nil:
				what = at.Sub.Name
			case at.Name == "":
				what = "collection"
			}
			got = fmt.Sprintf("%s %s ns=%s name=%s", what, at.Row.Plural, at.Namespace, at.Name)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.path, got, c.want)
		}
	}
}

// TestVersionsShareAType: the versions of a type know each other.
func TestVersionsShareAType(t *testing.T) {
	s := generated().Snapshot()
	v1, v2 := s.Kind("autoscaling/v1", "HorizontalPodAutoscaler"), s.Kind("autoscaling/v2", "HorizontalPodAutoscaler")
	if v1 == nil || v2 == nil || v1.Versions != v2.Versions || v1.Storage() != v2.Storage() || v1.Key("a", "b") != v2.Key("a", "b") {
		t.Fatalf("%+v %+v", v1, v2)
	}
	if first, second := v1.Ownership(), v1.Ownership(); first.Kind.Versions == nil || first != second {
		t.Error("versions do not know each other, or are derived anew")
	}
}

// widgets are two versions of a type with the properties of config maps.
func widgets(s *Snapshot, n int) []*api.Resource {
	model := s.Kind("v1", "ConfigMap")
	var all []*api.Resource
	for _, version := range []string{"v1", "v1beta1"} {
		gv := *model.GV
		gv.Group, gv.Version = "example.com", version
		res := *model.Resource
		res.GV, res.Plural, res.Kind = &gv, fmt.Sprintf("widgets%d", n), fmt.Sprintf("Widget%d", n)
		if len(all) > 0 {
			res.Conversion = &api.Conversion{Same: true, Storage: all[0]}
		}
		all = append(all, &res)
	}
	return all
}

// TestRowsComeAndGo adds, replaces and removes 1,000 rows, two for each type, while
// readers look: each finds a type with all its versions or none of them, by every
// look-up, and an unchanged type keeps its rows.
func TestRowsComeAndGo(t *testing.T) {
	c := generated()
	first := c.Snapshot()
	pods := first.Kind("v1", "Pod")
	var stop atomic.Bool
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for n := 0; !stop.Load(); n = (n + 1) % 500 {
				s := c.Snapshot()
				name := fmt.Sprintf("widgets%d", n)
				old, now := s.Resource("example.com", "v1beta1", name), s.Resource("example.com", "v1", name)
				at, found := resolve(s, "/apis/example.com/v1/namespaces/ns/"+name+"/x")
				if (old == nil) != (now == nil) || found != (now != nil) || now != nil && (at.Row != now || old.Storage() != now || s.Type(now.Key("a", "b")) != now.Versions || s.Stored("example.com", name) != now) {
					t.Errorf("%s is there in part: %v %v %v", name, old, now, at)
				}
				if s.Kind("v1", "Pod") != pods {
					t.Error("the row of pods is another")
				}
			}
		})
	}
	for n := range 500 {
		c.Put(widgets(first, n)...)
	}
	full := c.Snapshot()
	if n := full.Len() - first.Len(); n != 500 || !full.ServesGroup("example.com") || first.ServesGroup("example.com") {
		t.Errorf("%d types were added", n)
	}
	before := full.Kind("example.com/v1", "Widget7")
	c.Put(widgets(first, 7)...)
	if after := c.Snapshot().Kind("example.com/v1", "Widget7"); after == before || after == nil || before.Storage() != before {
		t.Error("a type that was replaced is the same")
	}
	for _, v := range full.Served() {
		if v.Group == "example.com" && len(v.Rows) != 500 {
			t.Errorf("%s has %d rows", v.APIVersion(), len(v.Rows))
		}
	}
	for n := range 500 {
		c.Remove("example.com", fmt.Sprintf("widgets%d", n))
	}
	c.Remove("example.com", "widgets7")
	stop.Store(true)
	readers.Wait()
	if last := c.Snapshot(); last.Len() != first.Len() || last.ServesGroup("example.com") || last.Kind("example.com/v1", "Widget7") != nil {
		t.Errorf("%d types are left of %d", last.Len(), first.Len())
	}
}

func TestKeys(t *testing.T) {
	s := generated().Snapshot()
	for _, c := range []struct{ apiVersion, kind, namespace, name, key string }{
		{"v1", "Node", "", "n", "core/nodes/n"},
		{"v1", "Pod", "ns", "p", "core/pods/ns/p"},
		{"apps/v1", "Deployment", "ns", "d", "apps/deployments/ns/d"},
	} {
		row := s.Kind(c.apiVersion, c.kind)
		if got := row.Key(c.namespace, c.name); got != c.key || !strings.HasPrefix(got, row.Prefix(c.namespace)) {
			t.Errorf("%s, expected %s", got, c.key)
		}
		if ns, name := row.SplitKey(c.key); ns != c.namespace || name != c.name {
			t.Errorf("%s: %s %s", c.key, ns, name)
		}
	}
	for _, key := range []string{"", "capstan/page-secret", "core/nosuch/x", "core"} {
		if typ := s.Type(key); typ != nil {
			t.Errorf("%s is of %s", key, typ.Prefix)
		}
	}
}

func BenchmarkResolve(b *testing.B) {
	s := generated().Snapshot()
	b.ReportAllocs()
	for b.Loop() {
		a, _ := ParsePath("/api/v1/namespaces/default/pods/web-0")
		if _, ok := s.Resolve(&a); !ok {
			b.Fatal("not found")
		}
	}
}
