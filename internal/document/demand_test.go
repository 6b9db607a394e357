package document

import (
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/schema"
)

// demanding is a table with rules across members, unique elements and checked keys.
func demanding(t *testing.T) *schema.Table {
	table := parseTable(t, `
type Box
  kind string
  lid Lid explicit
  open bool
  low int32 explicit
  high int32 explicit
  tags map:string
  labels map:label
  parts []Part
  named []Named
  words []string
type Lid
  colour Colour
type Part
  name string
type Named
  name string
scalar label string format=label-value
scalar Colour string enum=red
`)
	at := func(path string, is schema.Condition, values ...string) []schema.Test {
		return []schema.Test{{Path: strings.Split(path, "."), Is: is, Values: values, Than: values}}
	}
	box := &table.Types[table.Root("Box")]
	box.Demands = &schema.Demands{
		State: []schema.Demand{
			{If: at("kind", schema.In, "Closed"), Then: at("lid", schema.Set), Why: "closed boxes have one"},
			{If: at("kind", schema.In, "Flat", "Thin"), Then: at("lid", schema.Unset), Why: "flat boxes have none", Hides: "lid"},
			{If: at("lid.colour", schema.Filled), Then: at("open", schema.NotIn, "true"), Why: "a coloured lid is shut"},
			{If: at("low", schema.Set), Then: at("high", schema.AtLeast, "low"), Why: "must not be below low"},
			{Then: at("kind", schema.NotIn, "Odd"), Why: "is odd", At: ".", Shown: `"a box"`},
			{If: at("kind", schema.Filled), Then: at("kind", schema.In, "Closed", "Flat", "Thin", "Open")},
			{If: at("low", schema.In, "7"), Then: at("words", schema.Single), Cause: schema.CauseRequired, Why: "open boxes have one"},
			{If: at("low", schema.In, "8"), Then: at("words", schema.Formed, "dns1123-label")},
			{If: at("low", schema.In, "10"), Then: []schema.Test{{Path: []string{"high"}, Is: schema.AtMost, Than: []string{"low"}}}, Why: "is more than low"},
			{If: at("low", schema.In, "11"), Then: []schema.Test{{Path: []string{"high"}, Is: schema.Above, Than: []string{"low"}}}, Why: "is not above low"},
			{If: at("low", schema.In, "12"), Then: []schema.Test{{Path: []string{"high"}, Is: schema.Below, Most: 5}, {Path: []string{"kind"}, Is: schema.Short, Most: 3}}, Why: "is too much"},
			{If: at("low", schema.In, "13"), Then: []schema.Test{{Path: []string{"kind"}, Is: schema.Equals, Than: []string{"lid", "colour"}}}, Turn: "words", Why: "is not that of the lid"},
			{If: at("words", schema.Contains, "*"), Then: at("words", schema.Single), Why: "stars stand alone"},
			{If: append(at("words", schema.Lacks, "*"), at("low", schema.In, "14")...), Then: at("words", schema.Only, "a", "b")},
			{Each: []string{"parts"}, If: at("name", schema.In, "wrong"), Then: []schema.Test{{Is: schema.Empty}}, Cause: schema.CauseInvalid, Why: "is wrong"},
			{If: at("low", schema.In, "9"), Then: at("lid.colour", schema.Formed, "ip"), At: "kind", Shows: []string{"open"}},
		},
		Change: []schema.Demand{
			{Was: at("kind", schema.Filled), Then: at("kind", schema.Same), Why: "is kept"},
			{Was: at("low", schema.Set), Then: at("low", schema.Grown), Why: "shrinks"},
			{Was: at("lid.colour", schema.In, "red"), Then: at("lid.colour", schema.Same), Cause: schema.CauseForbidden, Why: "red stays red"},
		},
	}
	rules := func(name string, r *schema.Rules) {
		f := box.Fields[box.Field(name)]
		table.Types[f.Type].Rules = r
	}
	rules("tags", &schema.Rules{Keys: "dns1123-label"})
	rules("parts", &schema.Rules{Unique: []string{"name"}})
	rules("labels", &schema.Rules{Keys: "dns1123-label", MaxItems: 2, Invalid: true, Why: "must not have more than 2"})
	box.Fields[box.Field("labels")].More = &schema.More{CauseList: true}
	rules("named", &schema.Rules{Unique: []string{"name?"}})
	rules("words", &schema.Rules{Unique: []string{"."}})
	table.MakeIndex()
	return table
}

func TestDemands(t *testing.T) {
	table := demanding(t)
	for _, c := range []struct{ name, was, in, want string }{
		{"nothing", ``, `{}`, ``},
		{"needed", ``, `{"kind":"Closed"}`, "FieldValueRequired lid: Required value: closed boxes have one"},
		{"needed and there", ``, `{"kind":"Closed","lid":{}}`, ``},
		{"refused, and not looked at", ``, `{"kind":"Thin","lid":{"colour":"blue"}}`, `FieldValueForbidden lid: Forbidden: flat boxes have none`},
		{"not that value", ``, `{"lid":{"colour":"red"},"open":true}`, `FieldValueInvalid open: Invalid value: true: a coloured lid is shut`},
		{"less", ``, `{"low":3,"high":2}`, `FieldValueInvalid high: Invalid value: 2: must not be below low`},
		{"not less", ``, `{"low":3,"high":3}`, ``},
		{"of the object", ``, `{"kind":"Odd"}`, `FieldValueInvalid : Invalid value: "a box": is odd`},
		{"none of the values", ``, `{"kind":"Round"}`, `FieldValueNotSupported kind: Unsupported value: "Round": supported values: "Closed", "Flat", "Thin", "Open"`},
		{"one of a list", ``, `{"low":7,"high":7,"words":["a"]}`, ``},
		{"two of a list", ``, `{"low":7,"high":7,"words":["a","b"]}`, `FieldValueRequired words: Required value: open boxes have one`},
		{"elements of a form", ``, `{"low":8,"high":8,"words":["a","B"]}`, `FieldValueInvalid words[1]: Invalid value: "B": a lowercase`},
		{"more", ``, `{"low":10,"high":11}`, `FieldValueInvalid high: Invalid value: 11: is more than low`},
		{"not above", ``, `{"low":11,"high":11}`, `FieldValueInvalid high: Invalid value: 11: is not above low`},
		{"too much and too long", ``, `{"low":12,"high":12,"kind":"Open"}`, `FieldValueInvalid high: Invalid value: 12: is too much; FieldValueInvalid kind: Invalid value: "Open": is too much`},
		{"not equal", ``, `{"low":13,"high":13,"kind":"Open","lid":{"colour":"red"}}`, `FieldValueInvalid kind: Invalid value: "Open": is not that of the lid`},
		{"not alone", ``, `{"words":["a","*"]}`, `FieldValueInvalid words: Invalid value: ["a","*"]: stars stand alone`},
		{"alone", ``, `{"words":["*"],"low":14}`, ``},
		{"something else among them", ``, `{"words":["a","c"],"low":14}`, `FieldValueNotSupported words: Unsupported value: ["a","c"]: supported values: "a", "b"`},
		{"nothing among them", ``, `{"low":14}`, ``},
		{"an element", ``, `{"parts":[{"name":"a"},{"name":"wrong"}]}`, `FieldValueInvalid parts[1]: Invalid value: {"name":"wrong"}: is wrong`},
		{"shrunk", `{"low":3}`, `{"low":2}`, `FieldValueInvalid low: Invalid value: 2: shrinks`},
		{"gone", `{"low":3}`, `{}`, `FieldValueInvalid low: Invalid value: null: shrinks`},
		{"told elsewhere", ``, `{"low":9,"high":9,"open":true}`, `FieldValueInvalid kind: Invalid value: true: must be a valid IP`},
		{"told at the map", ``, `{"labels":{"A":"-"}}`, `FieldValueInvalid labels: Invalid value: "A": a lowercase`},
		{"too many", ``, `{"labels":{"a":"","b":"","c":""}}`, `FieldValueInvalid labels: Invalid value: {"a":"","b":"","c":""}: must not have more than 2`},
		{"without names", ``, `{"named":[{},{"name":"a"},{},{"name":"a"}]}`, `FieldValueDuplicate named[3].name: Duplicate value: "a"`},
		{"changed", `{"kind":"Open","lid":{"colour":"red"}}`, `{"kind":"Flat"}`, `FieldValueInvalid kind: Invalid value: "Flat": is kept; FieldValueForbidden lid.colour: Forbidden: red stays red`},
		{"set for the first time", `{}`, `{"kind":"Open"}`, ``},
		{"broken before", `{"low":3,"high":2}`, `{"low":3,"high":2,"open":true}`, ``},
		{"broken before in another way", `{"low":3,"high":2}`, `{"low":3,"high":1}`, `FieldValueInvalid high: Invalid value: 1: must not be below low`},
		{"keys", ``, `{"tags":{"a":"","B":""}}`, `FieldValueInvalid tags[B]: Invalid value: "B": a lowercase`},
		{"keys from before", `{"tags":{"B":""}}`, `{"tags":{"B":"c"}}`, ``},
		{"repeated", ``, `{"parts":[{"name":"a"},{"name":"b"},{"name":"a"},{},{}],"words":["x","y","x"]}`,
			`FieldValueDuplicate parts[2].name: Duplicate value: "a"; FieldValueDuplicate parts[4].name: Duplicate value: null; FieldValueDuplicate words[2]: Duplicate value: "x"`},
		{"repeated before", `{"words":["x","x"]}`, `{"words":["x","y","x"]}`, ``},
		{"repeated once more", `{"words":["x","x"]}`, `{"words":["x","x","x"]}`, `FieldValueDuplicate words[2]: Duplicate value: "x"`},
	} {
		decoder := Decoder{Table: table}
		now, _, err := decoder.Decode(table.Root("Box"), []byte(c.in))
		if err != nil {
			t.Fatal(c.name, err)
		}
		causes := Validate(now.Root(), nil)
		if c.was != "" {
			was, _, err := decoder.Decode(table.Root("Box"), []byte(c.was))
			if err != nil {
				t.Fatal(c.name, err)
			}
			causes = append(ValidateTouched(now.Root(), was.Root(), nil), ValidateUpdate(now.Root(), was.Root(), nil)...)
		}
		var got []string
		for _, cause := range causes {
			got = append(got, cause.Reason+" "+cause.Field+": "+cause.Message)
		}
		if text := strings.Join(got, "; "); !strings.HasPrefix(text, c.want) || c.want == "" && text != "" {
			t.Errorf("%s: got %s", c.name, text)
		}
	}
}

func TestKeptDemandsCostNothing(t *testing.T) {
	table := demanding(t)
	d, _, err := (&Decoder{Table: table}).Decode(table.Root("Box"), []byte(`{"kind":"Closed","lid":{"colour":"red"},"low":1,"high":2,"tags":{"a":"b"},"parts":[{"name":"a"},{"name":"b"}],"words":["x","y"]}`))
	if err != nil {
		t.Fatal(err)
	}
	root := d.Root()
	if n := testing.AllocsPerRun(100, func() {
		if Validate(root, nil) != nil {
			t.Error("something is wrong")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
