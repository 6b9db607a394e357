package document

// Objects with fewer members are always searched member by member. Larger ones get
// a directory when as much was searched as costs to make it.
const (
	manyMembers   = 64
	worthSearches = 8
)

// directory has the members of one object by name, so that many members of a large
// object are found in the time that reading it takes.
//
// Invariant: it is right while the document's dirt is what it was when the searches
// began: every change of an object counts as dirt. Members of Object types are
// fields, of which there are few; these objects have no directory.
type directory struct {
	object   int32
	dirt     uint32
	searched int              // members that were passed in searches
	members  map[string]int32 // nil until it is worth it
}

// directories are those of the objects that were searched last, by their node.
type directories [4]directory

// of is the directory of an object, which may be that of another one.
func (s *directories) of(p int32) *directory { return &s[uint32(p)%uint32(len(s))] }

// lookup finds a member in the directory of its object. ok is false when there is
// none.
func (d *Document) lookup(p int32, name string) (m int32, ok bool) {
	if d.names == nil {
		return 0, false
	}
	dir := d.names.of(p)
	if dir.object != p || dir.dirt != d.dirt || dir.members == nil {
		return 0, false
	}
	return dir.members[name], true
}

// noteSearch notes that so many members of an object were passed in a search, and
// makes its directory when there were many searches.
func (d *Document) noteSearch(p int32, steps int) {
	if d.names == nil {
		d.names = new(directories)
	}
	dir := d.names.of(p)
	if dir.object != p || dir.dirt != d.dirt {
		*dir = directory{object: p, dirt: d.dirt}
	}
	if dir.searched += steps; dir.searched < worthSearches*manyMembers {
		return
	}
	count := 0
	for c := d.nodes[p].first; c != 0; c = d.nodes[c].next {
		count++
	}
	if dir.searched < worthSearches*count {
		return
	}
	dir.members = make(map[string]int32, count)
	for c := d.nodes[p].first; c != 0; c = d.nodes[c].next {
		name := d.name(c)
		if _, known := dir.members[name]; !known {
			dir.members[name] = c
		}
	}
}
