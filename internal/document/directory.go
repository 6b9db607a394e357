package document

import "github.com/capstan-dev/capstan/internal/schema"

// Objects with fewer members are searched member by member. For larger ones it is
// noted where they were searched last, and they get a directory when as much was
// searched as it costs to make.
const (
	manyMembers   = 64
	worthSearches = 8
)

// directory makes many searches in one large object cost what reading it costs:
// searches in the order of the names, also when they add or remove members, and
// searches in any order while nothing changes. Members of Object types are fields, of
// which there are few; these objects have no directory.
//
// Invariants: near is a member of the object, 0 for none; members is right while the
// document's dirt is what it was when the searches began, since every change of an
// object counts as dirt.
type directory struct {
	near     int32 // the member in front of what was searched last, in a map
	dirt     uint32
	searched int              // members that were passed in searches
	size     int              // how many there are; 0 until it is counted
	members  map[string]int32 // by name; nil until it is worth it
}

// sorted reports whether the members of an object are ordered by name.
func (d *Document) sorted(p int32) bool {
	typ := d.nodes[p].typ
	return typ >= 0 && d.table.Types[typ].Kind == schema.Map
}

// findKey is find for an object whose members are no fields.
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

// begin is where a search in a map begins: behind the member where the last one
// ended if that is before what is searched, else at the first. prev is the member in
// front of c.
func (d *Document) begin(p int32, isBefore func(near int32) bool) (prev, c int32) {
	if dir := d.names[p]; dir != nil && dir.near != 0 && isBefore(dir.near) {
		return dir.near, d.nodes[dir.near].next
	}
	return 0, d.nodes[p].first
}

// gone notes that a member is taken out of its object.
func (d *Document) gone(m int32) {
	if dir := d.names[d.nodes[m].parent]; dir != nil && dir.near == m {
		dir.near = 0
	}
}

// noteSearch notes that so many members of an object were passed in a search, up to
// near, and makes its directory when there were many searches.
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
