package patch

import "github.com/capstan-dev/capstan/internal/document"

// change is the part of a patch about one member.
type change struct {
	name   string
	value  document.Value // absent when only directives name the member
	order  document.Value // of $setElementOrder/name
	remove document.Value // of $deleteFromPrimitiveList/name
	used   bool           // the current object has the member
}

// members holds the changes of an object of a patch, with quick access by name. Of
// members with the same name the last counts.
//
// Invariant: names are unique in list; byName, where it is not nil, has the index of
// each.
type members struct {
	list   []change
	byName map[string]int
}

// newMembers allocates for so many members. It uses a map only for many.
func newMembers(n int) members {
	m := members{list: make([]change, 0, n)}
	if n > manyMembers {
		m.byName = make(map[string]int, n)
	}
	return m
}

// find returns the change of a member, or nil. The pointer is valid until the next add.
func (m *members) find(name string) *change {
	if m.byName != nil {
		if i, ok := m.byName[name]; ok {
			return &m.list[i]
		}
		return nil
	}
	for i := range m.list {
		if m.list[i].name == name {
			return &m.list[i]
		}
	}
	return nil
}

// add is find for a member that may be new.
func (m *members) add(name string) *change {
	if c := m.find(name); c != nil {
		return c
	}
	if m.byName != nil {
		m.byName[name] = len(m.list)
	}
	m.list = append(m.list, change{name: name})
	return &m.list[len(m.list)-1]
}
