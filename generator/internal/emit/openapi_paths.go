package emit

import (
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
)

// paths writes the operations of resources.
type paths struct {
	*components
	profile model.Profile
	media   mediaTypes
	out     object // path -> path item
	title   string
	version string
}

// resourcePath is the path of a resource with the names of its operations.
type resourcePath struct {
	r      *model.Resource
	prefix string // "/api/v1"
	word   string // "CoreV1"
	tag    string // "core_v1"
	scope  string // "Namespaced" or ""
	outer  []parameter
	kind   object
}

var (
	namespaceParameter = pathParameter("namespace", "Name of the namespace.")
	pretty             = query("pretty")
)

// resource adds all paths of a resource.
func (p *paths) resource(r *model.Resource) error {
	gv := r.GV
	at := resourcePath{
		r: r, prefix: groupPath(gv), word: operationWord(p.profile, gv), tag: groupWord(p.profile, gv.Group) + "_" + gv.Version,
		kind: kindRow(r.Type.GV.Group, r.Type.GV.Version, r.Kind),
	}
	collection := at.prefix + "/" + r.Plural
	if r.Namespaced {
		at.scope, at.outer = "Namespaced", []parameter{namespaceParameter}
		if slices.Contains(r.Verbs, "list") {
			all := at
			all.scope, all.outer = "", nil
			p.item(collection, nil, map[string]operation{"get": p.list(all, r.Kind+"ForAllNamespaces")})
			p.legacyWatch(all, at.prefix+"/watch/"+r.Plural, r.Kind+"ListForAllNamespaces", "watchlist", nil)
		}
		collection = at.prefix + "/namespaces/{namespace}/" + r.Plural
	}
	if err := p.collection(at, collection); err != nil {
		return err
	}
	name := pathParameter("name", "Name of the "+r.Kind+".")
	if err := p.object(at, collection+"/{name}", name); err != nil {
		return err
	}
	if slices.Contains(r.Verbs, "watch") {
		watched := strings.Replace(collection, at.prefix, at.prefix+"/watch", 1)
		p.legacyWatch(at, watched, at.scope+r.Kind+"List", "watchlist", nil)
		p.legacyWatch(at, watched+"/{name}", at.scope+r.Kind, "watch", []parameter{name})
	}
	for i := range r.Subresources {
		if err := p.subresource(at, collection+"/{name}", name, &r.Subresources[i]); err != nil {
			return err
		}
	}
	return nil
}

// item adds a path with its methods, if there are any.
func (p *paths) item(path string, params []parameter, methods map[string]operation) {
	if len(methods) == 0 {
		return
	}
	item := object{"parameters": p.parameters(slices.Concat(params, pretty))}
	for method, op := range methods {
		item[method] = p.render(op)
	}
	p.out[path] = item
}

func (p *paths) list(at resourcePath, what string) operation {
	op := operation{
		id: "list" + at.word + at.scope + what, tag: at.tag, action: "list", kind: at.kind,
		description: "List or watch objects of kind " + at.r.Kind + ".",
		parameters:  query(listParameters...), answer: p.listRef(at.r), codes: []string{"200"}, answerTypes: p.media.object,
	}
	if slices.Contains(at.r.Verbs, "watch") {
		op.parameters, op.answerTypes = append(op.parameters, query("watch")...), p.media.list
	}
	return op
}

// collection adds the path of a collection.
func (p *paths) collection(at resourcePath, path string) error {
	methods := map[string]operation{}
	for _, verb := range at.r.Verbs {
		switch verb {
		case "list":
			methods["get"] = p.list(at, at.r.Kind)
		case "create":
			if at.r.Action != nil {
				methods["post"] = p.performed(at, at.scope+at.r.Kind, at.kind, at.r.Type, at.r.Action)
				continue
			}
			methods["post"] = p.write(at, "create"+at.word+at.scope+at.r.Kind, "post", "Create", at.r.Type, at.kind)
		case "deletecollection":
			op, err := p.delete(at, "delete"+at.word+"Collection"+at.scope+at.r.Kind, "deletecollection")
			if err != nil {
				return err
			}
			methods["delete"] = op
		}
	}
	p.item(path, at.outer, methods)
	return nil
}

// object adds the path of one object.
func (p *paths) object(at resourcePath, path string, name parameter) error {
	methods := map[string]operation{}
	for _, verb := range at.r.Verbs {
		op, method, err := p.one(at, verb, at.scope+at.r.Kind, at.r.Type, at.kind)
		if err != nil {
			return err
		}
		if method != "" {
			methods[method] = op
		}
	}
	p.item(path, append([]parameter{name}, at.outer...), methods)
	return nil
}

// one is an operation on one object or on a subresource. It has no method for
// the verbs of collections.
func (p *paths) one(at resourcePath, verb, what string, t *model.Type, kind object) (op operation, method string, err error) {
	switch verb {
	case "get":
		return operation{
			id: "read" + at.word + what, tag: at.tag, action: "get", kind: kind,
			description: "Read the " + describe(at.r, what) + ".",
			answer:      p.ref(t), codes: []string{"200"}, answerTypes: p.media.object,
		}, "get", nil
	case "update":
		return p.write(at, "replace"+at.word+what, "put", "Replace", t, kind), "put", nil
	case "patch":
		op := p.write(at, "patch"+at.word+what, "patch", "Change parts of", t, kind)
		op.body, err = p.metaRef("Patch")
		op.bodyTypes, op.parameters = p.media.patch, query(patchParameters...)
		return op, "patch", err
	case "delete":
		op, err := p.delete(at, "delete"+at.word+what, "delete")
		return op, "delete", err
	}
	return operation{}, "", nil
}

func (p *paths) write(at resourcePath, id, action, does string, t *model.Type, kind object) operation {
	codes := []string{"200", "201"}
	if action == "post" {
		codes = append(codes, "202")
	}
	return operation{
		id: id, tag: at.tag, action: action, kind: kind,
		description: does + " the " + describe(at.r, id) + ".",
		parameters:  query(writeParameters...), body: p.ref(t), bodyRequired: true,
		answer: p.ref(t), codes: codes, answerTypes: p.media.object,
	}
}

func (p *paths) delete(at resourcePath, id, action string) (operation, error) {
	options, err := p.metaRef("DeleteOptions")
	if err != nil {
		return operation{}, err
	}
	answer, err := p.metaRef("Status")
	if err != nil {
		return operation{}, err
	}
	op := operation{
		id: id, tag: at.tag, action: action, kind: at.kind, body: options,
		description: "Delete all selected objects of kind " + at.r.Kind + ".",
		parameters:  query(deleteCollectionParameters...),
		answer:      answer, codes: []string{"200"}, answerTypes: p.media.object,
	}
	if action == "delete" {
		op.description = "Delete the " + at.r.Kind + "."
		op.parameters, op.codes = query(deleteParameters...), []string{"200", "202"}
		if at.r.DeleteReturnsObject {
			op.answer = p.ref(at.r.Type)
		}
	}
	return op, nil
}

// legacyWatch adds one of the paths that clients used before the watch
// parameter existed.
func (p *paths) legacyWatch(at resourcePath, path, what, action string, name []parameter) {
	if !slices.Contains(at.r.Verbs, "watch") {
		return
	}
	event, _ := p.metaRef("WatchEvent") // has a built-in form, so there is no error
	op := operation{
		id: "watch" + at.word + what, tag: at.tag, action: action, kind: at.kind,
		description: "Watch changes of objects of kind " + at.r.Kind + ". Deprecated: list with the watch parameter.",
		answer:      event, codes: []string{"200"}, answerTypes: p.media.list,
	}
	params := append(slices.Clone(name), at.outer...)
	params = append(params, query(append(slices.Clone(listParameters), "watch")...)...)
	p.item(path, params, map[string]operation{"get": op})
}

// describe is the description of an operation.
func describe(r *model.Resource, id string) string {
	if _, sub, ok := strings.Cut(id, r.Kind); ok && sub != "" {
		return strings.ToLower(sub) + " of the " + r.Kind
	}
	return r.Kind
}
