package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
)

// actionMethod is the method of the hooks that performs an action. Object, Body and Answer are types of Go in the package
// of the types of the version.
type actionMethod struct {
	Name, Description    string
	Path                 string // "restart of widgets"
	Writes               bool
	Object, Body, Answer string // Body is "" for none
}

func newActionMethod(name string, res *model.Resource, sub model.Subresource) actionMethod {
	goName := func(t *model.Type) string { return goPackage(t.GV.Dir) + "." + goTypeName(t.Name, t.Schema.Goname) }
	m := actionMethod{Name: name, Description: sub.Action.Description, Path: sub.Name + " of " + res.Plural, Writes: sub.Action.Effect == "writes",
		Object: goName(res.Type), Answer: goName(sub.Action.Answer)}
	if slices.Contains(sub.Verbs, "create") {
		m.Body = goName(sub.Type)
	}
	return m
}

// Signature is that of the method.
func (m actionMethod) Signature() string {
	call := "*action.View[" + m.Object + "]"
	if m.Writes {
		call = "*action.Call[" + m.Object + "]"
	}
	body := ""
	if m.Body != "" {
		body = ", body *" + m.Body
	}
	return fmt.Sprintf("(ctx context.Context, call %s%s) (*%s, error)", call, body, m.Answer)
}

// Adapter is the function of the package action that makes a row's action of the method.
func (m actionMethod) Adapter() string {
	switch {
	case m.Writes:
		return "Writes"
	case m.Body != "":
		return "Reads"
	}
	return "Shows"
}

// Act is the action of a row, as Go source.
func (g *catalogGroup) Act(s catalogSubresource) string {
	i := slices.IndexFunc(g.Actions, func(m actionMethod) bool { return m.Name == s.Method })
	return fmt.Sprintf("action.%s(h.%s).Answers(%q, %d)", g.Actions[i].Adapter(), s.Method, s.Action.Answer.Name, g.Table.Root(s.Action.Answer.Name))
}

// TypesPath is the import path of the types of the version.
func (g *catalogGroup) TypesPath() string { return module + "/gen/" + g.Dir }

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
				return fmt.Errorf("%s: the action %s needs the method %s, which %s has already; rename one of them", groups[i].Pos, a.Path, a.Name, other)
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
