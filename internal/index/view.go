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

// stride is the number of headers excluded by their bits after which Scan looks at a key
// again.
const stride = 16

// Scan visits the keys with the prefix, in order, starting at from (inclusive; "" for the
// beginning of the prefix), until visit returns false. It passes over headers whose
// Config.Bits do not include all bits of need. The prefix must belong to the view's
// resource. The arguments of visit may be kept and must not be changed.
//
// It returns the number of headers passed, up to stride more than there are. Where the
// bits exclude nearly all of them, it goes along the tree's nodes without looking at keys
// or headers, which are elsewhere in memory; so it notices the end of the prefix late.
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
