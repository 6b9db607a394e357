package load

import (
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// markWritable finds the fields of a resource that are read-only or write-only.
func (d *documents) markWritable(res *model.Resource) {
	d.findWritable(res, res.Type.Schema, res.Type, nil, false, map[*schema.Schema]bool{})
}

// findWritable visits the schema of the value at a path; inList is set below lists and
// maps, whose values have no path. A type that holds itself is visited once.
func (d *documents) findWritable(res *model.Resource, s *schema.Schema, in *model.Type, path []string, inList bool, seen map[*schema.Schema]bool) {
	if s.Ref != "" {
		id, ok := schema.ResolveRef(in.GV.Dir, s.Ref)
		t := d.types[id]
		if !ok || t == nil || seen[t.Schema] {
			return
		}
		seen[t.Schema] = true
		d.findWritable(res, t.Schema, t, path, inList, seen)
		delete(seen, t.Schema)
		return
	}
	for _, p := range s.Properties {
		at := append(slices.Clone(path), p.Name)
		d.noteWritable(res, s, p, at, inList)
		d.findWritable(res, p.Schema, in, at, inList, seen)
	}
	for _, part := range []*schema.Schema{s.Items, s.Additional} {
		if part != nil {
			d.findWritable(res, part, in, path, true, seen)
		}
	}
}

// noteWritable notes a field that is read-only or write-only.
func (d *documents) noteWritable(res *model.Resource, of *schema.Schema, p schema.Property, path []string, inList bool) {
	s := p.Schema
	for _, k := range []struct {
		key  string
		said bool
		to   *[]string
	}{{"readOnly", s.ReadOnly, &res.ReadOnly}, {"writeOnly", s.WriteOnly, &res.WriteOnly}} {
		if !k.said {
			continue
		}
		dotted := strings.Join(path, ".")
		switch at := d.at(s, k.key); {
		case s.ReadOnly && s.WriteOnly && k.key == "writeOnly":
			d.fail(at, "keep one of them", "%s is both readOnly and writeOnly: nobody could use it", dotted)
		case s.ReadOnly && s.WriteOnly:
		case inList:
			d.fail(at, "move it out of the list or map, or write a hook", "%s is %s in an element of a list or a map, whose old value is not known", dotted, k.key)
		case path[0] == "status" && res.HasStatus && k.key == "readOnly":
			d.fail(at, "drop it: only the status endpoint writes a status", "%s is readOnly in the status", dotted)
		case s.Presence == "always":
			d.fail(at, "drop one of them", "%s is %s and always written", dotted, k.key)
		case k.key == "writeOnly" && (of.Publishes(p.Name) || of.Enforces(p.Name) || s.Default != nil):
			d.fail(at, "make it optional, without a default", "%s is writeOnly, so it is missing in every object that is read and sent back", dotted)
		}
		*k.to = append(*k.to, dotted)
	}
}
