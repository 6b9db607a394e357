package document

import (
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/schema"
)

// ValidateTouched is Validate for a value that replaces old: it leaves out mistakes that
// old had already and the update has not touched, since rules may be younger than old. A
// value counts as touched when it differs from its counterpart in old:
//
//   - members of objects and maps are matched by name, elements of lists of type map by
//     their keys; elements of other lists are matched with an equal one, in any position,
//     and otherwise with the one in the same position, if that is unmatched; in custom
//     resources they are not matched, as clients expect of Kubernetes;
//   - a number of items counts as touched when it differs, and an element that
//     repeats another one when old has fewer of it;
//   - a required member that old lacks too may stay away;
//   - for the causes of a validation hook StillWrong decides.
//
// It costs more than Validate, so call that first.
func ValidateTouched(v, old Value, hooks *Hooks) []schema.Cause {
	t, _ := v.Type()
	if t == nil {
		return nil
	}
	c := checker{d: v.d, table: t, hooks: hooks, update: true, before: old}
	c.value(v.n, old)
	return c.causes
}

// StillWrong returns the causes that count in an update (ratcheting). A rule of
// hand-written code may depend on any field, so one that was broken in the same words
// before, at a value that the update has not touched, is not enforced. inBefore finds the
// earlier mistakes.
func StillWrong(causes []schema.Cause, obj, before Value, inBefore func() []schema.Cause) []schema.Cause {
	known := map[schema.Cause]bool{}
	for _, c := range inBefore() {
		known[c] = true
	}
	if len(known) == 0 {
		return causes
	}
	return slices.DeleteFunc(causes, func(c schema.Cause) bool {
		now, was, path := Counterpart(obj, before, c.Field)
		c.Field = path
		return known[c] && Equal(now, was)
	})
}

// forgive removes the causes from a mark on if old has the same value.
func (c *checker) forgive(mark int, n int32, old Value) {
	if c.update && len(c.causes) > mark && old.Exists() && Equal(Value{c.d, n}, old) {
		c.causes = c.causes[:mark]
	}
}

// lacked reports whether an object lacked before the update a required member that it
// lacks now (n, 0 for absent), as far as the stored form shows it: a stored zero may have
// been sent or not.
func (c *checker) lacked(n int32, object Value, name string) bool {
	if !c.update || !object.Exists() {
		return false
	}
	old := object.Get(name)
	return !old.Exists() || old.d.isZero(old.n) || n != 0 && Equal(Value{c.d, n}, old)
}

// before finds the children of a container in old: for each its value there, absent for a
// new one, and its position in a list. No element of old is used twice.
func before(now, old Value, t *schema.Type) (was []Value, at []int) {
	var children []int32
	for c := now.d.children(now.n); c != 0; c = now.d.nodes[c].next {
		children = append(children, c)
	}
	was, at = make([]Value, len(children)), make([]int, len(children))
	if t.Kind == schema.Map {
		members := map[string]Value{}
		for name, m := range old.Members() {
			members[name] = m
		}
		for i, c := range children {
			was[i] = members[now.d.name(c)]
		}
		return was, at
	}
	var text []byte
	key := func(e Value) []byte {
		if text = text[:0]; t.ListType == schema.ListMap {
			text = appendIdentity(text, e, t)
		}
		if len(text) == 0 {
			text = e.AppendJSON(text)
		}
		return text
	}
	var places []Value
	free := map[string][]int{} // positions of unused elements, by key
	for i, e := range old.Elements() {
		places = append(places, e)
		free[string(key(e))] = append(free[string(key(e))], i)
	}
	for i, c := range children {
		k := key(Value{now.d, c})
		if same := free[string(k)]; len(same) > 0 {
			was[i], at[i] = places[same[0]], same[0]
			free[string(k)] = same[1:]
			places[same[0]] = Value{}
		}
	}
	for i := range min(len(places), len(children)) {
		if !was[i].Exists() && t.ListType != schema.ListMap && places[i].Exists() {
			was[i], at[i] = places[i], i
		}
	}
	return was, at
}

// Counterpart finds the value at a path of a cause ("spec.containers[1].name",
// "data[key]") in an object and its counterpart in old, matched as in ValidateTouched,
// with its path there. Where the path leads to nothing, both are absent.
func Counterpart(obj, old Value, path string) (v, was Value, oldPath string) {
	v, was = obj, old
	done := make([]byte, 0, len(path))
	for rest := path; rest != ""; {
		if rest[0] == '[' && v.Kind() == Array {
			end := strings.IndexByte(rest, ']')
			i, err := strconv.Atoi(rest[1:max(end, 1)])
			if err != nil {
				return Value{}, Value{}, string(done) + rest
			}
			var at int
			v, was, at = element(v, was, i)
			done = append(strconv.AppendInt(append(done, '['), int64(at), 10), ']')
			rest = rest[end+1:]
			continue
		}
		name, end := nextStep(v, rest)
		v, was = v.Get(name), was.Get(name)
		done = append(done, rest[:end]...)
		rest = rest[end:]
	}
	return v, was, string(done)
}

// nextStep is the first name of a path, and the position where the path goes on.
func nextStep(v Value, path string) (name string, end int) {
	if path[0] == '[' {
		for i := 1; i < len(path); i++ { // a key may have brackets
			if path[i] == ']' && (v.Get(path[1:i]).Exists() || !strings.Contains(path[i+1:], "]")) {
				return path[1:i], i + 1
			}
		}
		return path[1:], len(path)
	}
	start := 0
	if path[0] == '.' {
		start = 1
	}
	if end = strings.IndexAny(path[start:], ".["); end < 0 {
		return path[start:], len(path)
	}
	return path[start : start+end], start + end
}

// element is an element of a list, its counterpart in old, and that one's position.
func element(list, old Value, i int) (v, was Value, at int) {
	v = list.Index(i)
	table, ref := list.Type()
	if !v.Exists() || table == nil || !old.Exists() {
		return v, old.Index(i), i
	}
	all, places := before(list, old, &table.Types[ref])
	if !all[i].Exists() {
		return v, Value{}, i
	}
	return v, all[i], places[i]
}
