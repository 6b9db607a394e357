package emit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// actionMethod is the method of the hooks that performs an action. Object, Body and Answer are types of Go in the package
// of the types of the version.
type actionMethod struct {
	Name, Description    string
	Refusals             []string
	Path                 string // "restart of widgets"
	Effect               string // reads, writes or streams
	Object, Body, Answer string // Object is "" for an action that is not of an object, Body for none
}

// newActionMethod is the method of an action below the objects of a resource, or without a sub of the resource itself.
func newActionMethod(name string, res *model.Resource, sub *model.Subresource) actionMethod {
	goName := func(t *model.Type) string { return goPackage(t.GV.Dir) + "." + goTypeName(t.Name, t.Schema.Goname) }
	if sub == nil {
		a := res.Action
		return actionMethod{Name: name, Description: a.Description, Refusals: refusalLines(a), Path: res.Plural, Effect: a.Effect, Body: goName(res.Type),
			Answer: goName(a.Answer)}
	}
	a := sub.Action
	m := actionMethod{Name: name, Description: a.Description, Refusals: refusalLines(a), Path: sub.Name + " of " + res.Plural, Effect: a.Effect,
		Object: goName(res.Type), Answer: goName(a.Answer)}
	if slices.Contains(sub.Verbs, "create") {
		m.Body = goName(sub.Type)
	}
	return m
}

// refusalLines are the errors of an action for comments, one a line.
func refusalLines(a *model.Action) []string {
	lines := make([]string, len(a.Errors))
	for i, e := range a.Errors {
		lines[i] = fmt.Sprintf("%d %s: %s", e.Reason.Refuses(), e.Reason, strings.Join(strings.Fields(e.Description), " "))
	}
	return lines
}

// Signature is that of the method.
func (m actionMethod) Signature() string {
	call, writes := "", m.Effect == "writes"
	switch {
	case m.Object == "" && writes:
		call = "*action.Command"
	case m.Object == "":
		call = "*action.Query"
	case writes:
		call = "*action.Call[" + m.Object + "]"
	default:
		call = "*action.View[" + m.Object + "]"
	}
	in := "ctx context.Context, call " + call
	if m.Body != "" {
		in += ", body *" + m.Body
	}
	if m.Effect == "streams" {
		return fmt.Sprintf("(%s, send func(*%s) error) error", in, m.Answer)
	}
	return fmt.Sprintf("(%s) (*%s, error)", in, m.Answer)
}

// Adapter is the function of the package action that makes a row's action of the method.
func (m actionMethod) Adapter() string {
	switch {
	case m.Effect == "writes":
		return "Writes"
	case m.Effect == "streams" && m.Body == "":
		return "ShowsStream"
	case m.Effect == "streams":
		return "Streams"
	case m.Body == "":
		return "Shows"
	}
	return "Reads"
}

// Act is the action of a row, which the method performs, as Go source.
func (g *catalogGroup) Act(method string, a *model.Action) string {
	i := slices.IndexFunc(g.Actions, func(m actionMethod) bool { return m.Name == method })
	source := fmt.Sprintf("action.%s(h.%s).Answers(%q, %d)", g.Actions[i].Adapter(), method, a.Answer.Name, g.Table.Root(a.Answer.Name))
	if len(a.Errors) > 0 {
		reasons := make([]string, len(a.Errors))
		for i, e := range a.Errors {
			reasons[i] = strconv.Quote(string(e.Reason))
		}
		source += ".Refuses(" + strings.Join(reasons, ", ") + ")"
	}
	if a.Verb != "" {
		source += fmt.Sprintf(".Needs(%q)", a.Verb)
	}
	if a.DeprecatedSince != "" {
		source += fmt.Sprintf(".Ends(%q, %q, %q)", a.DeprecatedSince, a.RemovedIn, a.Replacement)
	}
	return source
}

// TypesPath is the import path of the types of the version.
func (g *catalogGroup) TypesPath() string { return module + "/gen/" + g.Dir }

// act adds the method of an action.
func (g *catalogGroup) act(method string, res *model.Resource, sub *model.Subresource) string {
	g.Actions = append(g.Actions, newActionMethod(method, res, sub))
	return method
}

// performed adds the method of a resource with an action; "" for another resource.
func (g *catalogGroup) performed(m *model.Model, res *model.Resource) string {
	if res.Action == nil {
		return ""
	}
	return g.act(performs(m, res), res, nil)
}

// performs is the method of a resource with an action. The version of the lowest priority, usually the oldest, has the
// plain name; so a further version renames no method.
func performs(m *model.Model, res *model.Resource) string {
	for _, gv := range m.GroupVersions {
		if !gv.Served || gv.Group != res.GV.Group || gv.VersionPriority >= res.GV.VersionPriority {
			continue
		}
		if slices.ContainsFunc(gv.Resources, func(o *model.Resource) bool { return o.Kind == res.Kind && o.Action != nil }) {
			return "Perform" + res.Kind + "In" + camelDir(res.GV.Dir)
		}
	}
	return "Perform" + res.Kind
}

// distinctActions refuses actions whose methods have the name of another hook.
func distinctActions(groups []catalogGroup) error {
	has := map[string]string{}
	for i := range groups {
		for _, m := range groups[i].Methods {
			has[m.Name] = "a hook of " + groups[i].Dir
		}
	}
	for i := range groups {
		for _, a := range groups[i].Actions {
			if other := has[a.Name]; other != "" {
				return &schema.Error{Pos: groups[i].Pos, What: fmt.Sprintf("the action %s needs the method %s, which %s has already", a.Path, a.Name, other),
					Fix: "rename one of them"}
			}
			has[a.Name] = "the action " + a.Path + " in " + groups[i].Dir
		}
	}
	return nil
}

// camelName is a name of a subresource as a part of a name of Go: "roll-back" is RollBack.
func camelName(name string) string {
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '-' })
	for i, part := range parts {
		parts[i] = upperFirst(part)
	}
	return strings.Join(parts, "")
}
