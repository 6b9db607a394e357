package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Form is a fingerprint of how values of a type are stored: while it is the same, a
// stored value is stored as it would be today. It changes with the members of objects,
// their order, types and presence, with defaults and the hooks that fill them in; not
// with rules, ownership, or the binary form.
//
// It is the same in every table that describes the type in the same way.
func (t *Table) Form(root Ref) string {
	if root < 0 || int(root) >= len(t.Types) {
		return ""
	}
	h := sha256.New()
	number := map[Ref]int{root: 0} // of the types that the root reaches, in breadth-first order
	queue := []Ref{root}
	numberOf := func(ref Ref) int {
		if ref == None {
			return -1
		}
		n, ok := number[ref]
		if !ok {
			n = len(queue)
			number[ref] = n
			queue = append(queue, ref)
		}
		return n
	}
	for i := 0; i < len(queue); i++ {
		typ := &t.Types[queue[i]]
		fmt.Fprintf(h, "%d %d %d", typ.Kind, typ.Bits, numberOf(typ.Elem))
		if typ.Open {
			fmt.Fprint(h, " open")
		}
		if typ.RoundUp {
			fmt.Fprint(h, " round up")
		}
		if typ.Values != nil {
			fmt.Fprintf(h, " nullable %t default %q", typ.Values.Nullable, typ.Values.Default)
		}
		if typ.Either() {
			fmt.Fprintf(h, " either %d", typ.Binary)
		}
		if typ.Hook != 0 {
			fmt.Fprintf(h, " hook %s %d", typ.Name[strings.LastIndexByte(typ.Name, '.')+1:], typ.HookRevision)
		}
		for j := range typ.Fields {
			f := &typ.Fields[j]
			fmt.Fprintf(h, "\n%q %d %d %q", f.Name, numberOf(f.Type), f.Presence, f.Default)
			if when := f.Rest(); when.When != "" {
				fmt.Fprintf(h, " when %s %q", when.When, when.WhenIs)
			}
		}
		h.Write([]byte{'\n', '\n'})
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Fills reports whether decoding a value of a type fills in anything: a default, values of a
// hook, or a rounded amount.
func (t *Table) Fills(root Ref) bool {
	if root < 0 || int(root) >= len(t.Types) {
		return false
	}
	seen := map[Ref]bool{root: true}
	for queue := []Ref{root}; len(queue) > 0; queue = queue[1:] {
		typ := &t.Types[queue[0]]
		if typ.Hook != 0 || typ.RoundUp {
			return true
		}
		next := []Ref{typ.Elem}
		for i := range typ.Fields {
			if typ.Fields[i].Default != "" {
				return true
			}
			next = append(next, typ.Fields[i].Type)
		}
		for _, ref := range next {
			if ref != None && !seen[ref] {
				seen[ref] = true
				queue = append(queue, ref)
			}
		}
	}
	return false
}
