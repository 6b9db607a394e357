package load

import (
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/api"
)

// action reads the action of a subresource.
func (d *documents) action(sub *model.Subresource, gv *model.GroupVersion) func(node) {
	return func(n node) {
		sub.Action = &model.Action{Pos: n.pos()}
		answer := ""
		d.object(n, d.actionKeys(sub.Action, &answer))
		if answer != "" {
			d.links = append(d.links, link{n.pos(), gv, answer, &sub.Action.Answer})
		}
	}
}

func (d *documents) actionKeys(a *model.Action, answer *string) map[string]func(node) {
	return map[string]func(node){"effect": d.text(&a.Effect), "description": d.text(&a.Description), "answer": d.text(answer)}
}

// checkAction checks the keys of a subresource that has an action. ref is the kind of its body.
func (d *documents) checkAction(sub *model.Subresource, res *model.Resource, ref string) {
	a := sub.Action
	switch {
	case a == nil && sub.Endpoint == api.EndpointAction:
		d.fail(sub.Pos, "write action in place of the endpoint", "the subresource %s of %s has the endpoint of actions and no action", sub.Name, res.Plural)
		return
	case a == nil:
		return
	case d.model.Module == "":
		d.fail(a.Pos, "name an endpoint", "the subresource %s of %s has an action, which is for APIs of other modules", sub.Name, res.Plural)
	case sub.Endpoint != "":
		d.fail(a.Pos, "drop one of them, or give the action another name", "the subresource %s of %s has an action, and is one that the server answers",
			sub.Name, res.Plural)
	case ref == "":
		d.fail(a.Pos, "add schema: "+res.Kind+strings.ToUpper(sub.Name[:1])+sub.Name[1:]+" and the document of that kind",
			"the action %s of %s does not say the kind of its body", sub.Name, res.Plural)
	}
	if len(sub.Verbs) > 0 && !slices.Equal(sub.Verbs, []string{"create"}) && !slices.Equal(sub.Verbs, []string{"get"}) {
		d.fail(a.Pos, "write verbs: [create], or verbs: [get]", "the action %s of %s has the verbs %s", sub.Name, res.Plural, strings.Join(sub.Verbs, ", "))
	}
	if slices.Equal(sub.Verbs, []string{"get"}) && a.Effect == "writes" {
		d.fail(a.Pos, "write effect: reads, or verbs: [create]", "the action %s of %s writes, and is called by a GET", sub.Name, res.Plural)
	}
	sub.Endpoint = api.EndpointAction
}

// resolveAction finds the kind of the answer of an action, whose kinds are of the version of its resource.
func (d *documents) resolveAction(sub *model.Subresource, res *model.Resource) {
	a := sub.Action
	if a == nil {
		return
	}
	if !res.Stored {
		d.fail(a.Pos, "give it to a resource that is stored", "%s are not stored, so there is no object for the action %s", res.Plural, sub.Name)
	}
	if a.Answer == nil {
		a.Answer = sub.Type
	}
	for _, t := range []*model.Type{sub.Type, a.Answer} {
		if t != nil && t.GV != res.GV {
			d.fail(a.Pos, "write a kind of "+res.GV.Dir, "the action %s of %s has the kind %s, which is of another version", sub.Name, res.Plural, t.ID)
		}
	}
}
