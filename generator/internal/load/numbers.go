package load

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/internal/schema"
)

// The numbers that the binary form can use: 1 to 2^29-1 without the range that
// its inventors reserved.
const (
	lastNumber    = 1<<29 - 1
	firstReserved = 19000
	lastReserved  = 19999
)

// noNumber marks, while a document is read, a field that is not in the binary form, and a
// type none of whose fields is.
const noNumber = -1

// binaryNumber reads the number of a field, or false.
func (r *reader) binaryNumber(to *int) func(node) {
	return func(n node) {
		if *to = noNumber; n.Value != "false" {
			*to = r.numberAt(n)
		}
	}
}

func (r *reader) numberAt(n node) int {
	v, err := strconv.Atoi(n.Value)
	if err != nil || v < 1 || v > lastNumber || v >= firstReserved && v <= lastReserved {
		r.fail(n.pos(), "use 1 to "+strconv.Itoa(lastNumber)+", without 19000 to 19999", "the binary number %q is out of range", n.Value)
	}
	return v
}

// innerMessage is a binary message inside that of an object: an entry of x-cluster-binary-outer.
type innerMessage struct {
	pos     schema.Position
	number  int      // as schema.More.Outer
	members []string // nil for those of x-cluster-one-of
}

// outerAt reads the number of an inner message, after those around it: 2.3 is the third
// in the second.
func (r *reader) outerAt(n node) (outer int) {
	for part := range strings.SplitSeq(n.Value, ".") {
		v, err := strconv.Atoi(part)
		if err != nil || v < 1 || v > schema.MostOuter {
			r.fail(n.pos(), "use 1 to "+strconv.Itoa(schema.MostOuter), "the number %q of an inner message is out of range", n.Value)
		}
		outer = outer<<schema.OuterBits | v
	}
	return outer
}

// reservedNumbers reads the numbers of fields that are gone, which no field may take.
func (r *reader) reservedNumbers(to *[]schema.WireNumber) func(node) {
	return func(n node) {
		for _, item := range r.items(n) {
			n := schema.WireNumber{}
			if dot := strings.LastIndexByte(item.Value, '.'); dot >= 0 {
				n.Outer = r.outerAt(item.with(&yaml.Node{Value: item.Value[:dot], Line: item.Line}))
				item = item.with(&yaml.Node{Value: item.Value[dot+1:], Line: item.Line})
			}
			n.Number = r.numberAt(item)
			*to = append(*to, n)
		}
	}
}

// innerMessages reads {number: [member, ...]}.
func (r *reader) innerMessages(s *schema.Schema) func(node) {
	return func(n node) {
		for _, e := range r.entries(n) {
			m := innerMessage{pos: e.at.pos(), number: r.outerAt(e.at)}
			if e.value.Value != "one-of" {
				r.texts(&m.members)(e.value)
			}
			r.inner[s] = append(r.inner[s], m)
		}
	}
}

// placeInner puts the members of an object into its inner messages.
func (r *reader) placeInner(s *schema.Schema) {
	for _, m := range r.inner[s] {
		if m.members == nil {
			for _, name := range s.OneOf {
				name, _, _ = strings.Cut(name, ":")
				m.members = append(m.members, name)
			}
			for _, f := range s.Absent {
				if f.OneOf {
					m.members = append(m.members, f.Name)
				}
			}
		}
		if len(m.members) == 0 {
			r.fail(m.pos, "name members of the object, or add x-cluster-one-of", "the inner message has no members")
		}
		for _, name := range m.members {
			i := slices.IndexFunc(s.Properties, func(p schema.Property) bool { return p.Name == name })
			gone := slices.IndexFunc(s.Absent, func(f schema.AbsentField) bool { return f.Name == name })
			switch {
			case gone >= 0:
				s.Absent[gone].BinaryOuter = m.number
			case i < 0:
				r.fail(m.pos, "declare the property or drop it", "x-cluster-binary-outer names %q, which is not a property", name)
			case s.Properties[i].Schema.BinaryOuter != 0:
				r.fail(m.pos, "write it once", "x-cluster-binary-outer names %q twice", name)
			default:
				s.Properties[i].Schema.BinaryOuter = m.number
			}
		}
	}
}

// absentFields are the places of the properties that the release lacks.
func (r *reader) absentFields(n node) (all []schema.AbsentField) {
	there := 0
	for _, e := range entriesOf(n) {
		if !isAbsent(e.value) {
			there++
			continue
		}
		f := schema.AbsentField{Name: e.key, Before: there, OneOf: e.value.Tag == absentOneOf}
		if number, ok := valueOf(e.value, "x-cluster-binary"); ok {
			r.binaryNumber(&f.Binary)(number)
		}
		all = append(all, f)
	}
	return all
}

// numberFields numbers the fields without a binary number: each has the number after the
// highest of the fields before it in the same message, so that a field at the end takes
// an unused one.
func numberFields(s *schema.Schema) {
	last := map[int]int{} // by the number of the inner message, 0 for the object's own
	number := func(binary *int, inner int) {
		if *binary == 0 && s.Binary != noNumber {
			*binary = numberAfter(last[inner])
			for slices.Contains(s.Reserved, schema.WireNumber{Outer: inner, Number: *binary}) {
				*binary = numberAfter(*binary)
			}
		}
		last[inner] = max(last[inner], *binary)
		for outer := inner; outer != 0; outer >>= schema.OuterBits {
			around := outer >> schema.OuterBits
			last[around] = max(last[around], outer&schema.MostOuter)
		}
	}
	absent := s.Absent
	for i := range len(s.Properties) + 1 {
		for ; len(absent) > 0 && absent[0].Before == i; absent = absent[1:] {
			number(&absent[0].Binary, absent[0].BinaryOuter)
		}
		if i < len(s.Properties) {
			f := s.Properties[i].Schema
			numberFields(f)
			number(&f.Binary, f.BinaryOuter)
		}
	}
	for _, p := range s.Properties {
		p.Schema.Binary = max(p.Schema.Binary, 0)
	}
	for _, part := range []*schema.Schema{s.Items, s.Additional} {
		if part != nil {
			numberFields(part)
		}
	}
}

func numberAfter(n int) int {
	if n+1 == firstReserved {
		return lastReserved + 1
	}
	return n + 1
}

// checkNumbers refuses a binary number that two fields of a message share. The fields
// with the same outer number are one message inside the object's. Of a field with an
// explicit number and one without, the latter has to give way.
func (d *documents) checkNumbers(s *schema.Schema) {
	type wireNumber struct{ outer, number int }
	taken := map[wireNumber]string{}
	outer, last := map[wireNumber]string{}, map[int]int{}
	var say, follow []schema.Property
	for _, p := range s.Properties {
		last[p.Schema.BinaryOuter] = max(last[p.Schema.BinaryOuter], p.Schema.Binary)
		for n := p.Schema.BinaryOuter; n != 0; n >>= schema.OuterBits {
			around := n >> schema.OuterBits
			last[around] = max(last[around], n&schema.MostOuter)
			outer[wireNumber{around, n & schema.MostOuter}] = p.Name
		}
		if _, says := d.places[p.Schema]["x-cluster-binary"]; says {
			say = append(say, p)
		} else {
			follow = append(follow, p)
		}
	}
	for _, p := range append(say, follow...) {
		at := wireNumber{p.Schema.BinaryOuter, p.Schema.Binary}
		if at.number == 0 {
			continue
		}
		if n := (schema.WireNumber{Outer: at.outer, Number: at.number}); slices.Contains(s.Reserved, n) {
			d.fail(d.at(p.Schema, "x-cluster-binary"), fmt.Sprintf("write x-cluster-binary: %d, the next free number", numberAfter(last[at.outer])),
				"the binary number %s of %s is reserved: a field that is gone had it", n, p.Name)
			continue
		}
		other := taken[at]
		if outer[at] != "" {
			other = outer[at]
		}
		if q := named(s, other); q != nil && q.Pos.File != p.Pos.File { // p was there before the document that says what differs
			p, other = *q, p.Name
		}
		if other != "" {
			d.fail(d.at(p.Schema, "x-cluster-binary"),
				fmt.Sprintf("write x-cluster-binary: %d, the next free number; a number is never used again, not even after its field is gone", numberAfter(last[at.outer])),
				"the binary number %d of %s belongs to %s already", at.number, p.Name, other)
			continue
		}
		taken[at] = p.Name
	}
}

// named is a member of an object, or nil.
func named(s *schema.Schema, name string) *schema.Property {
	if i := slices.IndexFunc(s.Properties, func(p schema.Property) bool { return p.Name == name }); i >= 0 {
		return &s.Properties[i]
	}
	return nil
}
