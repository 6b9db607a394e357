package apply

import (
	"github.com/capstan-dev/capstan/internal/document"
)

// prune removes from a merged object the fields that its manager applied before (last, in
// version) and does not apply any more, unless another manager owns them. Parts inside of
// a removed value that have an owner keep the values around them. The result is nil if
// that version does not exist any more.
func (k *Kind) prune(merged document.Value, managers ledger, last Set, version string) (*document.Document, error) {
	v, err := k.view(version, merged)
	if err != nil || v == nil {
		return nil, err
	}
	defer v.release()
	last = v.withFields(v.typ, last)
	pruned, err := decoded(v.remove(nil, v.typ, v.old, last))
	if err != nil {
		return nil, err
	}
	owned := map[string]Set{}
	versions := []string{version} // first, as conversion may need the removed fields
	for _, e := range managers {
		if _, seen := owned[e.version]; !seen && e.version != version {
			versions = append(versions, e.version)
		}
		owned[e.version] = owned[e.version].Union(e.owned())
	}
	for _, in := range versions {
		back, err := k.addBack(v, pruned, version, in, owned[in])
		if err != nil {
			pruned.Release()
			return nil, err
		}
		if back != nil {
			pruned.Release()
			pruned = back
		}
	}
	defer pruned.Release()
	// A removed path that the manager did not own itself stays.
	mergedSet := v.withFields(v.typ, v.collect(v.typ, v.old))
	prunedSet := v.withFields(v.typ, v.collect(v.typ, pruned.Root()))
	result, err := decoded(v.remove(nil, v.typ, v.old, mergedSet.Difference(prunedSet).Intersection(last)))
	if err != nil || version == k.APIVersion {
		return result, err
	}
	return k.convert(result, version, k.APIVersion)
}

// addBack returns the merged object without the fields that the pruned one lacks and that
// have no owner in a version; nil if that version does not exist any more.
func (k *Kind) addBack(v *view, pruned *document.Document, version, in string, owned Set) (*document.Document, error) {
	merged, less := v.old, pruned.Root()
	g, typ := v.grammar, v.typ
	if in != version {
		all, err := k.convertValue(merged, version, in)
		if err != nil || all == nil {
			return nil, err
		}
		defer all.Release()
		some, err := k.convertValue(less, version, in)
		if err != nil || some == nil {
			return nil, err
		}
		defer some.Release()
		merged, less = all.Root(), some.Root()
		g.table, typ = k.Versions.Type(in)
		if in == k.APIVersion {
			g.table, typ = k.Table, k.Type
		}
	}
	mergedSet := g.withFields(typ, g.collect(typ, merged))
	kept := g.withFields(typ, g.collect(typ, less)).Union(g.withFields(typ, owned))
	out, err := decoded(g.remove(nil, typ, merged, mergedSet.Difference(kept)))
	if err != nil || in == version {
		return out, err
	}
	return k.convert(out, in, version)
}

// convert converts a document and releases it; nil if the kind does not have the version.
func (k *Kind) convert(doc *document.Document, from, to string) (*document.Document, error) {
	defer doc.Release()
	return k.convertValue(doc.Root(), from, to)
}

func (k *Kind) convertValue(v document.Value, from, to string) (*document.Document, error) {
	if k.Versions == nil {
		return nil, nil
	}
	doc, ok, err := k.Versions.Convert(v, from, to)
	if err != nil || !ok {
		return nil, err
	}
	return doc, nil
}
