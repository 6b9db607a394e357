package api

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
)

// Conversion converts a resource to and from its storage version, where that is another
// version.
//
// Invariant: the row that it names is stored in its own version.
type Conversion struct {
	Group, Version, Plural string    // of the row of the storage version
	Storage                *Resource // that row; set by LinkVersions
	Fills                  bool      // the storage version has defaults that this one may lack; set by LinkVersions
	Reread                 bool      // only apiVersion changes, and fields that the other version does not have are left out
	Same                   bool      // the types are the same: only apiVersion changes, without a plan
	Remote                 Converter // nil for a conversion by the plans; with it stored objects may be in any version
	ToStorage, FromStorage Plan
}

// Converter turns objects of one version of a kind into another with a remote service, so
// it may block, for a bounded time.
type Converter interface {
	// Convert returns the objects, canonical JSON in any version of the kind but that of
	// to, in the version of to: as many, in their order. The result may not be of the
	// kind's type.
	Convert(ctx context.Context, to *Resource, objects [][]byte) ([][]byte, error)
}

// ConvertsRemotely reports whether turning the row's objects from and to their storage version
// may wait.
func (r *Resource) ConvertsRemotely() bool { return r.Conversion != nil && r.Conversion.Remote != nil }

// Plan is one direction of a conversion: fields are copied, those that only one version has
// are carried in an annotation, then Hook does the rest, if any.
type Plan struct {
	Copy    []Copy
	Carry   []Carried                     // fields of the source that the target lacks
	Restore []Carried                     // fields of the target that the source lacks
	Hook    func(from, to document.Value) // nil for none
}

// Copy is a field that both versions have: of one type, or with Below an object, or with
// Each a list or map of objects, whose fields are copied one by one.
type Copy struct {
	Name  string // in the target
	From  string // in the source; "" for the same
	Each  bool
	Below []Copy
}

// Carried is a field that one of two versions lacks.
type Carried struct {
	Key  string // in the annotation: its version and path, "v2:spec.size"
	Path []string
}

// Rewrites reports whether fields may become annotations, or others by hand-written code.
func (c *Conversion) Rewrites() bool {
	return c.FromStorage.Hook != nil || c.FromStorage.Carry != nil || c.FromStorage.Restore != nil
}

// Storage is the row of the storage version: usually r.
func (r *Resource) Storage() *Resource {
	if r.Conversion == nil {
		return r
	}
	return r.Conversion.Storage
}

// SortGroups puts group versions in the order of discovery: groups of higher priority first, and in a group versions of higher
// priority.
func SortGroups(groups []*GroupVersion) {
	slices.SortStableFunc(groups, func(a, b *GroupVersion) int {
		return cmp.Or(cmp.Compare(b.GroupPriority, a.GroupPriority), strings.Compare(a.Group, b.Group), cmp.Compare(b.VersionPriority, a.VersionPriority))
	})
}

// LinkVersions puts group versions in the order of discovery, links rows to those of their storage versions, and marks the
// version of the highest priority of each group. groups are all group versions, served or not.
func LinkVersions(groups []*GroupVersion) {
	SortGroups(groups)
	best := map[string]*GroupVersion{}
	for _, gv := range groups {
		if other := best[gv.Group]; other == nil || gv.VersionPriority > other.VersionPriority {
			best[gv.Group] = gv
		}
	}
	for _, gv := range groups {
		gv.Preferred = best[gv.Group] == gv
	}
	rows := map[[3]string]*Resource{}
	each := func(visit func(*Resource)) {
		for _, gv := range groups {
			for i := range gv.Resources {
				visit(&gv.Resources[i])
			}
		}
	}
	each(func(r *Resource) { rows[[3]string{r.GV.Group, r.GV.Version, r.Plural}] = r })
	each(func(r *Resource) {
		if c := r.Conversion; c != nil {
			c.Storage = rows[[3]string{c.Group, c.Version, c.Plural}]
			c.Fills = c.Storage != nil && c.Storage.Form != r.Form && c.Storage.GV.Types().Fills(c.Storage.Type)
		}
	})
}
