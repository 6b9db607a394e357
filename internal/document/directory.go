package document

import "github.com/capstan-dev/capstan/internal/schema"

// An object with fewer members is searched member by member. For a larger one the
// position of the last search is noted, and it gets a directory once searches have cost
// as much as making it.
const (
	manyMembers   = 64
	worthSearches = 8
)

// directory lets many searches in one large object cost no more than reading it: searches
// in the order of the names, also when they add or remove members, and searches in any
// order while nothing changes. Members of Object types are fields, of which there are
// few; these objects have no directory.
//
// Invariants: near is a member of the object, 0 for none; members is right while the
// document's dirt is the same as when the searches began, since every change of an object
// counts as dirt.
type directory struct {
	near     int32 // in a map, the member before the last search result
	dirt     uint32
	searched int              // members passed in searches
	size     int              // number of members; 0 until counted
	members  map[string]int32 // by name; nil until searches are frequent
}

// sorted reports whether the members of an object are ordered by name.
func (d *Document) sorted(p int32) bool {
	typ := d.nodes[p].typ
	return typ >= 0 && d.table.Types[typ].Kind == schema.Map
}

// findKey is find for an object whose members are not fields.
func (d *Document) findKey(p int32, name string) int32 {
	dir := d.names[p]
	if dir != nil && dir.members != nil && dir.dirt == d.dirt {
		return dir.members[name]
	}
	prev, c, steps := int32(0), d.children(p), 0
	if !d.sorted(p) {
		for ; c != 0 && !d.keyIs(&d.nodes[c], name); c = d.nodes[c].next {
			steps++
		}
		d.noteSearch(p, 0, steps)
		return c
	}
	if dir != nil {
		prev, c = d.begin(p, func(near int32) bool { return d.compareName(near, name) < 0 })
	}
	order := 1
	for ; c != 0; prev, c = c, d.nodes[c].next {
		if order = d.compareName(c, name); order >= 0 {
			break
		}
		steps++
	}
	d.noteSearch(p, prev, steps)
	if order != 0 {
		return 0
	}
	return c
}

// begin is the start of a search in a map: after the member where the last search ended
// if that is before the searched one, else the first member. prev is the member before c.
func (d *Document) begin(p int32, isBefore func(near int32) bool) (prev, c int32) {
	if dir := d.names[p]; dir != nil && dir.near != 0 && isBefore(dir.near) {
		return dir.near, d.nodes[dir.near].next
	}
	return 0, d.nodes[p].first
}

// gone notes that a member is removed from its object.
func (d *Document) gone(m int32) {
	if dir := d.names[d.nodes[m].parent]; dir != nil && dir.near == m {
		dir.near = 0
	}
}

// noteSearch notes that a search passed so many members of an object, up to near, and
// makes its directory after many.
func (d *Document) noteSearch(p, near int32, steps int) {
	dir := d.names[p]
	switch {
	case dir != nil:
	case steps <= manyMembers:
		return
	default:
		if d.names == nil {
			d.names = make(map[int32]*directory)
		}
		dir = new(directory)
		d.names[p] = dir
	}
	dir.near = near
	if dir.dirt != d.dirt {
		dir.dirt, dir.searched, dir.size, dir.members = d.dirt, 0, 0, nil
	}
	if dir.searched += steps; dir.searched < worthSearches*manyMembers {
		return
	}
	if dir.size == 0 {
		for c := d.nodes[p].first; c != 0; c = d.nodes[c].next {
			dir.size++
		}
	}
	if dir.searched >= worthSearches*dir.size {
		d.makeDirectory(p, dir)
	}
}

func (d *Document) makeDirectory(p int32, dir *directory) {
	dir.members = make(map[string]int32, dir.size)
	for c := d.nodes[p].first; c != 0; c = d.nodes[c].next {
		name := d.name(c)
		if _, known := dir.members[name]; !known {
			dir.members[name] = c
		}
	}
}
