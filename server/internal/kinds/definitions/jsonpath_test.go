package definitions

import (
	"testing"

	"github.com/capstan-dev/capstan/internal/document"
)

func TestJSONPath(t *testing.T) {
	doc, err := document.DecodeAny([]byte(`{"spec":{"a":[1,2,{"b":"x"}],"m.n":"dotted","n":5,"t":true},"status":{"conditions":[{"type":"A","status":"False","at":1},{"type":"Ready","status":"True","at":2}]}}`), document.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer doc.Release()
	for path, want := range map[string]string{
		".spec.n":             `5`,
		".spec.a[0]":          `1`,
		".spec.a[-1].b":       `"x"`,
		".spec.a[1:]":         `2`,
		".spec.a[7]":          ``,
		".spec.a[*].b":        `"x"`,
		".spec['m.n']":        `"dotted"`,
		`.spec.m\.n`:          `"dotted"`,
		".spec.none":          ``,
		".":                   string(doc.Root().AppendJSON(nil)),
		"..b":                 `"x"`,
		".spec..b":            `"x"`,
		".spec.*":             `1`[:0] + `[1,2,{"b":"x"}]`,
		".spec.a[2]['c','b']": `"x"`,
		`.status.conditions[?(@.type=="Ready")].status`:   `"True"`,
		`.status.conditions[?(@.type == 'Ready')].status`: `"True"`,
		`.status.conditions[?(@.at>1)].type`:              `"Ready"`,
		`.status.conditions[?(@.at<=1)].type`:             `"A"`,
		`.status.conditions[?(@.type!="A")].type`:         `"Ready"`,
		`.status.conditions[?(@.none)].type`:              ``,
	} {
		p, err := parsePath(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if got := string(p.first(doc.Root()).AppendJSON(nil)); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	for _, path := range []string{".a[", ".a[b]", ".a[?(@.x==)]", ".a[?(x]", ".a}", ".a[1:2:3:4]", ".a[::0]"} {
		if _, err := parsePath(path); err == nil {
			t.Errorf("%s is read", path)
		}
	}
}

// TestTextCells: a column of texts shows a value of any type.
func TestTextCells(t *testing.T) {
	doc, err := document.DecodeAny([]byte(`{"text":"a","n":1.50,"on":true,"null":null,"list":[1,"b"],"map":{"k":"v"}}`), document.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer doc.Release()
	for path, want := range map[string]any{".text": "a", ".n": "1.5", ".on": "true", ".null": "<no value>", ".list": `[1,"b"]`, ".map": `{"k":"v"}`, ".none": nil} {
		p, err := parsePath(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := cellOf("string", p)(doc.Root()); got != want {
			t.Errorf("%s shows %v, want %v", path, got, want)
		}
	}
}

func FuzzJSONPath(f *testing.F) {
	doc, err := document.DecodeAny([]byte(`{"a":[1,{"b":"x"}],"c":null}`), document.Limits{})
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range []string{".a[0]", "..b", `.a[?(@.b=="x")].b`, ".a[1:2]", `.a['b',"c"]`} {
		f.Add(path)
	}
	f.Fuzz(func(_ *testing.T, path string) {
		if p, err := parsePath(path); err == nil {
			p.first(doc.Root())
		}
	})
}
