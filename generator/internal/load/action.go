package load

import (
	"cmp"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/api"
)

// action reads the action of a subresource, or of a resource without storage.
func (d *documents) action(to **model.Action, gv *model.GroupVersion) func(node) {
	return func(n node) {
		a := &model.Action{Pos: n.pos()}
		*to = a
		answer := ""
		d.object(n, d.actionKeys(a, &answer))
		if answer != "" {
			d.links = append(d.links, link{n.pos(), gv, answer, &a.Answer})
		}
	}
}

func (d *documents) actionKeys(a *model.Action, answer *string) map[string]func(node) {
	return map[string]func(node){"effect": d.text(&a.Effect), "description": d.text(&a.Description), "answer": d.text(answer),
		"errors": d.actionErrors(a), "verb": d.text(&a.Verb),
		"deprecated": func(n node) { d.object(n, d.deprecatedKeys(&a.Deprecation)) }}
}

// actionErrors reads the errors of an action.
func (d *documents) actionErrors(a *model.Action) func(node) {
	return func(n node) {
		for _, item := range d.items(n) {
			e := model.ActionError{Pos: item.pos()}
			d.object(item, d.actionErrorKeys(&e))
			if slices.ContainsFunc(a.Errors, func(o model.ActionError) bool { return o.Reason == e.Reason }) {
				d.fail(e.Pos, "describe all its cases in one", "the action has the error %s twice", e.Reason)
			}
			a.Errors = append(a.Errors, e)
		}
		slices.SortStableFunc(a.Errors, func(x, y model.ActionError) int { return cmp.Compare(x.Reason.Refuses(), y.Reason.Refuses()) })
	}
}

func (d *documents) actionErrorKeys(e *model.ActionError) map[string]func(node) {
	return map[string]func(node){"reason": func(n node) { e.Reason = api.Reason(n.Value) }, "description": d.text(&e.Description)}
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
	d.checkVerb(a, slices.Contains(sub.Verbs, "get"), sub.Name+" of "+res.Plural)
}

// checkVerb checks the verb of the right to an action, which is dropped where it is that of the method.
func (d *documents) checkVerb(a *model.Action, get bool, name string) {
	if a.Effect == "writes" && slices.Contains([]string{"get", "list", "watch"}, a.Verb) {
		d.fail(a.Pos, "write another verb, or drop it", "the action %s writes, and its verb %s is that of users who may only read", name, a.Verb)
	}
	if get && a.Verb == "get" || !get && a.Verb == "create" {
		a.Verb = ""
	}
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
	d.resolveAnswer(a, sub.Type, res, sub.Name+" of "+res.Plural)
}

// resolveAnswer finds the kind of the answer of an action with that name, nil for none. body is the kind of its body.
func (d *documents) resolveAnswer(a *model.Action, body *model.Type, res *model.Resource, name string) {
	if a == nil {
		return
	}
	if a.Answer == nil {
		a.Answer = body
	}
	for _, t := range []*model.Type{body, a.Answer} {
		if t != nil && t.GV != res.GV {
			d.fail(a.Pos, "write a kind of "+res.GV.Dir, "the action %s has the kind %s, which is of another version", name, t.ID)
		}
	}
}

// checkOperationAction checks the keys of a resource that has an action, whose objects are not stored.
func (d *documents) checkOperationAction(res *model.Resource, said *resourceText) {
	a := res.Action
	switch {
	case a == nil && res.Endpoint == api.EndpointAction:
		d.fail(res.Pos, "write action in place of the endpoint", "%s have the endpoint of actions and no action", res.Plural)
		return
	case a == nil:
		return
	case d.model.Module == "":
		d.fail(a.Pos, "name an endpoint", "%s have an action, which is for APIs of other modules", res.Plural)
	case res.Endpoint != "":
		d.fail(a.Pos, "drop one of them", "%s have an action and an endpoint", res.Plural)
	case said.storage != nil && *said.storage || said.storedAs != "":
		d.fail(a.Pos, "drop one of them, or write the action below subresources", "%s have an action, and storage for objects", res.Plural)
	case len(res.Verbs) > 0 && !slices.Equal(res.Verbs, []string{"create"}):
		d.fail(a.Pos, "drop verbs, since the action is what a create does", "%s have an action, and the verbs %s", res.Plural, strings.Join(res.Verbs, ", "))
	}
	for _, key := range []struct {
		name  string
		there bool
	}{{"hooks", len(res.Hooks) > 0}, {"subresources", len(res.Subresources) > 0}, {"columns", len(res.Columns) > 0}, {"selectable", len(res.Selectable) > 0}} {
		if key.there {
			d.fail(a.Pos, "drop "+key.name, "%s have an action and %s, which only stored objects have", res.Plural, key.name)
		}
	}
	res.Endpoint = api.EndpointAction
	d.endOperation(res)
	d.checkVerb(a, false, res.Plural)
}

// endOperation makes the end of an action that is not of an object that of its resource.
func (d *documents) endOperation(res *model.Resource) {
	a, none := res.Action, model.Deprecation{}
	if a.Deprecation != none && res.Deprecation != none {
		d.fail(a.Pos, "drop one of them", "%s are deprecated, and so is their action", res.Plural)
	}
	if a.Deprecation == none {
		a.Deprecation = res.Deprecation
	}
	res.Deprecation = a.Deprecation
}
