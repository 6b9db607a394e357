package document

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/capstan-dev/capstan/internal/schema"
)

// appendIdentity appends the identity of an element of a list: nothing if it has none of
// its keys.
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
		dst = append(AppendQuoted(dst, key), ':')
		dst = member.AppendJSON(dst)
	}
	if !found {
		return dst[:start]
	}
	return append(dst, '}')
}

// repeated finds the elements of a list that equal an earlier one in the members that
// keys names. Repetitions that old, the list before an update, has too are accepted.
func (c *checker) repeated(n int32, keys []string, old Value) (causes []schema.Cause) {
	list := Value{c.d, n}
	if !MayRepeat(list, keys) {
		return nil
	}
	seen := map[string]int{}
	var text []byte
	for _, e := range old.Elements() {
		text = appendMembers(text[:0], e, keys)
		seen[string(text)]--
	}
	for key, count := range seen {
		seen[key] = count + 1 // one is none too many
	}
	for _, e := range list.Elements() {
		if len(causes) >= MaxCauses {
			break
		}
		if text = appendMembers(text[:0], e, keys); len(text) > 0 && seen[string(text)] > 0 {
			at, shows := e.pathTo(nil), e
			if len(keys) == 1 {
				name := schema.Steps(strings.TrimSuffix(keys[0], "?"))
				at, shows = e.pathTo(name), e.At(name...)
			}
			causes = append(causes, schema.Cause{Reason: schema.CauseDuplicate, Field: at, Message: "Duplicate value: " + Shown(shows)})
		}
		seen[string(text)]++
	}
	return causes
}

// MayRepeat reports, without keeping texts, whether elements of a list may be the same
// in the members that keys names.
func MayRepeat(list Value, keys []string) bool {
	var space [64]byte
	var hashes [32]uint32
	seen := hashes[:0]
	for _, e := range list.Elements() {
		hash, text := uint32(2166136261), appendMembers(space[:0], e, keys)
		if len(text) == 0 {
			continue
		}
		for _, b := range text {
			hash = (hash ^ uint32(b)) * 16777619
		}
		if len(seen) == len(hashes) || slices.Contains(seen, hash) {
			return true
		}
		seen = append(seen, hash)
	}
	return false
}

// appendMembers appends the members of an element by which it is known: nothing where one
// that need not be there is not.
func appendMembers(dst []byte, v Value, keys []string) []byte {
	for _, key := range keys {
		member, optional := v, false
		if key != "." {
			key, optional = strings.CutSuffix(key, "?")
			member = v.Get(key)
		}
		if member.IsNothing() {
			if optional {
				return nil
			}
			dst = append(dst, ',')
			continue
		}
		dst = append(member.AppendJSON(dst), ',')
	}
	return dst
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
