package custom

import (
	"context"
	"io"
	"slices"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// served is a resource type of a definition.
type served struct {
	key, name string // of the definition
	d         *definition
	versions  []*api.Resource
	// since is the revision up to which objects may be stored in another form than the
	// definition's present one. With same the known one stays.
	since uint64
	same  bool
}

// put adds resource types to the catalog. Types of the documents stay, even if a
// definition has the same names.
func (f *Follower) put(all ...served) {
	snapshot := f.Catalog.Snapshot()
	var types, replaced []*catalog.Type
	for _, one := range all {
		if !fitIn(snapshot, one.versions) {
			continue
		}
		for _, res := range one.versions {
			d := res.Definition
			d.Key = one.key
			if f.Store.KeepsForms() {
				d.FormKey, d.Form = stored.FormKey(one.name), f.forms[one.name].Revision
			}
			d.Revision.Store(one.d.revision)
		}
		for _, t := range catalog.TypesOf(one.versions) {
			if before := snapshot.Type(t.Prefix); before != nil {
				replaced = append(replaced, before)
			}
			f.Store.Put(t, one.since, one.same)
			types = append(types, t)
		}
	}
	f.Catalog.PutTypes(types...)
	for _, before := range replaced {
		closeConverter(before)
		if now := f.Catalog.Snapshot().Type(before.Prefix); lacksVersion(now, before) {
			f.Hub.End(before.Prefix)
		}
	}
}

// lacksVersion reports whether a type does not serve a version that it served before, or is
// that of another definition.
func lacksVersion(now, before *catalog.Type) bool {
	return now == nil || now.Stored.Definition.UID != before.Stored.Definition.UID || slices.ContainsFunc(before.Rows, func(was *catalog.Row) bool {
		is := now.Version(was.GV.APIVersion())
		return !was.Off && (is == nil || is.Off)
	})
}

// closeConverter closes the connections of a type's converter. Requests that still have
// the type may use it on.
func closeConverter(t *catalog.Type) {
	for _, row := range t.Rows {
		if row.ConvertsRemotely() {
			if c, ok := row.Conversion.Remote.(io.Closer); ok { // one for all rows
				_ = c.Close() // it has nothing to report
			}
			return
		}
	}
}

// fitIn reports whether custom resources may be served along with those of a snapshot,
// and gives them the priorities of their group.
func fitIn(snapshot *catalog.Snapshot, versions []*api.Resource) bool {
	builtIn := func(row *catalog.Row) bool { return row != nil && row.Definition == nil }
	for _, res := range versions {
		if builtIn(snapshot.Stored(res.GV.Group, res.Plural)) || builtIn(snapshot.Kind(res.GV.APIVersion(), res.Kind)) {
			return false
		}
		for _, v := range snapshot.ServedIn(res.GV.Group) {
			res.GV.GroupPriority = v.GroupPriority
			if v.GroupVersion.Version == res.GV.Version {
				res.GV.VersionPriority = v.VersionPriority
			}
		}
	}
	return len(versions) > 0
}

// withdraw removes a resource type from the catalog, and ends its watches.
func (f *Follower) withdraw(group, plural string) {
	row := f.Catalog.Snapshot().Stored(group, plural)
	if row == nil || row.Definition == nil {
		return
	}
	f.Catalog.Remove(group, plural)
	f.Store.Forget(row.Versions.Prefix)
	closeConverter(row.Versions)
	f.Hub.End(row.Versions.Prefix)
}

// edit changes a definition, or its status, unless change reports that nothing is to be
// done.
func (f *Follower) edit(ctx context.Context, name, subresource string, change func(obj document.Value) bool) error {
	of := objects.Ref{Row: f.Row, Name: name}
	if subresource != "" {
		of.Sub = f.Row.Subresource(subresource)
	}
	_, err := f.Objects.Write(ctx, &objects.Write{Ref: of, Opts: objects.Options{Manager: objects.DefinitionManager},
		Change: objects.Editing(func(obj document.Value) error {
			if !change(obj) {
				return objects.ErrNothing
			}
			return nil
		})})
	return err
}
