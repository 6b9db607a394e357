package area

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"

	"github.com/capstan-dev/capstan/tools/storm/program"
	"github.com/capstan-dev/capstan/tools/storm/promise"
	"github.com/capstan-dev/capstan/tools/storm/stage"
)

// policies is the area of admission policies of both kinds that appear, change, fail and
// vanish, as do their bindings and parameters, while what they are about is written.
func policies() Area {
	return Area{Name: "policies", Weight: 5, Do: doPolicies, Rest: restPolicies, Draw: func(r *rand.Rand) program.Step {
		return pick(r, weighted{"policy", 4}, weighted{"bind", 3}, weighted{"param", 3}, weighted{"drop", 5}, weighted{"create", 20}, weighted{"put", 10},
			weighted{"patch", 15}, weighted{"apply", 15}, weighted{"delete", 8})
	}}
}

// ruledMaps is the number of config maps that the policies are about, with one more at
// rest.
const (
	ruledMaps = 4
	restRuled = promise.Ruled + "rest"
)

// policyKinds are the resources with the policies and their bindings, validating ones
// first.
var policyKinds = []string{"validatingadmissionpolicies", "validatingadmissionpolicybindings", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings"}

func doPolicies(_ context.Context, c *stage.Client, s program.Step) {
	n, mutating := s.A%promise.Policies, s.B%3 == 0
	switch s.Op {
	case "policy":
		if mutating {
			setPolicy(c, policyKinds[2], fmt.Sprint(promise.Change, n), of(s.C, "green", "blue"), changing(n, of(s.C, "green", "blue")))
			return
		}
		form := of(s.C, "plain", "plain", "param", "param", "param", "broken", "ignored")
		setPolicy(c, policyKinds[0], fmt.Sprint(promise.Rule, n), form, ruling(form))
	case "bind":
		if mutating {
			name := fmt.Sprint(promise.Change, n)
			setPolicy(c, policyKinds[3], name, "bound", object{"policyName": name})
			return
		}
		name, missing := fmt.Sprint(promise.Rule, n), of(s.C, "Allow", "Deny")
		setPolicy(c, policyKinds[1], name, missing, object{"policyName": name, "validationActions": []string{"Deny"},
			"paramRef": object{"name": fmt.Sprint(promise.Param, n), "namespace": promise.ParamSpace, "parameterNotFoundAction": missing}})
	case "param":
		set(c, stage.KindOf("configmaps"), object{"metadata": object{"name": fmt.Sprint(promise.Param, n), "namespace": promise.ParamSpace},
			"data": object{"app": of(s.C, "web", "db", "none")}})
	case "drop":
		dropPolicy(c, n, s.B%5)
	default:
		writeRuled(c, s)
	}
}

// dropPolicy deletes a policy, a binding or a parameter.
func dropPolicy(c *stage.Client, n, what int) {
	q := stage.Request{Verb: "delete", Kind: stage.KindOf("configmaps"), Namespace: promise.ParamSpace, Name: fmt.Sprint(promise.Param, n)}
	if what < len(policyKinds) {
		q.Kind, q.Namespace, q.Name = stage.KindOf(policyKinds[what]), "", fmt.Sprint(of(what/2, promise.Rule, promise.Change), n)
	}
	c.Do(q)
}

// setPolicy makes a policy or a binding what it should be.
func setPolicy(c *stage.Client, resource, name, form string, spec object) {
	set(c, stage.KindOf(resource), object{"metadata": object{"name": name, "labels": object{promise.Form: form}}, "spec": spec})
}

// set applies an object.
func set(c *stage.Client, kind stage.Kind, content object) {
	m := content["metadata"].(object)
	q := stage.Request{Verb: "apply", Kind: kind, Name: m["name"].(string), ContentType: "application/apply-patch+yaml",
		Query: url.Values{"fieldManager": {"storm"}, "force": {"true"}}}
	q.Namespace, _ = m["namespace"].(string)
	content["apiVersion"], content["kind"] = kind.APIVersion(), kind.Kind
	q.Body, _ = json.Marshal(content) // of maps and texts
	c.Do(q)
}

// about matches the config maps of the area, by their names too: a binding without its
// parameter refuses whatever the constraints match, before any condition is asked.
func about(spec object) object {
	names := []string{restRuled}
	for n := range ruledMaps {
		names = append(names, fmt.Sprint(promise.Ruled, n))
	}
	spec["matchConstraints"] = object{"resourceRules": []object{{"operations": []string{"CREATE", "UPDATE"}, "apiGroups": []string{""},
		"apiVersions": []string{"v1"}, "resources": []string{"configmaps"}, "resourceNames": names}}}
	spec["matchConditions"] = []object{{"name": "mine", "expression": "object.metadata.name.startsWith('" + promise.Ruled + "')"}}
	return spec
}

// ruling is the specification of a validating policy of a form.
func ruling(form string) object {
	spec := object{"failurePolicy": "Fail", "validations": []object{{"expression": "object.metadata.labels.app != 'db'"}}}
	switch form {
	case "param":
		spec["paramKind"] = object{"apiVersion": "v1", "kind": "ConfigMap"}
		spec["validations"] = []object{{"expression": "object.metadata.labels.app != params.data.app"}}
	case "broken", "ignored":
		spec["validations"] = []object{{"expression": "object.data.missing == ''"}}
	}
	if form == "ignored" {
		spec["failurePolicy"] = "Ignore"
	}
	return about(spec)
}

// changing is the specification of a mutating policy that sets a label.
func changing(n int, value string) object {
	return about(object{"failurePolicy": "Fail", "reinvocationPolicy": "Never", "mutations": []object{{"patchType": "ApplyConfiguration",
		"applyConfiguration": object{"expression": fmt.Sprintf("Object{metadata: Object.metadata{labels: {%q: %q}}}", fmt.Sprint(promise.Hooked, n), value)}}}})
}

// writeRuled writes an object that the policies are about.
func writeRuled(c *stage.Client, s program.Step) {
	app := of(s.C, "web", "db")
	q := stage.Request{Verb: s.Op, Kind: stage.KindOf("configmaps"), Namespace: Spaces[s.A%len(Spaces)],
		Name: fmt.Sprint(promise.Ruled, s.B%ruledMaps), Mark: c.Mark()}
	switch s.Op {
	case "delete":
		q.Mark = ""
	case "patch":
		q.Variant = of(s.C/2, "merge", "strategic-merge", "json")
		q.ContentType, q.Body = "application/"+q.Variant+"-patch+json", patch(q, app)
	case "apply":
		apply(&q, of(s.C/2, "helm", "flux"), app)
	default:
		q.Body = body(q, app, 0)
	}
	q.Variant = app
	c.Do(q)
}

// restPolicies takes all bindings away: afterwards no policy counts.
func restPolicies(_ context.Context, c *stage.Client) {
	c.Quiet = true
	for _, resource := range policyKinds {
		c.Do(stage.Request{Verb: "deletecollection", Kind: stage.KindOf(resource)})
	}
	probe := stage.Request{Verb: "create", Kind: stage.KindOf("configmaps"), Namespace: Spaces[0], Name: restRuled}
	probe.Body = object{"metadata": object{"name": probe.Name, "labels": object{"app": "db"}}}
	if call := c.Do(probe); !call.Done() || len(call.Object.Meta.Labels) != 1 {
		c.Probe("obeyed", "all policies are deleted, and a create is answered %d %s", call.Code, call.Message)
	}
}
