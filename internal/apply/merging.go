package apply

import (
	"slices"

	"github.com/capstan-dev/capstan/internal/schema"
)

// Merging returns the table for the ownership of fields: lists that a strategic patch
// merges by a key are lists of type map with that key, those of scalars that it merges
// are sets, unless they have another type; and loose objects are open, since their pruned
// members have owners all the same. Refs of t are valid in it too. A table without such
// types is returned as it is. Make it once for each group version; it is as large as t.
func Merging(t *schema.Table) *schema.Table {
	out := *t
	out.Types = slices.Clone(t.Types)
	loose := false
	for i := range t.Types {
		if t.Types[i].Loose {
			loose = true
			opened(&out.Types[i])
		}
		cloned := false
		for j := range t.Types[i].Fields {
			f := &t.Types[i].Fields[j]
			list, ok := mergedList(t, f)
			if !ok {
				continue
			}
			if !cloned {
				out.Types[i].Fields, cloned = slices.Clone(t.Types[i].Fields), true
			}
			out.Types[i].Fields[j].Type = schema.Ref(len(out.Types))
			out.Types = append(out.Types, list)
		}
	}
	if len(out.Types) == len(t.Types) && !loose {
		return t
	}
	return &out
}

// opened makes a loose type the one by which its values are sent: an open object, a map
// where the schema names no members, or anything where it names no type either.
func opened(t *schema.Type) {
	switch {
	case len(t.Fields) > 0:
		t.Open = true
	case t.Values.Types == 0:
		t.Kind = schema.Any
	default:
		t.Kind = schema.Map
	}
}

// mergedList is the type of a field's list where its patch strategy decides rather than
// the list itself.
func mergedList(t *schema.Table, f *schema.Field) (schema.Type, bool) {
	if f.Patch&(schema.PatchMerge|schema.PatchAtomic) != schema.PatchMerge || f.Type < 0 {
		return schema.Type{}, false
	}
	list := t.Types[f.Type]
	if list.Kind != schema.List || list.ListType != schema.ListAtomic || list.Elem < 0 {
		return schema.Type{}, false
	}
	elem := &t.Types[list.Elem]
	switch {
	case elem.Kind == schema.Object && f.Rest().PatchKey != "" && elem.Field(f.More.PatchKey) >= 0:
		list.ListType, list.ListKeys = schema.ListMap, []string{f.More.PatchKey}
	case elem.Kind != schema.Object && elem.Kind != schema.Map && elem.Kind != schema.List && elem.Kind != schema.Any:
		list.ListType = schema.ListSet
	default:
		return schema.Type{}, false
	}
	return list, true
}
