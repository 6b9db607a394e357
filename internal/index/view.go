package index

import (
	"strings"

	"github.com/tidwall/btree"
)

// View is the headers of a resource at one revision. It does not change, needs
// no closing and is safe for concurrent use.
type View struct {
	tree     *btree.Map[string, []byte]
	revision uint64
}

// Revision is the revision of the store that the view shows.
func (v View) Revision() uint64 { return v.revision }

// Len is the number of headers in the view, of all namespaces.
func (v View) Len() int { return v.tree.Len() }

// Scan visits the keys with the prefix, in order, starting at from (inclusive;
// "" for the beginning of the prefix), until visit returns false. The prefix
// must be one of the resource that the view is of. What visit is given may be
// kept and must not be changed.
func (v View) Scan(prefix, from string, visit func(key string, meta []byte) bool) {
	v.tree.Ascend(max(prefix, from), func(key string, meta []byte) bool {
		return strings.HasPrefix(key, prefix) && visit(key, meta)
	})
}
