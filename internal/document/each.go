package document

import "encoding/json"

// EachMember visits the members of an object in canonical JSON, without building a tree,
// until visit returns false. name is without its quotes, in its escaped form; value is
// the text of the value. Both are parts of data. Text that is not an object has no
// members.
func EachMember(data []byte, visit func(name, value []byte) bool) {
	if len(data) == 0 || data[0] != '{' {
		return
	}
	for i := 1; i < len(data) && data[i] == '"'; i++ {
		colon, _ := QuotedEnd(data, i)
		if colon < 0 || colon >= len(data) || data[colon] != ':' {
			return
		}
		end := ValueEnd(data, colon+1)
		if end < 0 || !visit(data[i+1:colon-1], data[colon+1:end]) {
			return
		}
		if i = end; i >= len(data) || data[i] != ',' {
			return
		}
	}
}

// EachElement visits the elements of an array in canonical JSON until visit returns
// false. Text that is not an array has no elements.
func EachElement(data []byte, visit func(value []byte) bool) {
	if len(data) < 2 || data[0] != '[' || data[1] == ']' {
		return
	}
	for i := 1; i < len(data); i++ {
		end := ValueEnd(data, i)
		if end < 0 || !visit(data[i:end]) {
			return
		}
		if i = end; i >= len(data) || data[i] != ',' {
			return
		}
	}
}

// FindTexts are the strings of the array at a path in canonical JSON.
func FindTexts(data []byte, path ...string) (all []string) {
	list, _ := Find(data, path...)
	EachElement(list, func(value []byte) bool {
		all = append(all, Unquote(value))
		return true
	})
	return all
}

// Unquote returns the string of JSON text, "" for text that is not a string.
func Unquote(text []byte) string {
	if len(text) < 2 || text[0] != '"' {
		return ""
	}
	if _, plain := QuotedEnd(text, 0); plain {
		return string(text[1 : len(text)-1])
	}
	var s string
	if json.Unmarshal(text, &s) != nil {
		return ""
	}
	return s
}
