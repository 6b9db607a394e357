package document

import (
	"strings"
	"testing"
)

// TestSet: each case changes an object and has the result.
func TestSet(t *testing.T) {
	table := parseTable(t, `
type Thing
  kind string
  name string
  count int32
  cpu quantity explicit
  at time always
  labels map:string
  inner Inner explicit
  tags []string
  parts []Inner
  raw any
  last bool explicit
type Inner
  a string
  b string always
`)
	other := parseTable(t, "type Inner\n  b string\n  a string\n  c int32\n  d int32")
	foreign, _, err := (&Decoder{Table: other}).Decode(other.Root("Inner"), []byte(`{"b":"B","a":"A","c":1}`))
	if err != nil {
		t.Fatal(err)
	}
	untyped, err := DecodeAny([]byte(`{"z":1.0,"b":"B","a":"A","list":[1,"x"]}`), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, in string
		change   func(v Value)
		want     string
	}{
		{"canonical place", `{"count":1,"last":true}`, func(v Value) { v.SetString("name", "n"); v.SetString("kind", "k") },
			`{"kind":"k","name":"n","count":1,"at":null,"last":true}`},
		{"replace", `{"name":"a","count":1}`, func(v Value) { v.SetString("name", "b\n\"\xff"); v.SetInt("count", -5) },
			`{"name":"b\n\"` + "\ufffd" + `","count":-5,"at":null}`},
		{"zero stays", `{}`, func(v Value) { v.SetString("name", ""); v.SetInt("count", 0); v.SetBool("last", false) },
			`{"name":"","count":0,"at":null,"last":false}`},
		{"null", `{"name":"a"}`, func(v Value) { v.SetNull("name") }, `{"name":null,"at":null}`},
		{"spelling", `{}`, func(v Value) { v.SetString("cpu", "1000m"); v.SetString("at", "2022-01-02T03:04:05+01:00") },
			`{"cpu":"1","at":"2022-01-02T02:04:05Z"}`},
		{"wrong spelling is kept", `{}`, func(v Value) { v.SetString("cpu", "x") }, `{"cpu":"x","at":null}`},
		{"zero time", `{"at":"2022-01-02T03:04:05Z"}`, func(v Value) { v.SetString("at", "0001-01-01T00:00:00Z") }, `{"at":null}`},
		{"object", `{}`, func(v Value) { v.SetObject("inner").SetString("a", "x"); v.SetObject("inner").SetBool("b", true) },
			`{"at":null,"inner":{"a":"x","b":true}}`},
		{"object has what is always there", `{}`, func(v Value) { v.SetObject("inner") }, `{"at":null,"inner":{"b":""}}`},
		{"object in place of a string", `{}`, func(v Value) { v.SetString("inner", "x"); v.SetObject("inner") }, `{"at":null,"inner":{"b":""}}`},
		{"map", `{"labels":{"b":"1"}}`, func(v Value) {
			l := v.SetObject("labels")
			l.SetString("c", "2")
			l.SetString("a", "3")
			l.SetString("b", "4")
			l.SetString("a\n", "5")
			l.SetString("", "6")
		}, `{"at":null,"labels":{"":"6","a":"3","a\n":"5","b":"4","c":"2"}}`},
		{"array", `{"tags":["a"]}`, func(v Value) {
			v.SetArray("tags").AppendString("b")
			v.SetArray("parts").AppendObject().SetString("a", "x")
		},
			`{"at":null,"tags":["a","b"],"parts":[{"a":"x","b":""}]}`},
		{"any", `{"raw":{"z":1,"a":2}}`, func(v Value) { r := v.Get("raw"); r.SetInt("m", 3); r.SetInt("z", 4) },
			`{"at":null,"raw":{"z":4,"a":2,"m":3}}`},
		{"unknown goes last", `{"last":true}`, func(v Value) { v.SetInt("y", 1); v.SetInt("x", 2); v.SetString("name", "n"); v.SetInt("y", 3) },
			`{"name":"n","at":null,"last":true,"y":3,"x":2}`},
		{"raw", `{}`, func(v Value) {
			if err := v.SetRaw("inner", []byte(` { "x":1, "a" : "\u0041" } `)); err != nil {
				t.Error(err)
			}
		}, `{"at":null,"inner":{"a":"A","b":""}}`},
		{"raw of anything", `{}`, func(v Value) {
			if err := v.SetRaw("raw", []byte(`{"x": 1.0, "a": null}`)); err != nil {
				t.Error(err)
			}
		}, `{"at":null,"raw":{"x":1.0,"a":null}}`},
		{"wrong raw changes nothing", `{"inner":{"a":"x"}}`, func(v Value) {
			for _, text := range []string{`{"a":1}`, `{`, ``, `{} x`} {
				if v.SetRaw("inner", []byte(text)) == nil {
					t.Error("no error for", text)
				}
			}
		}, `{"at":null,"inner":{"a":"x","b":""}}`},
		{"put of the same type", `{"inner":{"a":"x"}}`, func(v Value) {
			v.SetArray("parts").AppendValue(v.Get("inner"))
			v.Put("inner", v.Get("parts").Index(0))
		},
			`{"at":null,"inner":{"a":"x","b":""},"parts":[{"a":"x","b":""}]}`},
		{"put into itself", `{"inner":{"a":"x"}}`, func(v Value) { v.Put("raw", v) }, `{"at":null,"inner":{"a":"x","b":""},"raw":{"at":null,"inner":{"a":"x","b":""}}}`},
		{"put from another table", `{}`, func(v Value) { v.Put("inner", foreign.Root()) }, `{"at":null,"inner":{"a":"A","b":"B"}}`},
		{"put of untyped", `{}`, func(v Value) { v.Put("inner", untyped.Root()); v.Put("raw", untyped.Root()) },
			`{"at":null,"inner":{"a":"A","b":"B"},"raw":{"z":1.0,"b":"B","a":"A","list":[1,"x"]}}`},
		{"put of the wrong type", `{"name":"x"}`, func(v Value) { v.Put("name", untyped.Root().Get("list")) }, `{"name":[1,"x"],"at":null}`},
		{"put of null", `{"name":"x"}`, func(v Value) { v.Put("name", v.Get("at")) }, `{"name":null,"at":null}`},
		{"put of nothing", `{"name":"x"}`, func(v Value) { v.Put("name", v.Get("count")) }, `{"at":null}`},
		{"append values", `{}`, func(v Value) { v.SetArray("parts").AppendValue(untyped.Root()); v.Get("parts").AppendValue(Value{}) },
			`{"at":null,"parts":[{"a":"A","b":"B"}]}`},
		{"remove", `{"name":"x","count":1,"last":true}`, func(v Value) { v.Remove("count"); v.Remove("name"); v.Remove("nothing"); v.Remove("last") }, `{"at":null}`},
		{"remove elements", `{"tags":["a","b","c"]}`, func(v Value) {
			tags := v.Get("tags")
			tags.RemoveIndex(2)
			tags.RemoveIndex(0)
			tags.RemoveIndex(5)
			tags.RemoveIndex(-1)
			tags.AppendString("d")
		}, `{"at":null,"tags":["b","d"]}`},
		{"remove in a loop", `{"labels":{"a":"1","b":"2","c":"3"}}`, func(v Value) {
			labels := v.Get("labels")
			for name := range labels.Members() {
				if name != "b" {
					labels.Remove(name)
				}
			}
		}, `{"at":null,"labels":{"b":"2"}}`},
		{"not an object", `{"name":"x","tags":[]}`, func(v Value) {
			n := v.Get("name")
			n.SetString("a", "b")
			n.SetInt("a", 1)
			n.SetBool("a", true)
			n.SetNull("a")
			n.SetObject("a").SetString("b", "c")
			n.SetArray("a").AppendString("x")
			n.Put("a", v)
			n.Remove("a")
			n.AppendString("x")
			n.AppendObject()
			n.AppendValue(v)
			n.RemoveIndex(0)
			v.Get("nothing").SetString("a", "b")
			Value{}.SetString("a", "b")
			if err := n.SetRaw("a", []byte("1")); err != nil {
				t.Error(err)
			}
		}, `{"name":"x","at":null}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, _, err := (&Decoder{Table: table}).Decode(table.Root("Thing"), []byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			defer d.Release()
			c.change(d.Root())
			if got := string(d.Root().AppendJSON(nil)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			checkTree(t, d)
		})
	}
}

func TestValue(t *testing.T) {
	table := parseTable(t, kitchen)
	in := `{"name":"a\"b","count":5,"big":-9223372036854775808,"flag":true,"ratio":1.5,"labels":{"a.b/c":"x"},"tags":["p","q"],"parts":[{"more":[{"a":"deep"}]}],"raw":{"f\n":[1]}}`
	d, _, err := (&Decoder{Table: table}).Decode(table.Root("Thing"), []byte(in))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Release()
	v := d.Root()
	if s := v.Get("name").Text(); s != `a"b` || string(v.Get("name").AppendText(nil)) != s || !v.Get("name").Equals(s) || v.Get("name").Equals("a") {
		t.Errorf("name is %q", s)
	}
	if n, ok := v.Get("count").Int(); n != 5 || !ok {
		t.Error("count", n, ok)
	}
	if n, ok := v.Get("big").Int(); n != -1<<63 || !ok {
		t.Error("big", n, ok)
	}
	if _, ok := v.Get("ratio").Int(); ok {
		t.Error("1.5 is no Int")
	}
	if f, ok := v.Get("ratio").Float(); f != 1.5 || !ok {
		t.Error("ratio", f, ok)
	}
	if !v.Get("flag").Bool() || v.Get("ready").Bool() || v.Get("name").Bool() {
		t.Error("bools")
	}
	if v.Get("name").Equals("") || (Value{}).Equals("") || !v.Get("text").Equals("") {
		t.Error("Equals of the empty string")
	}
	if p := v.Get("parts").Index(0).Get("more").Index(0).Get("a").Path(); p != "parts[0].more[0].a" {
		t.Error(p)
	}
	if p := v.At("labels", "a.b/c").Path(); p != "labels[a.b/c]" {
		t.Error(p)
	}
	if p := v.At("raw", "f\n").Index(0).Path(); p != "raw.f\n[0]" {
		t.Errorf("%q", p)
	}
	var names []string
	for i, e := range v.Get("tags").Elements() {
		names = append(names, e.Text())
		if v.Get("tags").Index(i) != e {
			t.Error("Index", i)
		}
	}
	for name := range v.Get("raw").Members() {
		names = append(names, name)
	}
	if got := strings.Join(names, ","); got != "p,q,f\n" {
		t.Errorf("%q", got)
	}
	none := v.At("name", "x", "y")
	for range none.Members() {
		t.Error("members of nothing")
	}
	for range none.Elements() {
		t.Error("elements of nothing")
	}
	if none.Exists() || none.Kind() != Absent || none.IsNull() || none.Len() != 0 || none.Index(0).Exists() || none.Text() != "" || none.Path() != "" || none.AppendJSON(nil) != nil {
		t.Error("nothing is something")
	}
	if v.Get("tags").Index(2).Exists() || v.Get("tags").Index(-1).Exists() || v.Get("tags").Len() != 2 || v.Get("labels").Len() != 1 {
		t.Error("lengths")
	}
	if _, typ := v.Get("inner").Type(); typ >= 0 {
		t.Error("type of nothing")
	}
	if _, typ := v.Get("body").Type(); typ != table.Root("Inner") {
		t.Error("type of body")
	}
}

// Members in other positions than their type's are found all the same: text stored under
// another schema may have such.
func TestMembersOfAnotherSchema(t *testing.T) {
	table := parseTable(t, kitchen)
	d, err := ReadStored(table, table.Root("Thing"), []byte(`{"count":5,"gone":1,"name":"a","flag":true}`))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Release()
	v := d.Root()
	if got := v.Get("name").Text(); got != "a" {
		t.Errorf("name is %q", got)
	}
	v.SetString("never", "x")
	for name, want := range map[string]string{"count": "5", "gone": "1", "name": `"a"`, "flag": "true", "never": `"x"`, "ready": "", "else": ""} {
		if got := string(v.Get(name).AppendJSON(nil)); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// TestEqual: equality of values that were read, changed and written.
func TestEqual(t *testing.T) {
	read := func(text string) Value {
		d, err := DecodeAny([]byte(text), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		return d.Root()
	}
	a, b := read(`{"x":[1,{"y":"z"}]}`), read(` { "x" : [ 1, {"y":"z"} ] } `)
	if !Equal(a, b) || !Equal(a.Get("x"), b.Get("x")) || !Equal(Value{}, a.Get("q")) {
		t.Error("equal values differ")
	}
	b.Get("x").Index(1).SetString("y", "w")
	if Equal(a, b) || Equal(a, a.Get("x")) || Equal(a, Value{}) {
		t.Error("different values are equal")
	}
	b.Get("x").Index(1).SetString("y", "z")
	if !Equal(a, b) {
		t.Error("the change was undone")
	}
}

// TestRelease: values of a released document are absent, and the memory is
// reused only once.
func TestRelease(t *testing.T) {
	d, err := DecodeAny([]byte(`{"a":1}`), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	v := d.Root().Get("a")
	d.Release()
	d.Release()
	if v.Exists() || d.Root().Exists() {
		t.Error("a value lives on")
	}
	one, _ := DecodeAny([]byte(`1`), Limits{})
	two, _ := DecodeAny([]byte(`2`), Limits{})
	if one == two {
		t.Error("two documents in one memory")
	}
	var none *Document
	none.Release()
	if none.Root().Exists() {
		t.Error("root of no document")
	}
}
