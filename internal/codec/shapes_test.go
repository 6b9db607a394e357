package codec

import (
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/schema"
)

// parseTable makes a table from a short notation, so that tests can show the
// shapes they are about. An unindented line begins an object type, an indented
// one is a field:
//
//	name number [flags] type
//
// The number may be outer.inner (outer.outer.inner), or - for none. Flags: ! is Presence Always, ?
// is Explicit. Types: string bytes bool int32 int64 double quantity time micro
// duration intorstring raw strings, []T, map[T], or the name of an object.
func parseTable(text string) *schema.Table {
	p := &tableParser{table: &schema.Table{Version: "v1"}, refs: map[string]schema.Ref{}}
	current := schema.None
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case line[0] != ' ' && line[0] != '\t':
			current = p.ref(words[0])
			p.table.Types[current].Kind = schema.Object
		default:
			f := schema.Field{Name: words[0]}
			numbers := strings.Split(words[1], ".")
			if words[1] != "-" {
				f.Number = atoi(numbers[len(numbers)-1])
			}
			for _, outer := range numbers[:len(numbers)-1] {
				if f.More == nil {
					f.More = &schema.More{}
				}
				f.More.Outer = f.More.Outer<<schema.OuterBits | atoi(outer)
			}
			switch words[2] {
			case "!":
				f.Presence = schema.Always
			case "?":
				f.Presence = schema.Explicit
			}
			f.Type = p.ref(words[len(words)-1])
			p.table.Types[current].Fields = append(p.table.Types[current].Fields, f)
		}
	}
	for i := range p.table.Types {
		t := &p.table.Types[i]
		if t.Kind == schema.Object {
			p.table.Roots = append(p.table.Roots, schema.Root{Name: t.Name, Type: schema.Ref(i)})
		}
	}
	p.table.MakeIndex()
	slices.SortFunc(p.table.Roots, func(a, b schema.Root) int { return strings.Compare(a.Name, b.Name) })
	return p.table
}

type tableParser struct {
	table *schema.Table
	refs  map[string]schema.Ref
}

func (p *tableParser) ref(name string) schema.Ref {
	if r, ok := p.refs[name]; ok {
		return r
	}
	r := schema.Ref(len(p.table.Types))
	p.refs[name] = r
	p.table.Types = append(p.table.Types, schema.Type{Elem: schema.None})
	t := schema.Type{Elem: schema.None}
	kinds := map[string]schema.Kind{"string": schema.String, "bytes": schema.Bytes, "bool": schema.Boolean, "double": schema.Number,
		"quantity": schema.Quantity, "time": schema.Time, "micro": schema.MicroTime, "duration": schema.Duration, "intorstring": schema.IntOrString}
	switch {
	case strings.HasPrefix(name, "[]"):
		t.Kind, t.Elem = schema.List, p.ref(name[2:])
	case strings.HasPrefix(name, "map["):
		t.Kind, t.Elem = schema.Map, p.ref(name[4:len(name)-1])
	case name == "int32":
		t.Kind, t.Bits = schema.Integer, 32
	case name == "int64":
		t.Kind, t.Bits = schema.Integer, 64
	case name == "raw":
		t.Kind, t.Binary = schema.Any, schema.BinaryRaw
	case name == "strings":
		t.Kind, t.Binary, t.Elem = schema.List, schema.BinaryStringList, p.ref("string")
	case kinds[name] != 0:
		t.Kind = kinds[name]
	default:
		t.Kind, t.Name = schema.Object, name
	}
	p.table.Types[r] = t
	return r
}

func atoi(s string) uint32 {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return uint32(n)
}

// shapes has every kind, presence and order of the binary form.
const shapes = `
Shape
	kind - string
	apiVersion - string
	name 1 ! string
	note 2 string
	pointer 3 ? string
	count 4 int32
	total 5 ! int64
	limit 6 ? int64
	on 7 bool
	maybe 8 ? bool
	ratio 9 ? double
	data 10 bytes
	size 11 ! quantity
	burst 12 ? quantity
	born 13 ! time
	died 14 ? time
	seen 15 ! micro
	wait 16 ? duration
	port 17 ! intorstring
	target 18 ? intorstring
	any 19 raw
	extra 20 ? raw
	verbs 21 strings
	tags 22 []string
	numbers 23 []int64
	labels 24 map[string]
	blobs 25 map[bytes]
	sizes 26 map[quantity]
	groups 27 map[strings]
	leaves 28 []Leaf
	byName 29 map[Leaf]
	must 30 ! Leaf
	may 31 ? Leaf
	mixed 32 ? Mixed
	volume 33 ? Volume
	raws 34 []raw
Leaf
	a 1 string
	b 2 int32
Mixed
	late 9 string
	early 1 string
	big 300 string
	list 3 []Leaf
	child 2 ? Mixed
	flag 4 bool
NamedRule
	names 1 []string
	operations 2.1 []string
	groups 2.2.1 []string
	scope 2.2.4 string

Volume
	name 1 string
	path 2.1 ? Leaf
	secret 2.6 ? Leaf
	plain 2.3 string
	last 3 string
`
