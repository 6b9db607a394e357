package load

import (
	"path"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/schema"
)

// nameRefs replaces the references of a document to itself and to its anchors by those to
// types with names.
func (r *reader) nameRefs(root *schema.Schema) {
	anchors := map[string]string{} // the reference to the type of each
	note := func(s *schema.Schema, ref string) {
		if s.Anchor == "" {
			return
		}
		if anchors[s.Anchor] != "" {
			r.fail(r.at(s, "$anchor"), "rename one of them", "the anchor %s is here twice", s.Anchor)
		}
		anchors[s.Anchor] = ref
	}
	self := "/" + root.ID
	note(root, self)
	for _, def := range root.Defs {
		note(def.Schema, "#/$defs/"+def.Name)
	}
	visit := func(s *schema.Schema, named bool) {
		if s.Anchor != "" && !named {
			r.fail(r.at(s, "$anchor"), "give it a name in $defs, and the anchor there", "the anchor %s is on a schema without a name", s.Anchor)
		}
		name, local := strings.CutPrefix(s.Ref, "#")
		switch ref := anchors[name]; {
		case !local || strings.HasPrefix(name, "/"):
		case name == "":
			s.Ref = self
		case ref != "":
			s.Ref = ref
		default:
			r.fail(r.at(s, "$ref"), remedyFor(name, sortedKeys(anchors))+`; a type is "#/$defs/Name"`, "$ref %q names no anchor of this document", s.Ref)
		}
	}
	eachSchema(root, true, visit)
	for _, def := range root.Defs {
		eachSchema(def.Schema, true, visit)
	}
}

// eachSchema visits a schema and all that describe a part of its values.
func eachSchema(s *schema.Schema, named bool, visit func(s *schema.Schema, named bool)) {
	visit(s, named)
	for _, p := range s.Properties {
		eachSchema(p.Schema, false, visit)
	}
	for _, part := range []*schema.Schema{s.Items, s.Additional} {
		if part != nil {
			eachSchema(part, false, visit)
		}
	}
}

// failRef reports a reference to nothing.
func (d *documents) failRef(s *schema.Schema) {
	at := d.at(s, "$ref")
	switch file, fragment, _ := strings.Cut(s.Ref, "#"); {
	case strings.Contains(s.Ref, "://") || strings.HasPrefix(s.Ref, "//"):
		d.fail(at, "copy the type into schemas/, and write /group/version/Name", "$ref %q leads out of the project: nothing is fetched", s.Ref)
	case slices.Contains(strings.Split(file, "/"), ".."):
		d.fail(at, "write /group/version/Name of a document below schemas/", "$ref %q leads out of its folder", s.Ref)
	case path.Ext(file) == ".yaml" || path.Ext(file) == ".json":
		d.fail(at, "write /group/version/Name, without the ending", "$ref %q is a path of a file", s.Ref)
	case fragment != "" && !strings.HasPrefix(s.Ref, "#/$defs/"):
		d.fail(at, `give the part a name in $defs of its document: a type is "#/$defs/Name" or "/group/version/Name"`, "$ref %q points into a type", s.Ref)
	default:
		d.fail(at, `declare the type, or fix the reference: "#/$defs/Name" or "/group/version/Name"`, "$ref %q points at no type", s.Ref)
	}
}
