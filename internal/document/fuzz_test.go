package document

import (
	"bytes"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/capstan-dev/capstan/internal/schema"
)

// seeds are bodies that reach most of the code.
var seeds = []string{
	`{}`, `null`, `[]`, `"x"`, ` {"a" : [1, -0, 1.5e3, true, null, "\u0041\ud800"]} `,
	`{"name":"a","name":"b","x":{"y":[{}]},"labels":{"b":"1","a":"2","b":"3"}}`,
	`{"cpu":"1000m","mem":1.5,"limits":{"a":"1e3"},"at":"2022-01-02T03:04:05.5+01:00","micro":"2022-01-02T03:04:05.000000Z","wait":"90s","data":"aGl="}`,
	`{"raw":{"b":1,"a":{"c":1,"c":2},"b":[{}]},"free":[null,{"a":1}],"loose":{"z":1}}`,
	`{"parts":[{"more":[{"a":"x"}]}],"byName":{"k":{"b":""}},"inner":{},"names":[],"port":"http","ratio":-0.0}`,
	`{"labels":{"\n":"x","\\":"y","` + "\xff" + `":"z"},"weird":{"a":"0001-01-01T00:00:00Z"}}`,
	`{"protocol":"","level":0,"ranges":[],"shape":{"size":0}}`,
}

func addSeeds(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
}

// FuzzDecode: a decoded value is written as valid JSON, and that is a fixed point:
// reading it again gives the same bytes, no problems, and a tree that needs no rewriting.
func FuzzDecode(f *testing.F) {
	addSeeds(f)
	table := parseTable(f, kitchen)
	f.Fuzz(func(t *testing.T, data []byte) { checkDecode(t, table, data) })
}

func checkDecode(t testing.TB, table *schema.Table, data []byte) {
	typ := table.Root("Thing")
	dec := Decoder{Table: table, Limits: Limits{MaxBytes: 1 << 16, MaxNodes: 20_000}}
	d, _, err := dec.Decode(typ, data)
	if err != nil {
		return
	}
	defer d.Release()
	if !json.Valid(data) {
		t.Fatalf("%q is no JSON", data)
	}
	checkTree(t, d)
	text := d.Root().AppendJSON(nil)
	if !json.Valid(text) {
		t.Fatalf("%q is written as %q", data, text)
	}
	Validate(d.Root(), nil)
	again, problems, err := dec.Decode(typ, text)
	if err != nil || len(problems) > 0 {
		t.Fatalf("reading %q again: %v %v", text, err, problems)
	}
	defer again.Release()
	if written := again.Root().AppendJSON(nil); !bytes.Equal(written, text) {
		t.Fatalf("%q is no fixed point: %q", text, written)
	}
	if again.nodes[1].flags&clean == 0 {
		t.Fatalf("%q is not recognised as canonical", text)
	}
	stored, err := ReadStored(table, typ, text)
	if err != nil {
		t.Fatalf("ReadStored of %q: %v", text, err)
	}
	defer stored.Release()
	checkTree(t, stored)
	if !sameTree(again, stored, 1, 1) {
		t.Fatalf("ReadStored of %q gives another tree", text)
	}
	if causes := ValidateUpdate(d.Root(), stored.Root(), nil); len(causes) > 0 {
		t.Fatalf("%q differs from itself: %v", text, causes)
	}
	if !Equal(d.Root(), stored.Root()) {
		t.Fatalf("%q does not equal itself", text)
	}
	checkEdits(t, table, text)
}

// edit makes some changes to a document.
func edit(v Value) {
	v.SetString("name", "x")
	v.SetObject("inner").Put("a", v.Get("labels"))
	v.SetArray("parts").AppendValue(v.Get("inner"))
	v.Put("body", v.Get("raw"))
	v.Remove("raw")
	for _, part := range v.Get("parts").Elements() {
		part.SetString("a", "edited")
	}
}

// checkEdits: a document that was read from the store on demand changes like one that was
// walked, and the result of decoding is the same with and without the stored value.
func checkEdits(t testing.TB, table *schema.Table, text []byte) {
	typ, dec := table.Root("Thing"), Decoder{Table: table}
	whole, _, err := dec.Decode(typ, text)
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Release()
	lazy, err := ReadStored(table, typ, text)
	if err != nil {
		t.Fatal(err)
	}
	defer lazy.Release()
	edit(whole.Root())
	edit(lazy.Root())
	checkTree(t, lazy)
	edited := whole.Root().AppendJSON(nil)
	if got := lazy.Root().AppendJSON(nil); !bytes.Equal(got, edited) {
		t.Fatalf("%q edited is %q, want %q", text, got, edited)
	}
	old, err := ReadStored(table, typ, text)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Release()
	plain, problems, err := dec.Decode(typ, edited)
	over, found, overErr := dec.DecodeOver(old.Root(), typ, edited)
	if (err == nil) != (overErr == nil) || len(problems) != len(found) {
		t.Fatalf("%q over %q: %v %v, want %v %v", edited, text, overErr, found, err, problems)
	}
	if err != nil {
		return
	}
	defer plain.Release()
	defer over.Release()
	checkTree(t, over)
	if !sameTree(plain, over, 1, 1) {
		t.Fatalf("%q over %q gives another tree: %q", edited, text, over.Root().AppendJSON(nil))
	}
	if causes, want := Validate(over.Root(), nil), Validate(plain.Root(), nil); len(causes) > len(want) {
		t.Fatalf("%q over %q: %v, want %v", edited, text, causes, want)
	}
}

// sameTree compares two trees except for the positions of their text.
func sameTree(a, b *Document, m, n int32) bool {
	a.unfold(m)
	b.unfold(n)
	x, y := a.nodes[m], b.nodes[n]
	if x.kind != y.kind || x.typ != y.typ || x.field != y.field || (x.flags^y.flags)&^stored != 0 {
		return false
	}
	if m != 1 && a.name(m) != b.name(n) || !bytes.Equal(a.appendJSON(nil, m), b.appendJSON(nil, n)) {
		return false
	}
	c, d := x.first, y.first
	for ; c != 0 && d != 0; c, d = a.nodes[c].next, b.nodes[d].next {
		if !sameTree(a, b, c, d) {
			return false
		}
	}
	return c == 0 && d == 0
}

// FuzzDecodeAny: the same without a type; the value is that of encoding/json.
func FuzzDecodeAny(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := DecodeAny(data, Limits{})
		if (err == nil) != json.Valid(data) {
			if _, limit := err.(*LimitError); !limit {
				t.Fatalf("%q: %v, but valid is %t", data, err, json.Valid(data))
			}
		}
		if err != nil {
			return
		}
		defer d.Release()
		checkTree(t, d)
		text := d.Root().AppendJSON(nil)
		again, err := DecodeAny(text, Limits{})
		if err != nil {
			t.Fatalf("reading %q again: %v", text, err)
		}
		defer again.Release()
		if written := again.Root().AppendJSON(nil); !bytes.Equal(written, text) {
			t.Fatalf("%q is no fixed point: %q", text, written)
		}
		if got, want := normal(t, text), normal(t, data); !bytes.Equal(got, want) {
			t.Fatalf("%q is read as %q, want %q", data, got, want)
		}
	})
}

// normal is the text as encoding/json writes it, with numbers as they are.
func normal(t testing.TB, text []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// FuzzReadStored: damaged bytes give an error or some tree, never a panic.
func FuzzReadStored(f *testing.F) {
	addSeeds(f)
	f.Add([]byte(`{"name":"a","count":1,"zzz":[1],"name":{"a":1}}`))
	f.Add([]byte(`{"inner":"x","parts":{"a":1},"labels":[1],"raw":"\`))
	table := parseTable(f, kitchen)
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := ReadStored(table, table.Root("Thing"), data)
		if err != nil {
			return
		}
		defer d.Release()
		v := d.Root()
		if text := v.AppendJSON(nil); !bytes.Equal(text, data) {
			t.Fatalf("%q is written as %q", data, text)
		}
		visit(v)
		Validate(v, nil)
		ValidateUpdate(v, v, nil)
		v.SetString("name", "x")
		v.SetObject("inner").Put("a", v.Get("labels"))
		v.SetArray("parts").AppendValue(v.Get("inner"))
		v.Put("body", v.Get("raw"))
		v.Remove("raw")
		v.AppendJSON(nil)
	})
}

// visit calls the getters everywhere.
func visit(v Value) {
	v.Text()
	v.Int()
	v.Float()
	v.Bool()
	v.Path()
	for _, e := range v.Elements() {
		visit(e)
	}
	for name, m := range v.Members() {
		v.Get(name)
		visit(m)
	}
}

// FuzzFind: in canonical text Find agrees with the tree, and it never panics on other
// text.
func FuzzFind(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s), "name", "a")
	}
	f.Add([]byte(`{"a\n":{"\"":[1]},"b":"}{]["}`), "a\n", "\"")
	f.Fuzz(func(t *testing.T, data []byte, first, second string) {
		Find(data)
		Find(data, first)
		Find(data, first, second)
		d, err := DecodeAny(data, Limits{})
		if err != nil {
			return
		}
		defer d.Release()
		text := d.Root().AppendJSON(nil)
		v := d.Root()
		for _, path := range [][]string{{}, {first}, {first, second}} {
			got, ok := Find(text, path...)
			want := v.At(path...)
			if ok != want.Exists() || string(got) != string(want.AppendJSON(nil)) {
				t.Fatalf("%q %q: got %q %t, want %q", text, path, got, ok, want.AppendJSON(nil))
			}
			if ok && !bytes.Equal(text[cap(text)-cap(got):][:len(got)], got) {
				t.Fatal("the result does not tell its offset")
			}
		}
	})
}

// TestRoundTrip makes bodies from the table instead of bytes, so that all of them are
// accepted.
func TestRoundTrip(t *testing.T) {
	table := parseTable(t, kitchen)
	rapid.Check(t, func(r *rapid.T) {
		body := drawValue(r, table, table.Root("Thing"), 0)
		text, err := json.Marshal(body)
		if err != nil {
			r.Fatal(err)
		}
		if _, _, err := (&Decoder{Table: table}).Decode(table.Root("Thing"), text); err != nil {
			r.Fatalf("%s: %v", text, err)
		}
		checkDecode(t, table, text)
	})
}

// drawValue draws a value that a type allows.
func drawValue(r *rapid.T, table *schema.Table, typ schema.Ref, depth int) any {
	t := &table.Types[typ]
	size := 0
	if depth < 4 {
		size = rapid.IntRange(0, 3).Draw(r, "size")
	}
	switch t.Kind {
	case schema.Object:
		m := map[string]any{}
		for i := range t.Fields {
			if f := &t.Fields[i]; rapid.IntRange(0, 9).Draw(r, f.Name) < size {
				m[f.Name] = drawValue(r, table, f.Type, depth+1)
			}
		}
		return m
	case schema.Map:
		m := map[string]any{}
		for range size {
			m[rapid.String().Draw(r, "key")] = drawValue(r, table, t.Elem, depth+1)
		}
		return m
	case schema.List:
		l := []any{}
		for range size {
			l = append(l, drawValue(r, table, t.Elem, depth+1))
		}
		return l
	case schema.String:
		return rapid.String().Draw(r, "string")
	case schema.Bytes:
		return rapid.SliceOf(rapid.Byte()).Draw(r, "bytes")
	case schema.Boolean:
		return rapid.Bool().Draw(r, "bool")
	case schema.Integer:
		if t.Bits == 32 {
			return rapid.Int32().Draw(r, "int32")
		}
		return rapid.Int64().Draw(r, "int64")
	case schema.Number:
		return rapid.Float64().Draw(r, "number")
	case schema.IntOrString:
		if rapid.Bool().Draw(r, "is int") {
			return rapid.Int32().Draw(r, "int")
		}
		return rapid.String().Draw(r, "string")
	case schema.Quantity:
		return rapid.StringMatching(`[0-9]{1,5}(m|k|Mi|Gi)?`).Draw(r, "quantity")
	case schema.MicroTime:
		return rapid.StringMatching(`20[0-9]{2}-0[1-9]-1[0-9]T1[0-9]:[0-5][0-9]:[0-5][0-9]\.[0-9]{6}(Z|\+01:00)`).Draw(r, "micro time")
	case schema.Time:
		return rapid.StringMatching(`20[0-9]{2}-0[1-9]-1[0-9]T1[0-9]:[0-5][0-9]:[0-5][0-9](\.[0-9]{1,7})?(Z|\+01:00)`).Draw(r, "time")
	case schema.Duration:
		return rapid.StringMatching(`[0-9]{1,3}(s|m|h|ms)`).Draw(r, "duration")
	}
	switch {
	case size == 0:
		return rapid.SampledFrom([]any{nil, true, 0, -1.5, "", "x"}).Draw(r, "any")
	case size == 1:
		return []any{drawValue(r, table, typ, depth+2)}
	}
	return map[string]any{rapid.String().Draw(r, "key"): drawValue(r, table, typ, depth+2), "k": nil}
}
