package load

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/internal/suggest"
)

// references reads what the name in a field refers to.
func (r *reader) references(s *schema.Schema) func(node) {
	return func(n node) {
		s.References = &schema.References{Pos: n.pos(), OnMissing: string(api.MissingRefused), OnDelete: string(api.DeleteRestricted)}
		r.object(n, r.referenceKeys(s.References))
	}
}

func (r *reader) referenceKeys(to *schema.References) map[string]func(node) {
	return map[string]func(node){"kind": r.text(&to.Kind), "onMissing": r.text(&to.OnMissing), "onDelete": r.text(&to.OnDelete)}
}

// reads notes the kinds that hooks of a resource read.
func (d *documents) reads(res *model.Resource) func(node) {
	return func(n node) {
		for _, item := range d.items(n) {
			d.readers = append(d.readers, reading{item.pos(), res, item.Value})
		}
	}
}

// reading is a kind in the key reads of a resource.
type reading struct {
	pos  schema.Position
	res  *model.Resource
	kind string
}

// resolveRelations finds the resources that others refer to or read. The references of a kind are those of the
// version that is stored.
func (d *documents) resolveRelations() {
	kept := map[*schema.Schema]bool{}
	for _, gv := range d.model.GroupVersions {
		for _, res := range gv.Resources {
			if res.Type == nil || res.Action != nil {
				continue
			}
			w := relationWalk{documents: d, res: res, endless: map[*schema.Schema]bool{}, kept: kept}
			w.visit(res.Type.Schema, res.Type, nil, nil)
			w.refuseEndless()
		}
	}
	d.refuseInBodies(kept)
	for _, gv := range d.model.GroupVersions {
		for _, res := range gv.Resources {
			d.compareReferences(res)
		}
	}
	for _, r := range d.readers {
		d.resolveReading(r)
	}
	for _, gv := range d.model.GroupVersions {
		for _, res := range gv.Resources {
			switch checks := slices.Contains(res.Hooks, "check"); {
			case checks && len(res.Reads) == 0 && !slices.Contains(res.Hooks, "checkDelete"):
				d.fail(res.Pos, "add reads: [Kind], or write the hook validate", "the check hook of %s reads no kind", res.Plural)
			case !checks && !slices.Contains(res.Hooks, "checkDelete") && len(res.Reads) > 0:
				d.fail(res.Pos, "add hooks: [check] or [checkDelete], or drop reads", "%s reads other kinds, and has no hook to do so", res.Plural)
			}
		}
	}
}

// relationWalk finds the references in the types of a resource.
type relationWalk struct {
	*documents
	res     *model.Resource
	endless map[*schema.Schema]bool // types that hold themselves
	kept    map[*schema.Schema]bool // schemas of values that are kept, of all resources
	within  [][]*schema.Schema      // the types around each reference of res
}

// visit visits the schema of the value at a path, whose types around are those of the stack.
func (w *relationWalk) visit(s *schema.Schema, in *model.Type, path []string, stack []*schema.Schema) {
	if s.Ref != "" {
		id, ok := schema.ResolveRef(in.GV.Dir, s.Ref)
		t := w.types[id]
		if !ok || t == nil || t.GV.BuiltIn {
			return
		}
		if at := slices.Index(stack, t.Schema); at >= 0 {
			for _, around := range stack[at:] {
				w.endless[around] = true
			}
			return
		}
		w.visit(t.Schema, t, path, append(slices.Clip(stack), t.Schema))
		return
	}
	w.kept[s] = true
	if s.References != nil {
		w.add(s, path)
		w.within = append(w.within, stack)
	}
	for _, p := range s.Properties {
		w.visit(p.Schema, in, append(slices.Clip(path), p.Name), stack)
	}
	for _, part := range []*schema.Schema{s.Items, s.Additional} {
		if part != nil {
			w.visit(part, in, append(slices.Clip(path), "*"), stack)
		}
	}
}

// refuseInBodies refuses references in the bodies of actions, which are not kept: no check of references would look there.
func (d *documents) refuseInBodies(kept map[*schema.Schema]bool) {
	for _, gv := range d.model.GroupVersions {
		for _, res := range gv.Resources {
			if res.Action != nil {
				d.refuseReferences(res.Type, kept)
			}
			for i := range res.Subresources {
				if sub := &res.Subresources[i]; sub.Action != nil {
					d.refuseReferences(sub.Type, kept)
				}
			}
		}
	}
}

func (d *documents) refuseReferences(t *model.Type, kept map[*schema.Schema]bool) {
	if t == nil || t.GV.BuiltIn {
		return
	}
	eachSchema(t.Schema, true, func(s *schema.Schema, _ bool) {
		if kept[s] {
			return
		}
		kept[s] = true // of each mistake once
		if s.References != nil {
			d.fail(s.References.Pos, "drop the key, and look for the object in the method of the action",
				"the reference is in %s, a part of the body of an action, which is not kept", t.Name)
		}
		if id, ok := schema.ResolveRef(t.GV.Dir, s.Ref); ok {
			d.refuseReferences(d.types[id], kept)
		}
	})
}

// refuseEndless refuses references at endlessly many paths.
func (w *relationWalk) refuseEndless() {
	for i, stack := range w.within {
		if slices.ContainsFunc(stack, func(s *schema.Schema) bool { return w.endless[s] }) {
			w.fail(w.res.References[i].Pos, "move it out of the type that holds itself", "the reference at %s of %s could be at any depth",
				strings.Join(w.res.References[i].Path, "."), w.res.Kind)
		}
	}
}

// add notes a reference.
func (w *relationWalk) add(s *schema.Schema, path []string) {
	r := model.Reference{Pos: s.References.Pos, Path: path, OnMissing: s.References.OnMissing, OnDelete: s.References.OnDelete}
	to, own := w.related(r.Pos, w.res, s.References.Kind)
	if to == nil {
		to = &model.Resource{} // for the places of the others
	}
	r.To, r.Own = to, own
	w.res.References = append(w.res.References, r)
	dotted := strings.Join(path, ".")
	switch {
	case to.Kind == "":
	case s.Type != "string":
		w.fail(r.Pos, "write it at a string; in a list below items", "%s of %s has the type %s, and names of objects are texts", dotted, w.res.Kind,
			cmp.Or(s.Type, "of its reference"))
	case to.Namespaced && !w.res.Namespaced:
		w.fail(r.Pos, "refer to a kind outside of namespaces", "%s of %s does not say the namespace of the %s: %s are outside of namespaces", dotted, w.res.Kind,
			to.Kind, w.res.Plural)
	case !own && r.OnDelete == string(api.DeleteRestricted):
		w.fail(r.Pos, "write onDelete: orphan or cascade", "a reference cannot keep a %s, which is a kind of another API, from being deleted", to.Kind)
	case to.GV.Group == "" && to.Kind == "Event" && r.OnDelete == string(api.DeleteCascades):
		w.fail(r.Pos, "write onDelete: orphan", "an Event owns nothing")
	case own && r.OnDelete == string(api.DeleteRestricted) && w.res.StoredAs == nil:
		to.Restricted = true
	}
}

// related is the resource of a kind that a document names, Kind of the same version or /group/version/Kind, and whether
// it is one of the documents. The resource is that of the version that is stored.
func (d *documents) related(pos schema.Position, from *model.Resource, kind string) (to *model.Resource, own bool) {
	if path := strings.TrimPrefix(kind, "/"); !strings.Contains(path, "/") {
		to = d.inGroup(from.GV, path)
	} else if to = d.resourceOf(path); to == nil {
		return d.builtInResource(pos, path), false
	}
	switch {
	case to == nil:
		remedy := "write Kind, or /group/version/Kind of another version"
		if near := suggest.Nearest(kind, slices.Values(d.kindsOf(from.GV))); near != "" {
			remedy = fmt.Sprintf("did you mean %q?", near)
		}
		d.fail(pos, remedy, "no resource has the kind %s", kind)
		return nil, false
	case !to.Stored:
		d.fail(pos, "name a kind that is stored", "there are no objects of the kind %s", kind)
		return nil, false
	case to.StoredAs != nil:
		to = to.StoredAs
	}
	return to, true
}

// inGroup is the resource of a kind in a group version, or else in another version of the group; nil for none.
func (d *documents) inGroup(gv *model.GroupVersion, kind string) *model.Resource {
	if to := d.resourceOf(gv.Dir + "/" + kind); to != nil {
		return to
	}
	for _, other := range d.model.GroupVersions {
		if to := d.resourceOf(other.Dir + "/" + kind); to != nil && other.Group == gv.Group {
			return to
		}
	}
	return nil
}

// kindsOf are the kinds of the resources of a group version.
func (d *documents) kindsOf(gv *model.GroupVersion) (all []string) {
	for _, res := range gv.Resources {
		all = append(all, res.Kind)
	}
	return all
}

// builtInResource reads the resource of a built-in kind, group/version/Kind. It reports a mistake and is nil when there is none.
func (d *documents) builtInResource(pos schema.Position, path string) *model.Resource {
	slash := strings.LastIndexByte(path, '/')
	dir, kind := path[:slash], path[slash+1:]
	found := &model.Resource{GV: d.groups[dir]}
	if found.GV != nil && found.GV.BuiltIn {
		n, _, _ := d.file("openapi/" + dir + ".yaml")
		for _, e := range d.entries(n) {
			if e.key == "x-cluster-resources" {
				d.findBuiltIn(e.value, kind, found)
			}
		}
	}
	switch {
	case found.Kind == "":
		d.fail(pos, "write Kind, or /group/version/Kind", "no resource has the kind /%s", path)
		return nil
	case !found.Stored:
		d.fail(pos, "name a kind that is stored", "there are no objects of the kind /%s", path)
		return nil
	}
	return found
}

// findBuiltIn reads from a list of resources what a reference to a kind has to know.
func (d *documents) findBuiltIn(resources node, kind string, found *model.Resource) {
	for _, res := range d.entries(resources) {
		has, _ := valueOf(res.value, "kind")
		scope, _ := valueOf(res.value, "scope")
		_, operates := valueOf(res.value, "endpoint")
		storage, said := valueOf(res.value, "storage")
		if has.Node != nil && has.Value == kind {
			found.Kind, found.Plural, found.Namespaced = kind, res.key, scope.Node != nil && scope.Value == "Namespaced"
			found.Stored = !operates && (!said || storage.Value != "false")
		}
	}
}

// compareReferences refuses references of a further version that the stored version does not have.
func (d *documents) compareReferences(res *model.Resource) {
	if res.StoredAs == nil {
		return
	}
	for _, r := range res.References {
		if r.To.Kind != "" && !slices.ContainsFunc(res.StoredAs.References, func(o model.Reference) bool {
			return o.To == r.To && o.OnMissing == r.OnMissing && o.OnDelete == r.OnDelete
		}) {
			d.fail(r.Pos, "write the same at the field of the stored version, or drop it here", "%s refers to %s, and the stored version at %s does not",
				strings.Join(r.Path, "."), r.To.Kind, res.StoredAs.Pos)
		}
	}
}

// resolveReading finds a kind that hooks read.
func (d *documents) resolveReading(r reading) {
	to, own := d.related(r.pos, r.res, r.kind)
	if to == nil {
		return
	}
	if slices.ContainsFunc(r.res.Reads, func(o model.Reading) bool { return o.To.Kind == to.Kind }) {
		d.fail(r.pos, "remove one of them", "%s reads two kinds %s", r.res.Plural, to.Kind)
	}
	r.res.Reads = append(r.res.Reads, model.Reading{To: to, Own: own})
	if own {
		to.Listed = true
	}
}
