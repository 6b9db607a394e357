package document

// Find returns the text of the value at a path of member names in canonical JSON, without
// building a tree; false when the path leads to nothing. The result is a part of data and
// keeps data's capacity, so cap(data)-cap(result) is its offset. Names that need escapes
// in JSON are compared in their escaped form.
func Find(data []byte, path ...string) ([]byte, bool) {
	at := 0
	for _, name := range path {
		if at = member(data, at, name); at < 0 {
			return nil, false
		}
	}
	end := ValueEnd(data, at)
	if end < 0 {
		return nil, false
	}
	return data[at:end], true
}

// member returns the position of the value of a member of the object at i, -1
// for none.
func member(b []byte, i int, name string) int {
	if i >= len(b) || b[i] != '{' {
		return -1
	}
	i++
	var space [64]byte
	if plainEndText(name) < len(name) {
		name = string(appendEscaped(space[:0], []byte(name)))
	}
	for i < len(b) && b[i] == '"' {
		end, _ := QuotedEnd(b, i)
		if end < 0 || end >= len(b) || b[end] != ':' {
			return -1
		}
		if string(b[i+1:end-1]) == name {
			return end + 1
		}
		if i = ValueEnd(b, end+1); i < 0 || i >= len(b) || b[i] != ',' {
			return -1
		}
		i++
	}
	return -1
}

// ValueEnd returns the position after the value at i, -1 when it has no end. It considers
// strings and the depth of brackets only.
func ValueEnd(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		end, _ := QuotedEnd(b, i)
		return end
	case '{', '[':
		return containerEnd(b, i)
	}
	start := i
	for ; i < len(b); i++ {
		if c := b[i]; c == ',' || c == '}' || c == ']' {
			break
		}
	}
	if i == start {
		return -1
	}
	return i
}
