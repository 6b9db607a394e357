package patch

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
)

// node is a value that the operations of a JSON patch change. It stays text until an
// operation needs its members.
//
// Invariant: either text or inner is set.
type node struct {
	text []byte // without white space between its tokens
	*inner
}

// inner has the parts of a list or an object. byName has the present members; removed ones
// have no value and stay in members.
type inner struct {
	isList  bool
	list    []*node
	members []*member
	byName  map[string]*member
}

type member struct {
	name  string
	value *node
}

func newNode(text []byte) *node { return &node{text: text} }

// parse reads the members or elements of the node from its text. It reports false for a
// scalar.
func (n *node) parse() bool {
	if n.text == nil {
		return true
	}
	switch n.text[0] {
	case '{':
		n.inner = &inner{byName: make(map[string]*member)}
		document.EachMember(n.text, func(name, value []byte) bool {
			n.set(unescape(name), newNode(value))
			return true
		})
	case '[':
		n.inner = &inner{isList: true, list: make([]*node, 0, bytes.Count(n.text, []byte(","))+1)} // or fewer
		document.EachElement(n.text, func(value []byte) bool {
			n.list = append(n.list, newNode(value))
			return true
		})
	default:
		return false
	}
	n.text = nil
	return true
}

func unescape(name []byte) string {
	if bytes.IndexByte(name, '\\') < 0 {
		return string(name)
	}
	return document.Unquote(slices.Concat([]byte{'"'}, name, []byte{'"'}))
}

// set sets a member of an object.
func (n *node) set(name string, value *node) {
	if m := n.byName[name]; m != nil {
		m.value = value
		return
	}
	m := &member{name, value}
	n.byName[name] = m
	n.members = append(n.members, m)
}

// unescapePointer turns ~1 and ~0 in a token of a JSON pointer into / and ~.
var unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")

// find returns the list or object that a JSON pointer leads into, and its last token; nil
// when there is none.
func (n *node) find(pointer string) (in *node, token string) {
	in = n
	for rest, more := pointer[1:], true; in != nil && in.parse(); {
		if token, rest, more = strings.Cut(rest, "/"); !more {
			return in, unescapePointer.Replace(token)
		}
		in, _ = in.get(unescapePointer.Replace(token))
	}
	return nil, ""
}

// get returns an element of a list, or a member of an object, nil for a missing one.
func (n *node) get(token string) (*node, error) {
	if !n.isList {
		if m := n.byName[token]; m != nil {
			return m.value, nil
		}
		return nil, nil
	}
	i, err := index(token, len(n.list))
	if err != nil {
		return nil, err
	}
	return n.list[i], nil
}

// index is the position of an element in a list of that length, from the end for a
// negative token.
func index(token string, count int) (int, error) {
	i, err := strconv.Atoi(token)
	if err != nil {
		return 0, fmt.Errorf("%q is not an index of a list", token)
	}
	if i < -count || i >= count {
		return 0, fmt.Errorf("the list has no index %d", i)
	}
	return (i + count) % count, nil
}

// add inserts an element into a list, or sets the member of an object. moved is the number
// of elements after it.
func (n *node) add(token string, value *node) (moved int, err error) {
	switch {
	case !n.isList:
		n.set(token, value)
	case token == "-":
		n.list = append(n.list, value)
	default:
		i, err := index(token, len(n.list)+1)
		if err != nil {
			return 0, err
		}
		moved = len(n.list) - i
		n.list = slices.Insert(n.list, i, value)
	}
	return moved, nil
}

// replace sets an element of a list, which must exist, or the member of an object.
func (n *node) replace(token string, value *node) error {
	if !n.isList {
		n.set(token, value)
		return nil
	}
	i, err := index(token, len(n.list))
	if err == nil {
		n.list[i] = value
	}
	return err
}

// remove removes an element or a member, which must exist. moved is the number of elements
// after it.
func (n *node) remove(token string) (moved int, err error) {
	if !n.isList {
		m := n.byName[token]
		if m == nil {
			return 0, fmt.Errorf("there is no %q", token)
		}
		m.value = nil
		delete(n.byName, token)
		return 0, nil
	}
	i, err := index(token, len(n.list))
	if err != nil {
		return 0, err
	}
	n.list = slices.Delete(n.list, i, i+1)
	return len(n.list) - i, nil
}

// parts is the number of values in the node that appendTo looks at, with the removed ones.
func (n *node) parts() int {
	if n.text != nil {
		return 1
	}
	parts := 1 + len(n.members)
	for _, e := range n.list {
		parts += e.parts()
	}
	for _, m := range n.byName {
		parts += m.value.parts()
	}
	return parts
}

// appendTo appends the JSON of the node. Parsed nodes have their members in the order of
// their names, as in 1.25, which shows in the order of warnings.
func (n *node) appendTo(dst []byte) []byte {
	switch {
	case n.text != nil:
		return append(dst, n.text...)
	case n.isList:
		dst = append(dst, '[')
		for i, e := range n.list {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = e.appendTo(dst)
		}
		return append(dst, ']')
	}
	slices.SortFunc(n.members, func(a, b *member) int { return strings.Compare(a.name, b.name) })
	dst = append(dst, '{')
	start := len(dst)
	for _, m := range n.members {
		if m.value != nil {
			dst = m.value.appendTo(appendName(dst, start, m.name))
		}
	}
	return append(dst, '}')
}

// equal reports whether two values are the same. Numbers are equal if their spelling is.
func (n *node) equal(o *node) bool {
	switch {
	case !n.parse() || !o.parse():
		return n.text != nil && o.text != nil &&
			(bytes.Equal(n.text, o.text) || n.text[0] == '"' && o.text[0] == '"' && document.Unquote(n.text) == document.Unquote(o.text))
	case n.isList || o.isList:
		return n.isList && o.isList && slices.EqualFunc(n.list, o.list, (*node).equal)
	case len(n.byName) != len(o.byName):
		return false
	}
	for name, m := range n.byName {
		if other := o.byName[name]; other == nil || !m.value.equal(other.value) {
			return false
		}
	}
	return true
}
