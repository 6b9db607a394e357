package yaml

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// Repeat is a repeated key of a mapping, with the line of its value.
type Repeat struct {
	Line int    // from 1
	Key  string // as Go spells it: "a", 1, true
}

// maxRepeats bounds the reported repeated keys of a text.
const maxRepeats = 256

// Repeated returns the repeated keys of mappings in the first document, including those
// that << merges, from the inside to the outside. It reads the text again, so call it
// only for texts known to have some. For a text that ToJSON refuses it returns nothing.
func Repeated(text []byte) []Repeat {
	text = trimBOM(text)
	c := converter{s: newScanner(text), limit: maxGrowth*len(text) + minSpace, repeats: &repeats{}}
	if err := c.document(); err != nil {
		return nil
	}
	var found []Repeat
	for _, f := range c.repeats.found {
		key := f.key
		var s string
		if json.Unmarshal([]byte(key), &s) == nil {
			key = strconv.Quote(s)
		}
		found = append(found, Repeat{Line: lineOf(text, f.pos), Key: key})
	}
	return found
}

// keys are the keys of a mapping, in JSON, each with the position of its value.
type keys map[string]int

// repeats finds repeated keys while the converter reads. On nil its methods have no
// effect.
type repeats struct {
	found []keyAt
	merge keys // of the mapping that << merges into
	last  keys // of the mapping that ended last
}

type keyAt struct {
	key string
	pos int
}

// begin returns the keys of a mapping that begins: none, or those of the one that it is
// merged into.
func (r *repeats) begin() keys {
	if r == nil {
		return nil
	}
	if k := r.merge; k != nil {
		r.merge = nil
		return k
	}
	return keys{}
}

func (r *repeats) end(k keys) {
	if r != nil {
		r.last = k
	}
}

// ended returns the keys of the value that has ended, if it is an object.
func (r *repeats) ended(json []byte) keys {
	if r == nil || len(json) == 0 || json[0] != '{' {
		return nil
	}
	return r.last
}

// into notes that the value after << is merged into the mapping with these keys; nil ends
// that. Of a list after << all aliases and the first other mapping count.
func (r *repeats) into(k keys) {
	if r != nil {
		r.merge = k
	}
}

// name is a copy of a key's name, which its value may not change.
func (r *repeats) name(key []byte) string {
	if r == nil {
		return ""
	}
	return string(key)
}

// note adds a key to those of its mapping.
func (r *repeats) note(k keys, name string, pos int) {
	if r == nil {
		return
	}
	if _, ok := k[name]; !ok {
		k[name] = pos
	} else if len(r.found) < maxRepeats {
		r.found = append(r.found, keyAt{name, pos})
	}
}

// noteAll adds the keys of a merged mapping.
func (r *repeats) noteAll(from keys) {
	if r == nil || r.merge == nil {
		return
	}
	byPlace := func(a, b string) int { return cmp.Compare(from[a], from[b]) }
	for _, name := range slices.SortedFunc(maps.Keys(from), byPlace) {
		r.note(r.merge, name, from[name])
	}
}
