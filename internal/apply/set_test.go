package apply

import (
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/document"
)

func readText(tb testing.TB, text string) (Set, error) {
	tb.Helper()
	doc, err := document.DecodeAny([]byte(text), document.Limits{})
	if err != nil {
		return Set{}, err
	}
	return ReadSet(doc.Root())
}

func TestFieldsAreWrittenInOrder(t *testing.T) {
	for _, c := range []struct{ in, out string }{
		{`{}`, `{}`},
		{`{"f:b":{},"f:a":{}}`, `{"f:a":{},"f:b":{}}`},
		{`{"f:a":{"f:b":{},".":{}}}`, `{"f:a":{".":{},"f:b":{}}}`},
		{`{"f:a":{".":{}}}`, `{"f:a":{}}`},
		{`{"f:a":null}`, `{"f:a":{}}`},
		{`{"i:10":{},"i:9":{},"v:1":{},"k:{\"a\":1}":{},"f:z":{}}`, `{"f:z":{},"k:{\"a\":1}":{},"v:1":{},"i:9":{},"i:10":{}}`},
		{`{"v:\"b\"":{},"v:10":{},"v:9":{},"v:true":{},"v:\"a\"":{}}`, `{"v:9":{},"v:10":{},"v:\"a\"":{},"v:\"b\"":{},"v:true":{}}`},
		{`{"k:{\"b\":1, \"a\":\"x\"}":{}}`, `{"k:{\"a\":\"x\",\"b\":1}":{}}`},
		{`{"k:{\"n\":\"a b\"}":{},"k:{\"n\":\"a\"}":{}}`, `{"k:{\"n\":\"a\"}":{},"k:{\"n\":\"a b\"}":{}}`},
		{`{"k:{\"port\":80}":{},"k:{\"port\":9}":{}}`, `{"k:{\"port\":9}":{},"k:{\"port\":80}":{}}`},
		{`{"v:\"<&>\"":{}}`, `{"v:\"\\u003c\\u0026\\u003e\"":{}}`},
		{`{"x:later":{"f:a":{}},"f:a":{}}`, `{"f:a":{}}`},
		{`{"f:a":{"x:later":{}}}`, `{"f:a":{}}`},
		{`{"f:a\"b":{},"f:ü":{}}`, `{"f:a\"b":{},"f:ü":{}}`},
	} {
		s, err := readText(t, c.in)
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		if got := string(s.AppendFields(nil)); got != c.out {
			t.Errorf("%s\ngot  %s\nwant %s", c.in, got, c.out)
		}
	}
}

func TestWrongFieldsAreRefused(t *testing.T) {
	deep := strings.Repeat(`{"f:a":`, 10001) + "{}" + strings.Repeat("}", 10001)
	for _, text := range []string{`{"a":{}}`, `{"f":{}}`, `{"f:a":1}`, `{"f:a":[]}`, `{"k:1":{}}`, `{"v:":{}}`, `{"i:x":{}}`, `{"k:{":{}}`, `[]`, `"f:a"`, deep} {
		if s, err := readText(t, text); err == nil {
			t.Errorf("%.60s is read as %s", text, s)
		}
	}
}

func TestSetOperations(t *testing.T) {
	a, _ := readText(t, `{"f:a":{},"f:b":{".":{},"f:x":{},"f:y":{}},"f:c":{"f:z":{}}}`)
	b, _ := readText(t, `{"f:b":{"f:x":{}},"f:c":{},"f:d":{}}`)
	for _, c := range []struct {
		name string
		got  Set
		want string
	}{
		{"union", a.Union(b), `{"f:a":{},"f:b":{".":{},"f:x":{},"f:y":{}},"f:c":{".":{},"f:z":{}},"f:d":{}}`},
		{"intersection", a.Intersection(b), `{"f:b":{"f:x":{}}}`},
		{"difference", a.Difference(b), `{"f:a":{},"f:b":{".":{},"f:y":{}},"f:c":{"f:z":{}}}`},
		{"without", a.Without(b), `{"f:a":{},"f:b":{".":{},"f:y":{}}}`},
		{"nothing", a.Difference(a), `{}`},
	} {
		if got := string(c.got.AppendFields(nil)); got != c.want {
			t.Errorf("%s is %s, want %s", c.name, got, c.want)
		}
	}
	if !a.Union(b).Holds(b) || a.Holds(b) {
		t.Error("Holds is wrong")
	}
	if !a.Has(Step{StepField, "b"}, Step{StepField, "x"}) || a.Has(Step{StepField, "c"}) || a.Has() {
		t.Error("Has is wrong")
	}
	doc, err := document.DecodeAny(a.AppendFields(nil), document.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	one, _ := readText(t, `{"f:c":{"f:z":{}}}`)
	other, _ := readText(t, `{"f:c":{},"f:b":{"f:q":{}}}`)
	if !touches(doc.Root(), one) || touches(doc.Root(), other) || !holds(doc.Root(), one) || holds(doc.Root(), b) {
		t.Error("touches or holds is wrong")
	}
}

func FuzzReadSet(f *testing.F) {
	for _, seed := range []string{`{}`, `{"f:a":{".":{},"k:{\"name\":\"x\",\"p\":1}":{"v:\"a\"":{}}},"i:3":{}}`, `{"f:a":null,"x:y":{}}`, `{"v:1.5":{},"v:{\"a\":[1,null]}":{}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := readText(t, text)
		if err != nil {
			return
		}
		out := s.AppendFields(nil)
		again, err := readText(t, string(out))
		if err != nil {
			t.Fatalf("%q is written as %q, which is not read: %v", text, out, err)
		}
		if !again.Equal(s) {
			t.Fatalf("%q is written as %q, read as %q", text, out, again.AppendFields(nil))
		}
		if !s.Difference(again).Empty() || !s.Union(again).Equal(s) || !s.Intersection(again).Equal(s) {
			t.Fatalf("the operations on %q and itself are wrong", out)
		}
		_ = s.String()
	})
}
