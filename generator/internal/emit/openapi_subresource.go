package emit

import (
	"slices"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/api"
)

// connectMethods are the methods of a subresource that hands the connection
// through, by verb.
var connectMethods = map[string][]string{
	"get":    {"get", "head", "options"},
	"create": {"post"},
	"update": {"put"},
	"patch":  {"patch"},
	"delete": {"delete"},
}

// subresource adds the path of a subresource. One that leads out of the server has
// no body: its type holds query parameters.
func (p *paths) subresource(at resourcePath, object string, name parameter, s *model.Subresource) error {
	path := object + "/" + s.Name
	params := append([]parameter{name}, at.outer...)
	if s.Endpoint.Connects() {
		p.connect(at, path, params, s)
		return nil
	}
	what := at.scope + at.r.Kind + upperFirst(s.Name)
	kind := kindRow(s.Type.GV.Group, s.Type.GV.Version, s.Type.Name)
	if s.Endpoint == api.EndpointLog {
		p.log(at, path, params, what, kind)
		return nil
	}
	methods := map[string]operation{}
	if s.Action != nil {
		method, op := p.action(at, what, kind, s)
		p.item(path, params, map[string]operation{method: op})
		return nil
	}
	for _, verb := range s.Verbs {
		if verb == "create" {
			op := p.write(at, "create"+at.word+what, "post", "Create", s.Type, kind)
			methods["post"] = op
			continue
		}
		op, method, err := p.one(at, verb, what, s.Type, kind)
		if err != nil {
			return err
		}
		if method != "" {
			methods[method] = op
		}
	}
	p.item(path, params, methods)
	return nil
}

// action is the operation of an action of an object.
func (p *paths) action(at resourcePath, what string, kind object, s *model.Subresource) (method string, op operation) {
	if !slices.Contains(s.Verbs, "get") {
		return "post", p.performed(at, what, kind, s.Type, s.Action)
	}
	op = operation{id: "read" + at.word + what, tag: at.tag, action: "get", kind: kind, description: s.Action.Description,
		answer: p.ref(s.Type), codes: []string{"200"}, answerTypes: p.media.object, does: s.Action, refusals: p.refusalsOf(s.Action)}
	if s.Action.Streams() {
		op.parameters, op.answerTypes = query("timeoutSeconds"), p.media.stream
	}
	return "get", op
}

// performed is the operation of an action with a body.
func (p *paths) performed(at resourcePath, what string, kind object, body *model.Type, a *model.Action) operation {
	op := p.write(at, "create"+at.word+what, "post", "Create", body, kind)
	op.description, op.answer, op.bodyRequired, op.codes = a.Description, p.ref(a.Answer), false, []string{"201"}
	op.does, op.refusals = a, p.refusalsOf(a)
	if a.Streams() {
		op.parameters, op.codes, op.answerTypes = append(op.parameters, query("timeoutSeconds")...), []string{"200"}, p.media.stream
	}
	return op
}

// log adds the path of a container's output, which is text.
func (p *paths) log(at resourcePath, path string, params []parameter, what string, kind object) {
	op := operation{
		id: "read" + at.word + what, tag: at.tag, action: "get", kind: kind,
		description: "Read the " + describe(at.r, what) + ".",
		answer:      object{"type": "string"}, codes: []string{"200"}, answerTypes: p.media.text,
	}
	if options := p.types.id(at.r.Type.GV.Dir + "." + at.r.Kind + "LogOptions"); options != nil {
		op.parameters = optionParameters(options)
	}
	p.item(path, params, map[string]operation{"get": op})
}

func (p *paths) connect(at resourcePath, path string, params []parameter, s *model.Subresource) {
	kind := kindRow(s.Type.GV.Group, s.Type.GV.Version, s.Type.Name)
	options := optionParameters(s.Type)
	add := func(path, suffix string, params []parameter) {
		methods := map[string]operation{}
		for _, verb := range s.Verbs {
			for _, method := range connectMethods[verb] {
				if !s.Endpoint.Proxies() && (method == "head" || method == "options") {
					continue
				}
				methods[method] = operation{
					id:  "connect" + at.word + upperFirst(method) + at.scope + at.r.Kind + upperFirst(s.Name) + suffix,
					tag: at.tag, action: "connect", kind: kind,
					description: "Connect to the " + s.Name + " of the " + at.r.Kind + ".",
					answer:      object{"type": "string"}, codes: []string{"200"}, answerTypes: p.media.any,
				}
			}
		}
		if len(methods) == 0 {
			return
		}
		item := object{"parameters": p.parameters(slices.Concat(params, options))}
		for method, op := range methods {
			item[method] = p.render(op)
		}
		p.out[path] = item
	}
	add(path, "", params)
	if s.Endpoint.Proxies() {
		add(path+"/{path}", "WithPath", slices.Concat(params, []parameter{pathParameter("path", "Path of the request behind the proxy.")}))
	}
}
