package document

import "testing"

func TestSetStored(t *testing.T) {
	doc, err := DecodeAny([]byte(`{"a":1,"b":{"x":[1,2]}}`), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	root := doc.Root()
	for _, text := range []string{``, `{`, `{"a":`, `{} `, `[1`, `"a`, `}`} {
		if err := root.SetStored("b", []byte(text)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	if err := root.SetStored("b", []byte(`{"k:{\"n\":1}":{},"z":["é"]}`)); err != nil {
		t.Fatal(err)
	}
	if got, want := string(root.AppendJSON(nil)), `{"a":1,"b":{"k:{\"n\":1}":{},"z":["é"]}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !root.Get("b").Get(`k:{"n":1}`).Exists() {
		t.Error("the member is not found")
	}
}

func TestSame(t *testing.T) {
	read := func() Value {
		doc, err := DecodeAny([]byte(`{"a":{"b":1}}`), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		return doc.Root()
	}
	a, b := read(), read()
	if !Same(a, b) || Same(a, Value{}) || Same(Value{}, Value{}) {
		t.Error("Same is wrong about what was read")
	}
	b.Get("a").SetInt("b", 2)
	if Same(a, b) {
		t.Error("different values are the same")
	}
}
