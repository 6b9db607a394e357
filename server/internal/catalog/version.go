package catalog

import (
	"cmp"
	"sync"

	"github.com/capstan-dev/capstan/internal/api"
)

// Version is a served group version, without the rows that are off. All rows of one agree
// on its priorities. A version never changes: one with other rows is another version, so
// values that are made of it can be kept with it, see Derived.
type Version struct {
	*api.GroupVersion
	Rows   []*Row  // by plural name
	Remote *Remote // where an extension server serves it; then it has no rows

	derived *sync.Map
}

// with is the version with other rows.
func (v *Version) with(rows []*Row) *Version {
	return &Version{GroupVersion: v.GroupVersion, Rows: rows, derived: new(sync.Map)}
}

// Derived is a value that is made of a version when it is first requested, and kept as
// long as the version is. The key is of a type of the package that requests it.
func Derived[T any](v *Version, key any, make func() T) T {
	if have, ok := v.derived.Load(key); ok {
		return have.(T)
	}
	have, _ := v.derived.LoadOrStore(key, make())
	return have.(T)
}

// compare orders group versions as discovery does: by the priority of the group, its
// name, and the priority of the version in it.
func (v *Version) compare(gv *api.GroupVersion) int {
	return cmp.Or(cmp.Compare(gv.GroupPriority, v.GroupPriority), cmp.Compare(v.Group, gv.Group),
		cmp.Compare(gv.VersionPriority, v.VersionPriority), cmp.Compare(v.GroupVersion.Version, gv.Version))
}
