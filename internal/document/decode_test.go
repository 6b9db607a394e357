package document

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capstan-dev/capstan/internal/schema"
)

// kitchen has every kind with every presence.
const kitchen = `
type Thing
  kind string
  apiVersion string
  name string
  text string always
  maybe string explicit
  count int32
  big int64
  must int32 always
  opt int32 explicit
  flag bool
  ready bool always
  paused bool explicit
  ratio number
  weight number explicit
  port intorstring always
  target intorstring explicit
  cpu quantity explicit
  mem quantity always
  at time always
  since time explicit
  micro microtime explicit
  wait duration explicit
  data bytes
  raw any
  labels map:string
  notes map:string explicit
  limits map:quantity
  tags []string
  sizes []int32
  names []string always
  inner Inner explicit
  body Inner always
  parts []Inner
  byName map:Inner
  blobs map:bytes
  free []any
  loose map:any
  weird map:time
  protocol string default="TCP"
  level int32 always default=3
  mode string explicit default="fast"
  shape Shape explicit default={}
  ranges []int32 default=[1,2]
type Inner
  a string
  b string always
  when time always
  more []Inner
type Shape
  kind string default="round"
  size int32 explicit
`

// thing is the canonical Thing with these members besides those of every Thing; a member
// given as name:text replaces or adds it.
func thing(t *testing.T, table *schema.Table, members ...string) string {
	t.Helper()
	values := map[string]string{"text": `""`, "must": "0", "ready": "false", "port": "0", "mem": `"0"`, "at": "null",
		"names": "null", "body": `{"b":"","when":null}`, "protocol": `"TCP"`, "level": "3", "mode": `"fast"`,
		"shape": `{"kind":"round"}`, "ranges": "[1,2]"}
	for _, m := range members {
		name, text, ok := strings.Cut(m, ":")
		if !ok {
			t.Fatalf("member %q", m)
		}
		values[name] = text
	}
	var parts []string
	for _, f := range table.Types[table.Root("Thing")].Fields {
		if text := values[f.Name]; text != "" {
			parts = append(parts, fmt.Sprintf("%q:%s", f.Name, text))
		}
		delete(values, f.Name)
	}
	if len(values) > 0 {
		t.Fatalf("no such members: %v", values)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func TestDecode(t *testing.T) {
	table := parseTable(t, kitchen)
	dec := Decoder{Table: table}
	for _, c := range []struct {
		name, in string
		members  []string // the differences of the result from an empty Thing
	}{
		{"nothing", `{}`, nil},
		{"white space", " {\n\t} \r\n", nil},
		{"null", `null`, nil},
		{"order", `{"name":"n","apiVersion":"v","kind":"k"}`, []string{`kind:"k"`, `apiVersion:"v"`, `name:"n"`}},
		{"implicit zeros go", `{"name":"","count":0,"big":0,"flag":false,"ratio":0,"data":"","labels":{},"tags":[],"parts":[]}`, nil},
		{"implicit zeros in other words", `{"count":-0,"ratio":0.0e5,"data":"\r\n"}`, nil},
		{"explicit zeros stay", `{"maybe":"","opt":0,"paused":false,"weight":0,"target":0,"cpu":"0","wait":"0s","notes":{},"inner":{}}`,
			[]string{`maybe:""`, `opt:0`, `paused:false`, `weight:0`, `target:0`, `cpu:"0"`, `wait:"0s"`, `notes:{}`, `inner:{"b":"","when":null}`}},
		{"always as sent", `{"text":"x","must":1,"ready":true,"port":"http","mem":"1","names":["a"]}`,
			[]string{`text:"x"`, `must:1`, `ready:true`, `port:"http"`, `mem:"1"`, `names:["a"]`}},
		{"empty always list", `{"names":[]}`, nil},
		{"nulls are nothing", `{"name":null,"text":null,"maybe":null,"must":null,"opt":null,"at":null,"since":null,"raw":null,"labels":null,"tags":null,"names":null,"inner":null,"body":null,"shape":null,"mode":null,"port":null,"mem":null}`, nil},
		{"null after a value", `{"name":"x","name":null,"must":1,"must":null,"body":{"b":"y"},"body":null}`, []string{`name:"x"`, `must:1`, `body:{"b":"y","when":null}`}},
		{"null spoils an earlier value", `{"maybe":"x","maybe":null,"labels":{"a":"b"},"labels":null,"tags":["x"],"tags":null}`, nil},

		{"int32", `{"count":-2147483648,"must":2147483647}`, []string{`count:-2147483648`, `must:2147483647`}},
		{"int64", `{"big":-9223372036854775808}`, []string{`big:-9223372036854775808`}},
		{"numbers", `{"ratio":1.50,"weight":1e21}`, []string{`ratio:1.5`, `weight:1e+21`}},
		{"small numbers", `{"ratio":0.0000001,"weight":1E2}`, []string{`ratio:1e-7`, `weight:100`}},
		{"long numbers", `{"ratio":12345678901234567890}`, []string{`ratio:12345678901234567000`}},
		{"int or string", `{"port":-0,"target":"25%"}`, []string{`port:0`, `target:"25%"`}},
		{"quantities", `{"cpu":"1000m","mem":1.5,"limits":{"a":"0.5","b":"1024Ki","c":"1e3","d":2,"e":"1Gi","f":" 7 "}}`,
			[]string{`cpu:"1"`, `mem:"1500m"`, `limits:{"a":"500m","b":"1Mi","c":"1e3","d":"2","e":"1Gi","f":"7"}`}},
		{"times", `{"at":"2022-01-02T03:04:05.9+01:00","since":"2022-01-02T03:04:05Z","micro":"2022-01-02T04:04:05.500000+01:00"}`,
			[]string{`at:"2022-01-02T02:04:05Z"`, `since:"2022-01-02T03:04:05Z"`, `micro:"2022-01-02T03:04:05.500000Z"`}},
		{"zero times are nothing", `{"at":"0001-01-01T00:00:00Z","since":"0001-01-01T00:00:00.1Z","micro":"0001-01-01T00:00:00.000000Z"}`, nil},
		{"durations", `{"wait":"90s"}`, []string{`wait:"1m30s"`}},
		{"bytes as numbers", `{"data":[104, 105],"blobs":{"a":[],"b":[0,255,null]}}`, []string{`data:"aGk="`, `blobs:{"a":"","b":"AP8A"}`}},
		{"bytes", `{"data":"aGk=","blobs":{"a":"aG\nk=","b":"aGl=","c":""}}`, []string{`data:"aGk="`, `blobs:{"a":"aGk=","b":"aGk=","c":""}`}},

		{"escapes", `{"name":"\u0041\/\u00e9\u2028\"\\\n\u0001\ud83d\ude00"}`, []string{"name:\"A/é\u2028\\\"\\\\\\n\\u0001😀\""}},
		{"wrong UTF-8", "{\"name\":\"a\xffb\\ud800\"}", []string{"name:\"a\ufffdb\ufffd\""}},
		{"escaped names", `{"n\u0061me":"x"}`, []string{`name:"x"`}},
		{"maps are sorted", `{"labels":{"b":"1","\u0061":"2","a\n":"4","":"3"}}`, []string{`labels:{"":"3","a":"2","a\n":"4","b":"1"}`}},
		{"escaped keys sort by what they mean", `{"labels":{"\\":"2","\"":"1","]":"3"}}`, []string{`labels:{"\"":"1","\\":"2","]":"3"}`}},
		{"nulls in maps", `{"labels":{"a":null},"limits":{"a":null},"blobs":{"a":null},"byName":{"a":null},"weird":{"a":null},"loose":{"a":null}}`,
			[]string{`labels:{"a":""}`, `limits:{"a":"0"}`, `blobs:{"a":""}`, `byName:{"a":{"b":"","when":null}}`, `weird:{"a":null}`, `loose:{"a":null}`}},
		{"any is as sent", `{"raw": {"b": 1.0, "a": [null, {} , "\u0041", -0], "c": 1E3}}`, []string{`raw:{"b":1.0,"a":[null,{},"A",-0],"c":1E3}`}},
		{"lists of any", `{"free":[null,1,"x"],"loose":{"b":{"z":1,"y":2},"a":0}}`, []string{`free:[null,1,"x"]`, `loose:{"a":0,"b":{"z":1,"y":2}}`}},
		{"elements keep zeros", `{"tags":["",""],"sizes":[0],"parts":[{}]}`, []string{`tags:["",""]`, `sizes:[0]`, `parts:[{"b":"","when":null}]`}},
		{"nesting", `{"parts":[{"more":[{"a":"x"},{"more":[]}]}]}`, []string{`parts:[{"b":"","when":null,"more":[{"a":"x","b":"","when":null},{"b":"","when":null}]}]`}},

		{"default for zero", `{"protocol":"","level":0,"ranges":[]}`, nil},
		{"no default for explicit zero", `{"mode":""}`, []string{`mode:""`}},
		{"no default for what was sent", `{"protocol":"UDP","level":1,"mode":"slow","ranges":[5]}`, []string{`protocol:"UDP"`, `level:1`, `mode:"slow"`, `ranges:[5]`}},
		{"defaults inside", `{"shape":{"size":0}}`, []string{`shape:{"kind":"round","size":0}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := thing(t, table, c.members...)
			d, _, err := dec.Decode(table.Root("Thing"), []byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			defer d.Release()
			if got := string(d.Root().AppendJSON(nil)); got != want {
				t.Fatalf("got  %s\nwant %s", got, want)
			}
			checkTree(t, d)
			again, problems, err := dec.Decode(table.Root("Thing"), []byte(want))
			if err != nil || len(problems) > 0 {
				t.Fatal("reading the result again:", err, problems)
			}
			defer again.Release()
			if again.nodes[1].flags&clean == 0 {
				t.Error("canonical text is not recognised as such")
			}
		})
	}
}

func TestProblems(t *testing.T) {
	table := parseTable(t, kitchen)
	dec := Decoder{Table: table}
	for _, c := range []struct {
		name, in string
		want     []Problem
		members  []string
	}{
		{"unknown", `{"nmae":"x","name":"y"}`, []Problem{{Path: "nmae"}}, []string{`name:"y"`}},
		{"case matters", `{"Name":"x"}`, []Problem{{Path: "Name"}}, nil},
		{"unknown inside", `{"parts":[{},{"more":[{"x":{"y":[1,{"z":null}]}}]}]}`, []Problem{{Path: "parts[1].more[0].x"}},
			[]string{`parts:[{"b":"","when":null},{"b":"","when":null,"more":[{"b":"","when":null}]}]`}},
		{"unknown in a map", `{"byName":{"k":{"x":1}}}`, []Problem{{Path: "byName.k.x"}}, []string{`byName:{"k":{"b":"","when":null}}`}},
		{"unknown twice", `{"x":1,"x":2}`, []Problem{{Path: "x"}}, nil},
		{"duplicate", `{"name":"x","name":"y"}`, []Problem{{Duplicate: true, Path: "name"}}, []string{`name:"y"`}},
		{"three times", `{"name":"x","name":"y","name":"z"}`, []Problem{{Duplicate: true, Path: "name"}}, []string{`name:"z"`}},
		{"duplicate of another spelling", `{"name":"x","n\u0061me":"y"}`, []Problem{{Duplicate: true, Path: "name"}}, []string{`name:"y"`}},
		{"duplicate out of order", `{"count":1,"name":"x","count":2}`, []Problem{{Duplicate: true, Path: "count"}}, []string{`name:"x"`, `count:2`}},
		{"objects are replaced", `{"inner":{"a":"x"},"inner":{"b":"y"}}`, []Problem{{Duplicate: true, Path: "inner"}}, []string{`inner:{"b":"y","when":null}`}},
		{"null twice", `{"name":null,"name":null}`, []Problem{{Duplicate: true, Path: "name"}}, nil},
		{"null, then a value", `{"inner":{"a":null,"a":"x"}}`, []Problem{{Duplicate: true, Path: "inner.a"}}, []string{`inner:{"a":"x","b":"","when":null}`}},
		{"duplicate key", `{"labels":{"b":"1","a":"2","b":"3"}}`, []Problem{{Duplicate: true, Path: "labels.b"}}, []string{`labels:{"a":"2","b":"3"}`}},
		{"duplicate in any", `{"raw":{"b":1,"a":{"c":1,"c":{"d":2}},"b":[3]}}`,
			[]Problem{{Duplicate: true, Untyped: true, Path: "raw.a.c"}, {Duplicate: true, Untyped: true, Path: "raw.b"}}, []string{`raw:{"b":[3],"a":{"c":{"d":2}}}`}},
		{"all of them", `{"x":1,"name":"a","name":"b","inner":{"y":1}}`,
			[]Problem{{Path: "x"}, {Duplicate: true, Path: "name"}, {Path: "inner.y"}}, []string{`name:"b"`, `inner:{"b":"","when":null}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, problems, err := dec.Decode(table.Root("Thing"), []byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			defer d.Release()
			if diff := cmp.Diff(c.want, problems); diff != "" {
				t.Error(diff)
			}
			if got, want := string(d.Root().AppendJSON(nil)), thing(t, table, c.members...); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			checkTree(t, d)
		})
	}
}

// TestManyDuplicates: in objects with many members not every pair is compared.
func TestManyDuplicates(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"raw":{`)
	for i := range 100 {
		fmt.Fprintf(&b, `"k%02d":%d,`, (i*7)%50, i)
	}
	b.WriteString(`"z":0}}`)
	table := parseTable(t, kitchen)
	d, problems, err := (&Decoder{Table: table}).Decode(table.Root("Thing"), []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Release()
	if len(problems) != 50 {
		t.Errorf("%d problems, want 50", len(problems))
	}
	raw := d.Root().Get("raw")
	if n := raw.Len(); n != 51 {
		t.Errorf("%d members, want 51", n)
	}
	if n, _ := raw.Get("k07").Int(); n != 51 {
		t.Errorf("k07 is %d, want the last, 51", n)
	}
	first := ""
	for name := range raw.Members() {
		first = name
		break
	}
	if first != "k00" {
		t.Errorf("the first member is %s, want the one that was first", first)
	}
	checkTree(t, d)
}

func TestDecodeAny(t *testing.T) {
	for in, want := range map[string]string{
		`null`:                              `null`,
		` [1 , "\u0061",{ "b":1,"a":null}]`: `[1,"a",{"b":1,"a":null}]`,
		`{"a":1,"b":2,"a":3}`:               `{"a":3,"b":2}`,
		`1.50`:                              `1.50`,
		`"x"`:                               `"x"`,
	} {
		d, err := DecodeAny([]byte(in), Limits{})
		if err != nil {
			t.Fatal(in, err)
		}
		if got := string(d.Root().AppendJSON(nil)); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
		checkTree(t, d)
		d.Release()
	}
	for _, in := range []string{``, `{`, `]`, `{"a"}`, `{a:1}`, `[1 2]`, `nul`, "\x00", `"`, `{"a":1}}`} {
		if _, err := DecodeAny([]byte(in), Limits{}); err == nil {
			t.Errorf("%q: no error", in)
		}
	}
}

// TestHooks: default hooks run inner first, after schema defaults, and the values that
// they set obey presence.
func TestHooks(t *testing.T) {
	table := parseTable(t, `
type Pod hook
  name string
  mode string default="fast"
  boxes []Box
  sum string
  zero int32
type Box hook
  name string
  image string
  pull string
`)
	var calls []string
	dec := Decoder{Table: table, Defaults: []func(Value){
		func(v Value) {
			calls = append(calls, "pod "+v.Get("mode").Text())
			v.SetInt("zero", 0)
			v.SetString("sum", v.Get("boxes").Index(0).Get("pull").Text())
		},
		func(v Value) {
			calls = append(calls, "box "+v.Path())
			if !v.Get("pull").Exists() {
				v.SetString("pull", "Always")
			}
		},
	}}
	d, _, err := dec.Decode(table.Root("Pod"), []byte(`{"boxes":[{"name":"a","pull":""},{"pull":"Never"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Release()
	if diff := cmp.Diff([]string{"box boxes[0]", "box boxes[1]", "pod fast"}, calls); diff != "" {
		t.Error(diff)
	}
	want := `{"mode":"fast","boxes":[{"name":"a","pull":"Always"},{"pull":"Never"}],"sum":"Always"}`
	if got := string(d.Root().AppendJSON(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	checkTree(t, d)
}

// checkTree checks the invariants of node.
func checkTree(tb testing.TB, d *Document) {
	tb.Helper()
	var walk func(n int32)
	walk = func(n int32) {
		d.unfold(n)
		nd := d.nodes[n]
		if nd.flags&clean != 0 {
			text := string(d.text(nd.off, nd.size))
			d.nodes[n].flags &^= clean
			if written := string(d.appendJSON(nil, n)); written != text {
				tb.Errorf("node %d is clean with %s but is %s", n, text, written)
			}
			d.nodes[n].flags |= clean
		}
		last, prev := int32(0), int32(0)
		mapped := nd.typ >= 0 && d.table.Types[nd.typ].Kind == schema.Map
		for c := nd.first; c != 0; c = d.nodes[c].next {
			if d.nodes[c].parent != n {
				tb.Errorf("node %d has parent %d, want %d", c, d.nodes[c].parent, n)
			}
			if nd.kind == Object && prev != 0 && d.compare(prev, c, mapped) >= 0 {
				tb.Errorf("%s: members out of order", d.name(c))
			}
			walk(c)
			last, prev = c, c
		}
		if nd.last != last {
			tb.Errorf("node %d: last is %d, want %d", n, nd.last, last)
		}
	}
	walk(1)
}
