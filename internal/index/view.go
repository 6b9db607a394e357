package index

import "strings"

// View is the headers of a resource at one revision. It does not change, needs
// no closing and is safe for concurrent use.
type View struct {
	tree     *tree
	revision uint64
}

// Revision is the revision of the store that the view shows.
func (v View) Revision() uint64 { return v.revision }

// Len is the number of headers in the view, of all namespaces.
func (v View) Len() int { return v.tree.Len() }

// stride is how often Scan looks at a key of a header that the bits settle.
const stride = 16

// Scan visits the keys with the prefix, in order, starting at from (inclusive;
// "" for the beginning of the prefix), until visit returns false. It passes over
// headers whose Config.Bits do not include all bits of need. The prefix must be
// one of the resource that the view is of. What visit is given may be kept and
// must not be changed.
//
// It returns how many headers it went by, up to stride more than there are. Where
// the bits settle nearly all of them, it goes along the tree's nodes and looks
// neither at the keys nor at the headers, which are elsewhere in memory; so it
// notices late that the prefix has ended.
func (v View) Scan(prefix, from string, need [2]uint64, visit func(key string, meta []byte) bool) (seen int) {
	v.tree.Ascend(max(prefix, from), func(key string, h header) bool {
		settled := !h.has(need)
		if !settled || seen%stride == 0 {
			if !strings.HasPrefix(key, prefix) {
				return false
			}
		}
		seen++
		return settled || visit(key, h.bytes())
	})
	return seen
}
