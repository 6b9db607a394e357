package patch

import "github.com/capstan-dev/capstan/internal/document"

// Merge applies a JSON merge patch (RFC 7386): objects merge member by member, null
// removes a member, everything else replaces.
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
	if pat.Kind() != document.Object {
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
