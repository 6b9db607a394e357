package gen

import (
	"math/rand"
	"regexp"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/tools/differ/api"
	"github.com/capstan-dev/capstan/tools/differ/compare"
	"github.com/capstan-dev/capstan/tools/differ/scenario"
)

func definitions() map[string]map[string]any {
	str := map[string]any{"type": "string"}
	return map[string]map[string]any{
		"io.x.ObjectMeta": {"type": "object", "properties": map[string]any{"name": str, "uid": str, "labels": map[string]any{"type": "object", "additionalProperties": str}}},
		"io.x.Spec": {"type": "object", "required": []any{"image"}, "properties": map[string]any{"image": str, "replicas": map[string]any{"type": "integer"},
			"mode":  map[string]any{"type": "string", "enum": []any{"Fast", "Slow"}},
			"items": map[string]any{"type": "array", "items": map[string]any{"allOf": []any{map[string]any{"$ref": "#/components/schemas/io.x.Item"}}}}}},
		"io.x.Item": {"type": "object", "properties": map[string]any{"on": map[string]any{"type": "boolean"}, "size": map[string]any{"type": "integer"}}},
		"io.x.Thing": {"type": "object", "properties": map[string]any{"metadata": map[string]any{"$ref": "#/components/schemas/io.x.ObjectMeta"},
			"spec": map[string]any{"$ref": "#/components/schemas/io.x.Spec"}, "status": map[string]any{"type": "object"}}},
	}
}

func testAPI() *api.API {
	verbs := map[string]bool{"create": true, "deletecollection": true}
	return &api.API{Resources: []*api.Resource{
		{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true, Verbs: verbs, Subresources: []string{"status", "eviction"}, Schema: api.NewSchema(definitions(), "io.x.Thing")},
		{Version: "v1", Name: "nodes", Kind: "Node", Verbs: verbs, Subresources: []string{"status"}, Schema: api.NewSchema(definitions(), "io.x.Thing")},
		{Group: "apiextensions.k8s.io", Version: "v1", Name: "customresourcedefinitions", Kind: "CustomResourceDefinition", Verbs: verbs, Schema: api.NewSchema(definitions(), "io.x.Thing")},
	}}
}

func newTestGenerator(t *testing.T, o Options) *Generator {
	t.Helper()
	g, err := New(testAPI(), o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestSameSeedSameScenario(t *testing.T) {
	a, b := newTestGenerator(t, Options{Seed: 5}), newTestGenerator(t, Options{Seed: 5})
	other := newTestGenerator(t, Options{Seed: 6})
	different := 0
	for i := 0; i < 80; i++ {
		x, err := a.Scenario(i).YAML("")
		if err != nil {
			t.Fatal(err)
		}
		y, _ := b.Scenario(i).YAML("")
		if string(x) != string(y) {
			t.Fatalf("scenario %d is not reproducible", i)
		}
		if z, _ := other.Scenario(i).YAML(""); string(z) != string(x) {
			different++
		}
	}
	if different < 75 {
		t.Errorf("another seed gave the same scenarios: %d of 80 differ", different)
	}
}

func TestScenariosAreBounded(t *testing.T) {
	g := newTestGenerator(t, Options{Seed: 1})
	verbs := map[string]int{}
	for i := 0; i < 200; i++ {
		s := g.Scenario(i)
		if n := len(s.Steps); n < 4 || n > 32 {
			t.Errorf("scenario %d has %d steps", i, n)
		}
		for _, st := range s.Steps {
			if st.Method == "" || !strings.HasPrefix(st.Path, "/api") || st.Name == "" {
				t.Errorf("scenario %d: bad step %+v", i, st)
			}
			verbs[compare.TargetOf(st).Verb]++
		}
	}
	for _, v := range []string{"POST", "PUT", "GET", "LIST", "WATCH", "DELETE", "DELETECOLLECTION", "PATCH-json", "PATCH-merge", "PATCH-strategic", "PATCH-apply"} {
		if verbs[v] < 8 {
			t.Errorf("only %d of %s", verbs[v], v)
		}
	}
}

func TestUnstableResourcesAreNotWritten(t *testing.T) {
	g := newTestGenerator(t, Options{Seed: 3, Only: regexp.MustCompile("^customresourcedefinitions")})
	for i := 0; i < 300; i++ {
		for _, st := range g.Scenario(i).Steps {
			if st.Method == "GET" || st.Method == "HEAD" || st.Method == "OPTIONS" || strings.Contains(st.Path, "dryRun=All") {
				continue
			}
			if m, ok := st.Body.(map[string]any); ok && len(m) == 0 {
				continue // a method that the path does not have
			}
			t.Errorf("%s %s is written for good", st.Method, st.Path)
		}
	}
}

func TestOnlyAndAreas(t *testing.T) {
	g := newTestGenerator(t, Options{Seed: 3, Only: regexp.MustCompile("^nodes/"), Areas: map[string]bool{"list": true}})
	for i := 0; i < 100; i++ {
		for j, st := range g.Scenario(i).Steps {
			if !strings.HasPrefix(st.Path, "/api/v1/nodes") {
				t.Errorf("path %s", st.Path)
			}
			if j > 2 && st.Method != "GET" {
				t.Errorf("method %s", st.Method)
			}
		}
	}
	if _, err := New(testAPI(), Options{Only: regexp.MustCompile("^none$")}); err == nil {
		t.Error("no resource is no error")
	}
}

func TestMutationsSayWhatTheyDid(t *testing.T) {
	g := newTestGenerator(t, Options{})
	s := api.NewSchema(definitions(), "io.x.Thing")
	changed := 0
	for i := 0; i < 2000; i++ {
		b := &builder{g: g, r: rand.New(rand.NewSource(int64(i)))}
		obj := map[string]any{"apiVersion": "v1", "kind": "Thing", "metadata": map[string]any{"name": "a", "labels": map[string]any{"k": "v"}},
			"spec": map[string]any{"image": "i", "replicas": 1.0, "items": []any{map[string]any{"on": true, "size": 2.0}}}}
		before := string(scenario.Encode(obj))
		what := b.mutate(obj, s)
		if what != "" && string(scenario.Encode(obj)) != before {
			changed++
		}
	}
	if changed < 1600 {
		t.Errorf("only %d of 2000 objects changed", changed)
	}
}

func TestEnrichAddsFieldsOfTheSchema(t *testing.T) {
	g := newTestGenerator(t, Options{})
	s := api.NewSchema(definitions(), "io.x.Spec")
	for i := 0; i < 200; i++ {
		b := &builder{g: g, r: rand.New(rand.NewSource(int64(i)))}
		obj := map[string]any{"image": "x"}
		for _, p := range b.enrich(obj, s, 3) {
			f := strings.Split(strings.TrimPrefix(p, "."), ".")[0]
			f, _, _ = strings.Cut(f, "[")
			if f != "replicas" && f != "mode" && f != "items" {
				t.Errorf("added %s", p)
			}
		}
		if m, ok := obj["mode"]; ok && m != "Fast" && m != "Slow" && m != 256.0 {
			t.Errorf("mode %v is none of the enum", m)
		}
	}
}
