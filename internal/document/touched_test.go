package document

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const touchedRules = `
type Thing
  phase Phase
  level Level explicit required
  name string always required
  box Box explicit
  ports Ports
  set Set
  list []Phase
  boxes []Box
  few Few explicit
  table map:Phase
  deep map:Box
  must []Must
type Must
  name string required
  other string
type Box
  phase Phase
  other string
  level Level explicit
type Port
  port int32
  phase Phase
scalar Phase string enum=Good
scalar Level int32 min=1
scalar Ports []Port keys=port unique
scalar Set []string set unique
scalar Few []string maxitems=1 minitems=1
`

func TestValidateTouched(t *testing.T) {
	table := parseTable(t, touchedRules)
	dec := Decoder{Table: table}
	for _, c := range []struct{ name, old, now, want string }{
		{"nothing before", ``, `"phase":"Bad"`, "phase level name"},
		{"untouched", `"phase":"Bad","level":0`, `"phase":"Bad","level":0`, ""},
		{"touched", `"phase":"Bad","level":0`, `"phase":"Worse","level":-1`, "phase level"},
		{"required before", `"level":1,"name":"n"`, ``, "level name"},
		{"required in a new object", `"level":1,"name":"n"`, `"level":1,"name":"n","must":[{}]`, "must[0].name"},
		{"required in an object that lacks it", `"level":1,"name":"n","must":[{}]`, `"level":1,"name":"n","must":[{"other":"x"},{}]`, "must[0].name"},
		{"right before", `"phase":"Good","level":1`, `"phase":"Bad","level":0`, "phase level"},
		{"beside it", `"box":{"phase":"Bad","other":"a"}`, `"box":{"phase":"Bad","other":"b"}`, ""},
		{"another beside it", `"box":{"phase":"Bad","level":1}`, `"box":{"phase":"Bad","level":0}`, "box.level"},
		{"taken away and back", `"level":1`, `"level":1,"box":{"phase":"Bad"}`, "box.phase"},
		{"by its key", `"ports":[{"port":1,"phase":"Bad"},{"port":2}]`, `"ports":[{"port":2},{"port":3},{"port":1,"phase":"Bad"}]`, ""},
		{"under another key", `"ports":[{"port":1,"phase":"Bad"}]`, `"ports":[{"port":2,"phase":"Bad"}]`, "ports[0].phase"},
		{"repeated before", `"ports":[{"port":1},{"port":1}],"set":["a","a"]`, `"ports":[{"port":2},{"port":1},{"port":1}],"set":["a","b","a"]`, ""},
		{"repeated more often", `"ports":[{"port":1},{"port":1}],"set":["a","a"]`, `"ports":[{"port":1},{"port":1},{"port":1}],"set":["a","a","a"]`, "ports[2].port set[2]"},
		{"repeated now", `"ports":[{"port":1}],"set":["a"]`, `"ports":[{"port":1},{"port":1}],"set":["a","a"]`, "ports[1].port set[1]"},
		{"an equal element elsewhere", `"list":["Bad","Good"]`, `"list":["Good","Good","Bad"]`, ""},
		{"one more of the kind", `"list":["Bad"]`, `"list":["Bad","Bad"]`, "list[1]"},
		{"a new element", `"list":["Bad","Good"]`, `"list":["Good","Worse","Bad"]`, "list[1]"},
		{"the element at its place", `"boxes":[{"other":"x"},{"phase":"Bad","other":"a"}]`, `"boxes":[{"other":"x"},{"phase":"Bad","other":"b"}]`, ""},
		{"the element at another place", `"boxes":[{"phase":"Bad","other":"a"}]`, `"boxes":[{"other":"x"},{"phase":"Bad","other":"b"}]`, "boxes[1].phase"},
		{"as many", `"few":["a","b"]`, `"few":["a","c"]`, ""},
		{"more", `"few":["a","b"]`, `"few":["a","b","c"]`, "few"},
		{"less, but too many", `"few":["a","b","c"]`, `"few":["a","b"]`, "few"},
		{"none where nothing was", ``, `"few":[]`, "few"},
		{"members by name", `"table":{"a":"Bad","b":"Good"},"deep":{"x":{"phase":"Bad"}}`, `"table":{"a":"Bad","b":"Bad","c":"Bad"},"deep":{"w":{"phase":"Bad"},"x":{"phase":"Bad","other":"o"}}`, "table[b] table[c] deep[w].phase"},
	} {
		t.Run(c.name, func(t *testing.T) {
			read := func(text string) Value {
				doc, _, err := dec.Decode(0, []byte("{"+text+"}"))
				if err != nil {
					t.Fatal(err)
				}
				return doc.Root()
			}
			old := Value{}
			if c.name != "nothing before" {
				stored, err := ReadStored(table, 0, read(c.old).AppendJSON(nil))
				if err != nil {
					t.Fatal(err)
				}
				old = stored.Root()
			}
			var got []string
			for _, cause := range ValidateTouched(read(c.now), old, nil) {
				got = append(got, cause.Field)
			}
			if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestCounterpart(t *testing.T) {
	table := parseTable(t, touchedRules)
	read := func(text string) Value {
		doc, err := ReadTyped(table, 0, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return doc.Root()
	}
	old := read(`{"ports":[{"port":1,"phase":"x"},{"port":2,"phase":"y"}],"list":["a","b"],"boxes":[{"phase":"p"}],"table":{"a.b]c":"k","plain":"v"},"deep":{"d":{"phase":"q"}}}`)
	now := read(`{"ports":[{"port":2,"phase":"n"},{"port":3}],"list":["b","z"],"boxes":[{"phase":"r"}],"table":{"a.b]c":"l","plain":"w"},"deep":{"d":{"phase":"s"}}}`)
	for _, c := range []struct{ path, now, old, at string }{
		{"ports[0].phase", `"n"`, `"y"`, "ports[1].phase"},
		{"ports[1].phase", ``, ``, "ports[1].phase"},
		{"list[0]", `"b"`, `"b"`, "list[1]"},
		{"list[1]", `"z"`, ``, "list[1]"},
		{"boxes[0].phase", `"r"`, `"p"`, "boxes[0].phase"},
		{"boxes[7].phase", ``, ``, "boxes[7].phase"},
		{"table[a.b]c]", `"l"`, `"k"`, "table[a.b]c]"},
		{"table.plain", `"w"`, `"v"`, "table.plain"},
		{"table[none]", ``, ``, "table[none]"},
		{"deep[d].phase", `"s"`, `"q"`, "deep[d].phase"},
		{"", string(now.AppendJSON(nil)), string(old.AppendJSON(nil)), ""},
		{"nothing.at[0].all", ``, ``, "nothing.at[0].all"},
		{"ports[", ``, ``, "ports["}, {"ports[x]", ``, ``, "ports[x]"}, {"[", ``, ``, "["}, {"..", ``, ``, ".."}, {"]", ``, ``, "]"},
		{"ports[-1]", ``, ``, "ports[-1]"}, {"list[0][0]", ``, ``, "list[1][0]"},
	} {
		v, was, at := Counterpart(now, old, c.path)
		if got := string(v.AppendJSON(nil)); got != c.now || string(was.AppendJSON(nil)) != c.old || at != c.at {
			t.Errorf("%q: %s, before %s at %s; want %s, %s, %s", c.path, got, was.AppendJSON(nil), at, c.now, c.old, c.at)
		}
	}
}
