package patch

import "github.com/capstan-dev/capstan/internal/document"

// Merge applies a JSON merge patch (RFC 7386): objects merge member by member, null
// removes a member, everything else replaces. As in 1.25, members that are null are left
// out of objects in lists too, unless the list replaces an object.
func Merge(current, patch []byte, limits document.Limits) ([]byte, error) {
	cur, pat, err := decodeObjects(current, patch, limits)
	if err != nil {
		return nil, err
	}
	defer cur.Release()
	defer pat.Release()
	return appendMerged(make([]byte, 0, len(current)+len(patch)), cur.Root(), pat.Root()), nil
}

func appendMerged(dst []byte, cur, pat document.Value) []byte {
	switch {
	case pat.Kind() == document.Object:
	case pat.Kind() == document.Array && cur.Kind() != document.Object:
		return appendPruned(dst, pat)
	default:
		return pat.AppendJSON(dst)
	}
	members := newMembers(pat.Len())
	for name, value := range pat.Members() {
		members.add(name).value = value
	}
	dst = append(dst, '{')
	start := len(dst)
	for name, value := range cur.Members() { // none unless cur is an object
		m := members.find(name)
		if m == nil {
			dst = value.AppendJSON(appendName(dst, start, name))
			continue
		}
		m.used = true
		if !m.value.IsNull() {
			dst = appendMerged(appendName(dst, start, name), value, m.value)
		}
	}
	for i := range members.list {
		if m := &members.list[i]; !m.used && !m.value.IsNull() {
			dst = appendMerged(appendName(dst, start, m.name), document.Value{}, m.value)
		}
	}
	return append(dst, '}')
}

// appendPruned appends a list, with its null elements, but without null members of the
// objects in it.
func appendPruned(dst []byte, list document.Value) []byte {
	dst = append(dst, '[')
	for i, e := range list.Elements() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendMerged(dst, document.Value{}, e)
	}
	return append(dst, ']')
}
