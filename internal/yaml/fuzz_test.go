package yaml

import "testing"

var seeds = []string{
	"a: 1\nb: [x, z]\nc:\n  d: 1.5\n", "a: &x {b: 1}\nc: *x\nd: {<<: *x, e: 2}\n", "- yes\n- 0777\n- 1_000\n- ~\n- \n", "a: |\n  x\n   y\n\n  z\nb: >-\n  x\n  y\n\n  z\n",
	"a: 1\na: 2\n", "&a [*a]", "? [a]\n: b", `{"a":"\u003c\u2028x","b":[1,-1,null,true],"c":{"z":0,"a":{}}}`, "{\n \"a\": \"é\\n\"\n}\n",
	`{"a":1e3,"b":-0,"c":1.0}`, `{"a":"\/"}`, `{"a" :1}`, `{"<<":{"a":1}}`, "!!binary aGk=", "--- \n...\n", "<<: {a: 1}\n", "%YAML 1.1\n%TAG !e! tag:x,2000:\n---\na: !e!foo b\n",
	"a:\n- b\n- c: d\n  e: f\n- - g\n  - h\n", "'it''s': \"x\\\n  y\\x41\"\n", "a: b\n  c\n\n  d # e\nf: g\n", "{a, b: , ? c : d, ? e}", "[a: b, ? c, ? d : e, {f}]", "&a k: *a\n*a : v\n",
	"<<: [{a: 1, b: &x 3}, {a: 2}]\nc: *x\n", "a: !!str 1\nb: !!int \"2\"\nc: !!float 3\nd: !!null ''\ne: ! 4\n", "1: a\n1.5: b\ntrue: c\n0x10: d\n", "\"a\" \"b\"", "\"\"[\"", "a: b: c", "a\nb: c", "\t- x", "- \t- x",
	"a: |2\n    x\n  y\n", "|+\n\n a\n\n\n", ">\n a\n  b\n c\n\n d\n", "a: .inf\n", "18446744073709551615: 1", "a: 18446744073709551615\nb: 18446744073709551616\n", "[2022-01-02, 2022-01-02T00:00:00Z, 0b11, 0o17, 08, .5, 1., +1, -0x1f]",
	"a: 'x\n\n  y'\n", "\"a\u2028b\": c\u0085d: e\n", "a:\r\n  b:\r\n    - c\r\n", "--- a\n--- b\n", "--- {a: b}\n...\nx", "# c\n---\n# d\n", "a: [b, c\n", "a: {b: [c, {d: e}], f: g}\n",
	"? a\n? b\n: c\n", "a:\n  - b\n c: d\n", "- a: b\n   c: d\n", "a: *x", "!<tag:yaml.org,2002:str> 1", "!!set {a, b}", "@a", "%a", "a: %b\n", "`", "-a\n", "?a: b\n", ":a: b\n", "a:b", "{a:b}", "{\"a\":b}", "[a,]", "[,]", "{,}", "{a: b,}",
	"&a\nb: &c\n- d\n", "- &a\n- *a\n", "- !!str\n- !!str\n", "a: &x\n  <<: &y {b: 1}\nc: *y\nd: *x\n", "{<<: }", "<<: x", "<<: [*a]", "\xef\xbb\xbfa: b\n", "a: \"\n", "a: 'b\n---\n'", "key: value\n\n\n# end\n  # more\n",
}

// FuzzToJSON: ToJSON agrees with the library.
func FuzzToJSON(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) > 1<<12 {
			return
		}
		check(t, in)
	})
}
