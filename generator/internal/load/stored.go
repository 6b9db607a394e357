package load

import (
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// stored is a resource whose objects are stored as another kind: <dir>/<Kind>. It
// converts when the document names a hand-written conversion.
type stored struct {
	pos      schema.Position
	res      *model.Resource
	as       string
	converts bool
}

// resolveStored links resources to those of their storage versions, and copies the
// properties that these decide for all versions. With the parts of all releases no version is
// stored as another: which one is stored differs between releases, and each is read for itself.
func (d *documents) resolveStored() {
	if d.every {
		d.stored = nil
		return
	}
	for _, s := range d.stored {
		to := d.resourceOf(s.as)
		if dir := d.folderOf(s.as); to == nil && dir != "" {
			d.fail(s.pos, "write "+dir, "%s is stored as %s, which begins with the name of the group, not of its folder", s.res.Plural, s.as)
			continue
		}
		if to == nil || !to.Stored {
			d.fail(s.pos, "write <group>/<version>/<Kind> of a resource that is stored", "%s is stored as %s, which no document stores", s.res.Plural, s.as)
			continue
		}
		if d.storedElsewhere(to) {
			d.fail(s.pos, "name the version that it is stored as", "%s is stored as %s, which is stored as another version itself", s.res.Plural, s.as)
			continue
		}
		s.res.StoredAs, s.res.StorageVersion = to, to.StorageVersion
		if s.res.StorageVersionHash == "" {
			s.res.StorageVersionHash = to.StorageVersionHash
		}
		d.checkStored(s.pos, s.res)
		s.res.Columns = to.Columns
		if len(s.res.Selectable) == 0 {
			s.res.Selectable = to.Selectable
		}
	}
}

func (d *documents) resourceOf(kind string) *model.Resource {
	slash := strings.LastIndexByte(kind, '/')
	if slash < 0 || d.groups[kind[:slash]] == nil {
		return nil
	}
	for _, res := range d.groups[kind[:slash]].Resources {
		if res.Kind == kind[slash+1:] {
			return res
		}
	}
	return nil
}

// folderOf is <folder>/<version>/<Kind> for <group>/<version>/<Kind>; "" if it names none.
func (d *documents) folderOf(kind string) string {
	for _, gv := range d.model.GroupVersions {
		if name, ok := strings.CutPrefix(kind, gv.Group+"/"+gv.Version+"/"); ok && gv.Group != "" && gv.Dir != gv.Group+"/"+gv.Version {
			return gv.Dir + "/" + name
		}
	}
	return ""
}

func (d *documents) storedElsewhere(res *model.Resource) bool {
	for _, s := range d.stored {
		if s.res == res {
			return true
		}
	}
	return false
}

// lifecycle names the keys of a resource that only the storage version may have.
func lifecycle(res *model.Resource) (keys []string) {
	for _, k := range []struct {
		key  string
		said bool
	}{
		{"columns", len(res.Columns) > 0}, {"generation", res.HasGeneration}, {"graceful", res.Graceful != nil}, {"completes", res.Completes},
		{"expires", res.Expires}, {"statusOnCreate", res.StatusOnCreate},
		{"deleteReturnsObject", res.DeleteReturnsObject}, {"role", res.Role != ""}, {"conditionalUpdate", res.ConditionalUpdate},
		{"dependents", res.Dependents != ""}, {"protectedNames", len(res.ProtectedNames) > 0},
	} {
		if k.said {
			keys = append(keys, k.key)
		}
	}
	return keys
}

// checkStored refuses a version that disagrees with the storage version, or has a key that
// only the storage version may have.
func (d *documents) checkStored(pos schema.Position, res *model.Resource) {
	to := res.StoredAs
	if res.Namespaced != to.Namespaced || res.HasStatus != to.HasStatus {
		d.fail(pos, "give both the same scope, and both the subresource status or none",
			"%s has another scope or status than at %s, as which it is stored", res.Plural, to.Pos)
	}
	if said := lifecycle(res); len(said) > 0 {
		d.fail(pos, "remove "+strings.Join(said, ", ")+": the version that is stored says it for all", "%s says what only %s can say", res.Plural, to.Pos)
	}
	for _, h := range res.Hooks {
		if h != "validate" {
			d.fail(pos, "move it to the resource at "+to.Pos.String(), "the %s hook of %s would not see what is stored", h, res.Plural)
		}
	}
	d.checkAliases(res, to.Selectable)
	for _, f := range res.Selectable {
		known := f.AliasOf != "" || f.Never
		for _, other := range to.Selectable {
			known = known || other.Name == f.Name
		}
		if !known {
			d.failOf(model.OfSelectable, f.Pos, "make it selectable at "+to.Pos.String()+", or an alias of what is",
				"the selectable field %s is none of the version that is stored", f.Name)
		}
	}
}
