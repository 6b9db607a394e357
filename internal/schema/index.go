package schema

import (
	"encoding/binary"
	"sort"
)

// Index holds facts derived from the fields of an object, so that look-ups are quick, and
// walks visit no field in vain. Fields are named by their index in Type.Fields.
type Index struct {
	Names  []uint16 // 1 + a field, at the hash of its name; 0 is a gap. Nil where too many names have one hash
	Sorted []uint16 // ordered by name, where Names is nil
	Checks []uint16 // those that may break a rule or be missing
	Fills  []uint16 // those present without having been sent
}

// MakeIndex makes the index of every type. Code that makes or changes a table otherwise
// than by Compile calls it.
func (t *Table) MakeIndex() {
	fallible := t.fallible()
	for i := range t.Types {
		typ := &t.Types[i]
		typ.Index = Index{Names: hashedFields(typ.Fields)}
		if typ.Names == nil {
			typ.Sorted = sortedFields(typ.Fields)
		}
		for j := range typ.Fields {
			f := &typ.Fields[j]
			if f.Required || f.ByRules || !f.Unchecked && f.Type >= 0 && fallible[f.Type] {
				typ.Checks = append(typ.Checks, uint16(j))
			}
			if f.Presence == Always || f.Null || f.Default != "" && !(f.Presence == Implicit && isZeroText(f.Default)) {
				typ.Fills = append(typ.Fills, uint16(j))
			}
		}
	}
}

// fallible reports for each type whether its values can break a rule.
func (t *Table) fallible() []bool {
	found := make([]bool, len(t.Types))
	is := func(ref Ref) bool { return ref >= 0 && found[ref] }
	for changed := true; changed; {
		changed = false
		for i := len(t.Types) - 1; i >= 0; i-- { // most types come before those that they use
			typ := &t.Types[i]
			now := found[i] || typ.Rules != nil || typ.OneOf != nil || typ.Values != nil || typ.Demands != nil || typ.Check != 0 ||
				(typ.Kind == List || typ.Kind == Map) && is(typ.Elem)
			for j := range typ.Fields {
				f := &typ.Fields[j]
				now = now || f.Required || f.ByRules || !f.Unchecked && is(f.Type)
			}
			changed = changed || now != found[i]
			found[i] = now
		}
	}
	return found
}

func sortedFields(fields []Field) []uint16 {
	if len(fields) == 0 {
		return nil
	}
	sorted := make([]uint16, len(fields))
	for i := range sorted {
		sorted[i] = uint16(i)
	}
	sort.Slice(sorted, func(a, b int) bool { return fields[sorted[a]].Name < fields[sorted[b]].Name })
	return sorted
}

// maxProbes bounds the names compared in a search by hash: documents from the network may
// choose names whose hashes are equal.
const maxProbes = 64

// hashedFields makes Index.Names: each field is at its hash, or in the next free slot.
func hashedFields(fields []Field) []uint16 {
	if len(fields) == 0 {
		return nil
	}
	size := 2
	for size < 2*len(fields) {
		size *= 2
	}
	names := make([]uint16, size)
	for i := range fields {
		at, probes := hash(fields[i].Name), 1
		for ; names[int(at)&(size-1)] != 0; at++ {
			if probes++; probes > maxProbes {
				return nil
			}
		}
		names[int(at)&(size-1)] = uint16(i + 1)
	}
	return names
}

// hash mixes the length of a name with both its ends.
func hash[T string | []byte](name T) uint32 {
	n := len(name)
	var h uint64
	switch {
	case n >= 8:
		h = load(name[:8]) ^ load(name[n-8:])*0x9e3779b97f4a7c15
	default:
		for i := range n {
			h = h<<8 | uint64(name[i])
		}
	}
	h = (h ^ uint64(n)) * 0xff51afd7ed558ccd
	return uint32(h >> 40)
}

func load[T string | []byte](b T) uint64 {
	var space [8]byte
	copy(space[:], b)
	return binary.LittleEndian.Uint64(space[:])
}

// Field returns the index in Fields of the member with that name, or -1.
func (t *Type) Field(name string) int { return fieldOf(t, name) }

// FieldOf is Field for bytes.
func (t *Type) FieldOf(name []byte) int { return fieldOf(t, name) }

func fieldOf[T string | []byte](t *Type, name T) int {
	if mask := len(t.Names) - 1; mask > 0 {
		for at := hash(name); ; at++ {
			i := int(t.Names[int(at)&mask]) - 1
			if i < 0 || t.Fields[i].Name == string(name) {
				return i
			}
		}
	}
	i := sort.Search(len(t.Sorted), func(i int) bool { return t.Fields[t.Sorted[i]].Name >= string(name) })
	if i < len(t.Sorted) && t.Fields[t.Sorted[i]].Name == string(name) {
		return int(t.Sorted[i])
	}
	return -1
}

// isZeroText reports whether a default is the zero of its kind. In an Implicit field such a default is never shown, since
// absent says the same; it still is a key of a list's element.
func isZeroText(text string) bool { return text == `""` || text == "0" || text == "false" }
