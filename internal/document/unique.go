package document

import (
	"regexp"
	"strconv"
	"sync"

	"github.com/capstan-dev/capstan/internal/schema"
)

// unique adds a cause for every element that repeats an earlier one: the same value in a
// set, the same keys in a map-like list. Repetitions that old, the list before an update,
// has too are accepted.
func (c *checker) unique(n int32, t *schema.Type, old Value) {
	if t.ListType == schema.ListAtomic {
		return
	}
	seen := make(map[string]int)
	var text []byte
	if c.update {
		for _, e := range old.Elements() {
			text = appendIdentity(text[:0], e, t)
			seen[string(text)]--
		}
	}
	for key, count := range seen {
		seen[key] = count + 1 // one is not too many
	}
	i := 0
	for m := c.d.children(n); m != 0 && len(c.causes) < MaxCauses; m = c.d.nodes[m].next {
		v := Value{c.d, m}
		text = appendIdentity(text[:0], v, t)
		if len(text) > 0 && seen[string(text)] > 0 {
			path := c.path(n) + "[" + strconv.Itoa(i) + "]"
			if t.ListType == schema.ListMap && len(t.ListKeys) == 1 {
				path += "." + t.ListKeys[0]
			}
			c.add(schema.CauseDuplicate, path, "Duplicate value: "+cut(string(text)))
		}
		seen[string(text)]++
		i++
	}
}

// appendIdentity appends what identifies an element of a list: nothing if it
// has none of its keys.
func appendIdentity(dst []byte, v Value, t *schema.Type) []byte {
	switch {
	case t.ListType == schema.ListSet:
		return v.AppendJSON(dst)
	case len(t.ListKeys) == 1:
		return v.Get(t.ListKeys[0]).AppendJSON(dst)
	}
	start, found := len(dst), false
	dst = append(dst, '{')
	for _, key := range t.ListKeys {
		member := v.Get(key)
		if !member.Exists() {
			continue
		}
		if found {
			dst = append(dst, ',')
		}
		found = true
		dst = append(appendQuoted(dst, key), ':')
		dst = member.AppendJSON(dst)
	}
	if !found {
		return dst[:start]
	}
	return append(dst, '}')
}

// patterns holds compiled patterns by their text. Patterns come from schemas, not from
// requests, so the installed schemas bound their number.
var patterns sync.Map

// pattern compiles a pattern once; nil if it does not compile, which the
// compiler of schemas refuses.
func pattern(text string) *regexp.Regexp {
	if re, ok := patterns.Load(text); ok {
		return re.(*regexp.Regexp)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil
	}
	patterns.Store(text, re)
	return re
}
