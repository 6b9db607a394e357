package promise

import (
	"fmt"
	"strings"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/record"
)

// Policies is the number of admission policies of each kind. Number 0 of the validating ones is Rule and
// "0", of the mutating ones Change and "0"; so are their bindings, and their parameters Param and "0". They
// are about config maps whose names begin with Ruled.
const (
	Policies = 2
	Rule     = "rule-"
	Change   = "change-"
	Param    = "param-"
	Ruled    = "v-"
	// ParamSpace is the namespace of the parameters.
	ParamSpace = "red"
	// Form is the label of a policy or binding that says in a word what it does.
	Form = "form"
)

// ruleKeys are the objects that make a validating policy; changeKeys those of a mutating one.
func ruleKeys(n int) []string {
	return []string{history.Key("validatingadmissionpolicies", "", fmt.Sprint(Rule, n)), history.Key("validatingadmissionpolicybindings", "",
		fmt.Sprint(Rule, n)), history.Key("configmaps", ParamSpace, fmt.Sprint(Param, n))}
}

func changeKeys(n int) []string {
	return []string{history.Key("mutatingadmissionpolicies", "", fmt.Sprint(Change, n)), history.Key("mutatingadmissionpolicybindings", "",
		fmt.Sprint(Change, n))}
}

// refuses reports whether a validating policy, its binding and its parameter refuse a
// config map with a label app.
func refuses(rule []*record.Object, app string) bool {
	policy, binding, param := rule[0], rule[1], rule[2]
	if policy == nil || binding == nil {
		return false
	}
	switch form := policy.Meta.Labels[Form]; {
	case form == "plain":
		return app == "db"
	case form == "param" && param == nil:
		return binding.Meta.Labels[Form] == "Deny"
	case form == "param":
		return param.Text("data", "app") == app
	default:
		return form == "broken"
	}
}

// changed is the value of the label that a mutating policy and its binding set, "" for
// none.
func changed(rule []*record.Object) string {
	if rule[0] == nil || rule[1] == nil {
		return ""
	}
	return rule[0].Meta.Labels[Form]
}

// obeyed compares config maps with the policies that were there from the begin of their
// writes to the commit, and refusals with those that were there until the answer.
func obeyed(r *record.Record) (wrong []string) {
	o := newOrder(r)
	for i := range r.Calls {
		c := &r.Calls[i]
		if c.Resource != "configmaps" || !strings.HasPrefix(c.Name, Ruled) || c.Mark == "" {
			continue
		}
		for n := range Policies {
			if c.Done() {
				wrong = append(wrong, o.disobeyed(c, n)...)
				continue
			}
			refused := strings.Contains(c.Message, fmt.Sprintf("ValidatingAdmissionPolicy '%s%d'", Rule, n))
			if refused && !some(o.answered(c, ruleKeys(n)...), func(rule []*record.Object) bool { return refuses(rule, c.Variant) }) {
				wrong = append(wrong, fmt.Sprintf("%s of %s (app %s) at %s was refused, and nothing was there that refuses it: %s", c.Verb, c.Key(), c.Variant,
					c.Began, c.Message))
			}
		}
	}
	return wrong
}

// disobeyed compares an acknowledged write with the policies of a number.
func (o *order) disobeyed(c *record.Call, n int) (wrong []string) {
	say := func(format string, args ...any) {
		wrong = append(wrong, fmt.Sprintf("%s of %s at %s made %d: ", c.Verb, c.Key(), c.Began, c.Object.Revision)+fmt.Sprintf(format, args...))
	}
	rules := o.written(c, ruleKeys(n)...)
	if rules == nil {
		return nil
	}
	app := c.Object.Meta.Labels["app"]
	if every(rules, func(rule []*record.Object) bool { return refuses(rule, app) }) {
		say("app is %q, which policy %s%d refused all the time", app, Rule, n)
	}
	changes, has := o.written(c, changeKeys(n)...), c.Object.Meta.Labels[fmt.Sprint(Hooked, n)]
	if every(changes, func(rule []*record.Object) bool { return changed(rule) != "" }) &&
		!some(changes, func(rule []*record.Object) bool { return changed(rule) == has }) {
		say("policy %s%d was there all the time, and its label is %q", Change, n, has)
	}
	if c.Verb == "create" && has != "" && !some(changes, func(rule []*record.Object) bool { return changed(rule) == has }) {
		say("policy %s%d was never there, and its label is %q", Change, n, has)
	}
	return wrong
}
