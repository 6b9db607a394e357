package document

import (
	"os"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/schema"
)

// parseTable makes a table from lines like these; the first type is root.
//
//	type Pod [hook] [check] [skip] [atomic] an Object
//	  spec PodSpec always required         a field: name, type, words
//	  ports []Port default=[]              default= is the last word
//	scalar Port int32 min=1 max=65535      a type with rules
//	scalar Ports []Port keys=port,protocol unique
func parseTable(tb testing.TB, text string) *schema.Table {
	tb.Helper()
	b := tableBuilder{tb: tb, table: &schema.Table{Version: "v1"}, names: map[string]schema.Ref{}}
	lines := strings.Split(text, "\n")
	for _, line := range lines {
		if w := strings.Fields(line); len(w) > 1 && line[0] != ' ' {
			b.names[w[1]] = schema.Ref(len(b.table.Types))
			b.table.Types = append(b.table.Types, schema.Type{Name: w[1], Elem: schema.None})
			b.table.Roots = append(b.table.Roots, schema.Root{Name: w[1], Type: b.names[w[1]]})
		}
	}
	sort.Slice(b.table.Roots, func(i, j int) bool { return b.table.Roots[i].Name < b.table.Roots[j].Name })
	hooks, checks := uint16(0), uint16(0)
	var cur schema.Ref
	for _, line := range lines {
		w := strings.Fields(line)
		switch {
		case len(w) < 2:
		case line[0] == ' ':
			f := b.field(w[0], w[1], strings.TrimSpace(line))
			b.table.Types[cur].Fields = append(b.table.Types[cur].Fields, f)
		case w[0] == "type":
			cur = b.names[w[1]]
			t := &b.table.Types[cur]
			t.Kind = schema.Object
			for _, word := range w[2:] {
				switch word {
				case "hook":
					hooks++
					t.Hook = hooks
				case "check":
					checks++
					t.Check = checks
				case "skip":
					t.Skip = 1
				}
			}
		default:
			b.scalar(w)
		}
	}
	b.table.MakeIndex()
	return b.table
}

type tableBuilder struct {
	tb    testing.TB
	table *schema.Table
	names map[string]schema.Ref
}

var scalarKinds = map[string]schema.Type{
	"string": {Kind: schema.String}, "bytes": {Kind: schema.Bytes}, "bool": {Kind: schema.Boolean},
	"int32": {Kind: schema.Integer, Bits: 32}, "int64": {Kind: schema.Integer, Bits: 64}, "number": {Kind: schema.Number},
	"intorstring": {Kind: schema.IntOrString}, "quantity": {Kind: schema.Quantity}, "amount": {Kind: schema.Quantity, RoundUp: true}, "time": {Kind: schema.Time},
	"microtime": {Kind: schema.MicroTime}, "duration": {Kind: schema.Duration}, "any": {Kind: schema.Any},
}

// ref returns the type of an expression, which it adds if it is new.
func (b *tableBuilder) ref(expr string) schema.Ref {
	if r, ok := b.names[expr]; ok {
		return r
	}
	t := b.make(expr)
	b.names[expr] = schema.Ref(len(b.table.Types))
	b.table.Types = append(b.table.Types, t)
	return b.names[expr]
}

func (b *tableBuilder) make(expr string) schema.Type {
	if rest, ok := strings.CutPrefix(expr, "[]"); ok {
		return schema.Type{Kind: schema.List, Elem: b.ref(rest)}
	}
	if rest, ok := strings.CutPrefix(expr, "map:"); ok {
		return schema.Type{Kind: schema.Map, Elem: b.ref(rest)}
	}
	t, ok := scalarKinds[expr]
	if !ok {
		b.tb.Fatalf("no type %q", expr)
	}
	t.Elem = schema.None
	return t
}

func (b *tableBuilder) field(name, expr, line string) schema.Field {
	line, def, _ := strings.Cut(line, " default=")
	f := schema.Field{Name: name, Type: b.ref(expr), Default: def}
	for _, word := range strings.Fields(line)[2:] {
		if gate, ok := strings.CutPrefix(word, "gate="); ok {
			f.More = &schema.More{}
			f.More.Gate, f.More.GateValue, _ = strings.Cut(gate, "=")
			continue
		}
		if word == "holder" { // after its gate
			f.More.GateHolder = true
			continue
		}
		if when, ok := strings.CutPrefix(word, "when="); ok { // of a default: when=type=a|b
			name, values, _ := strings.Cut(when, "=")
			f.More = &schema.More{When: name, WhenIs: strings.Split(values, "|")}
			continue
		}
		switch word {
		case "always":
			f.Presence = schema.Always
		case "explicit":
			f.Presence = schema.Explicit
		case "required":
			f.Required = true
		case "immutable":
			f.Immutable = true
		default:
			b.tb.Fatalf("field %s: what is %q?", name, word)
		}
	}
	return f
}

func (b *tableBuilder) scalar(w []string) {
	t, r := b.make(w[2]), &schema.Rules{}
	t.Name = w[1]
	for _, word := range w[3:] {
		key, value, _ := strings.Cut(word, "=")
		number, _ := strconv.ParseFloat(value, 64)
		switch key {
		case "min":
			r.HasMin, r.Min = true, number
		case "above":
			r.HasMin, r.Min, r.ExclusiveMin = true, number, true
		case "max":
			r.HasMax, r.Max = true, number
		case "below":
			r.HasMax, r.Max, r.ExclusiveMax = true, number, true
		case "minlen":
			r.MinLength = uint32(number)
		case "maxlen":
			r.MaxLength = uint32(number)
		case "minitems":
			r.MinItems = uint32(number)
		case "maxitems":
			r.MaxItems = uint32(number)
		case "enum":
			r.Enum = strings.Split(value, ",")
		case "pattern":
			r.Pattern = value
		case "format":
			r.Format = value
		case "unique":
			r.Unique = []string{"."}
			if t.ListKeys != nil {
				r.Unique = t.ListKeys
			}
		case "set":
			t.ListType = schema.ListSet
		case "keys":
			t.ListType, t.ListKeys = schema.ListMap, strings.Split(value, ",")
		default:
			b.tb.Fatalf("type %s: what is %q?", w[1], word)
		}
	}
	t.Rules = r
	b.table.Types[b.names[w[1]]] = t
}

// podTable is a table of all that a pod has.
func podTable(tb testing.TB) *schema.Table {
	tb.Helper()
	text, err := os.ReadFile("testdata/pod.table")
	if err != nil {
		tb.Fatal(err)
	}
	return parseTable(tb, string(text))
}
