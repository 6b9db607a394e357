package model

import (
	"maps"
	"regexp"
	"slices"

	"github.com/capstan-dev/capstan/internal/schema"
)

// Renaming has the paths of the fields of a kind in one version, like .spec.amount, by those in another, where
// they differ.
type Renaming map[string]string

// Side is a kind in a version, with all group versions of its documents.
type Side struct {
	Of     *Type
	Within []*GroupVersion
}

// Renames compares the fields of a kind in two versions: they have equal names, or one was renamed from the other. A kind
// that is known from an OpenAPI document only may have no schema, and then nothing was renamed.
func Renames(from, to Side) Renaming {
	if from.Of.Schema == nil || to.Of.Schema == nil {
		return Renaming{}
	}
	w := renamer{all: Renaming{}, above: map[*schema.Schema]bool{}, types: [2]map[string]*Type{TypesByID(from.Within), TypesByID(to.Within)}}
	w.walk(place{from.Of.Schema, from.Of.GV.Dir, ""}, place{to.Of.Schema, to.Of.GV.Dir, ""})
	return w.all
}

// renamer is the work of one Renames, from the side 0 to the side 1.
type renamer struct {
	types [2]map[string]*Type
	all   Renaming
	above map[*schema.Schema]bool // a schema in itself ends the walk
}

// place is a schema of the documents in a folder, and its path.
type place struct {
	schema    *schema.Schema
	dir, path string
}

func (w *renamer) resolve(side int, at place) (place, bool) {
	for at.schema.Ref != "" {
		id, _ := schema.ResolveRef(at.dir, at.schema.Ref)
		t := w.types[side][id]
		if t == nil {
			return at, false
		}
		at.schema, at.dir = t.Schema, t.GV.Dir
	}
	return at, true
}

func (w *renamer) walk(from, to place) {
	from, known := w.resolve(0, from)
	to, also := w.resolve(1, to)
	if !known || !also || w.above[from.schema] {
		return
	}
	w.above[from.schema] = true
	defer delete(w.above, from.schema)
	for _, p := range from.schema.Properties {
		for _, q := range to.schema.Properties {
			if !p.SameField(q) {
				continue
			}
			was, is := place{p.Schema, from.dir, from.path + "." + p.Name}, place{q.Schema, to.dir, to.path + "." + q.Name}
			if was.path != is.path {
				w.all[was.path] = is.path
			}
			w.walk(was, is)
		}
	}
}

// In renames the fields in a path, or in the paths of an expression.
func (r Renaming) In(text string) string {
	if len(r) == 0 {
		return text
	}
	var known string
	for _, from := range slices.SortedFunc(maps.Keys(r), func(a, b string) int { return len(b) - len(a) }) { // the longest first
		known += "|" + regexp.QuoteMeta(from)
	}
	return regexp.MustCompile(`(`+known[1:]+`)\b`).ReplaceAllStringFunc(text, func(from string) string { return r[from] })
}
