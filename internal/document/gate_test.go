package document

import "testing"

const gatedTypes = `
type Root
  one string gate=One
  mount string gate=Mount=Default
  items []Item
  map map:Item
  status Status
  hooks Hooks
type Hooks
  end Hook
  signal string gate=Signal holder
type Hook
  sleep string gate=Sleep holder
  run string
type Item
  two string gate=Two
  kept string
type Status
  one string
`

func TestGated(t *testing.T) {
	table := parseTable(t, gatedTypes)
	for _, c := range []struct{ name, on, obj, old, want string }{
		{"dropped", "", `{"one":"x","status":{"one":"x"}}`, ``, `{"status":{"one":"x"}}`},
		{"on", "One", `{"one":"x"}`, ``, `{"one":"x"}`},
		{"everywhere", "", `{"items":[{"two":"x","kept":"k"},{"two":"y"}],"map":{"a":{"two":"z"}}}`, ``, `{"items":[{"kept":"k"},{}],"map":{"a":{}}}`},
		{"in use somewhere", "", `{"one":"x","items":[{"two":"x"},{"two":"y"}]}`, `{"map":{"b":{"two":"z"}}}`, `{"items":[{"two":"x"},{"two":"y"}]}`},
		{"nothing else held", "", `{"items":[{}],"hooks":{"end":{"sleep":"x"},"signal":"x"}}`, ``, `{"items":[{}]}`},
		{"something else held", "", `{"hooks":{"end":{"sleep":"x","run":"x"},"signal":"x"}}`, ``, `{"hooks":{"end":{"run":"x"}}}`},
		{"held with another", "Signal", `{"hooks":{"end":{"sleep":"x"},"signal":"x"}}`, ``, `{"hooks":{"signal":"x"}}`},
		{"value", "", `{"mount":"Unmasked"}`, ``, `{"mount":"Default"}`},
		{"value not sent", "", `{}`, ``, `{}`},
		{"value in use", "", `{"mount":"Unmasked"}`, `{"mount":"Unmasked"}`, `{"mount":"Unmasked"}`},
		{"value that is none", "", `{"mount":"Unmasked"}`, `{"mount":"Default"}`, `{"mount":"Default"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			decode := func(text string) Value {
				if text == "" {
					return Value{}
				}
				doc, _, err := (&Decoder{Table: table}).Decode(table.Root("Root"), []byte(text))
				if err != nil {
					t.Fatal(err)
				}
				return doc.Root()
			}
			obj := decode(c.obj)
			NewGated(table, table.Root("Root"), func(feature string) bool { return feature == c.on }).Drop(obj, decode(c.old))
			if got := string(obj.AppendJSON(nil)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	if NewGated(table, table.Root("Status"), func(string) bool { return false }) != nil {
		t.Error("a type without gates is walked")
	}
}

// An object without such fields costs nothing.
func TestGatedAllocates(t *testing.T) {
	table := parseTable(t, gatedTypes)
	doc, _, err := (&Decoder{Table: table}).Decode(table.Root("Root"), []byte(`{"items":[{"kept":"k"},{"kept":"l"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	gated := NewGated(table, table.Root("Root"), func(string) bool { return false })
	if n := testing.AllocsPerRun(100, func() { gated.Drop(doc.Root(), doc.Root()) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
