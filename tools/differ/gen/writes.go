package gen

import (
	"strings"

	"github.com/capstan-dev/capstan/tools/differ/api"
	"github.com/capstan-dev/capstan/tools/differ/scenario"
)

var writeParams = []string{"dryRun=All", "dryRun=", "dryRun=Some", "dryRun=All&dryRun=All", "fieldValidation=Strict", "fieldValidation=Warn",
	"fieldValidation=Ignore",
	"fieldValidation=Bogus", "fieldManager=me", "fieldManager=", "fieldManager=bad%0Aname", "pretty=true", "timeout=5s", "timeout=abc", "nonsense=1",
	"fieldManager=" + strings.Repeat("x", 129)}

// create posts an object; effort 0 sends it as it is, 1 with more valid fields, 2 and 3 spoiled.
func (b *builder) create(r *api.Resource, effort int) {
	o := b.build(r)
	name := "base " + r.Short()
	spoiled := false
	what := ""
	switch effort {
	case 0:
		if b.r.Intn(2) == 0 {
			what = strings.Join(b.enrich(o.body, r.Schema, 1+b.r.Intn(2)), " ")
		}
	case 1:
		what = strings.Join(b.enrich(o.body, r.Schema, 1+b.r.Intn(4)), " ")
	default:
		if b.r.Intn(3) == 0 {
			b.enrich(o.body, r.Schema, b.r.Intn(3))
		}
		what = b.mutate(o.body, r.Schema)
		name, spoiled = "create "+r.Short(), true
	}
	if what != "" {
		name += ": " + what
	}
	param := ""
	if effort > 0 {
		param = b.chance(4, writeParams...)
		if spoiled && param == "" {
			param = b.chance(2, "fieldValidation=Strict", "fieldValidation=Warn", "fieldValidation=Strict")
		}
	}
	st := &scenario.Step{Name: name, Method: "POST", Path: query(r.Path(o.ns), dryParam(dry(r, spoiled)), param), Body: o.body}
	if !spoiled && param == "" {
		st.Save = map[string]string{"UID" + o.id: "metadata.uid", "RV" + o.id: "metadata.resourceVersion", "OLD" + o.id: "metadata.resourceVersion"}
		o.body = scenario.Copy(o.body).(map[string]any)
		b.objs = append(b.objs, o)
	}
	b.add(st)
}

// update puts a changed object.
func (b *builder) update(o *object) {
	body := scenario.Copy(o.body).(map[string]any)
	md := body["metadata"].(map[string]any)
	what := "update " + o.res.Short()
	spoiled := true
	switch b.r.Intn(6) {
	case 0:
		what += ": nothing"
		spoiled = false
	case 1:
		b.enrich(body, o.res.Schema, 1+b.r.Intn(2))
		what += ": more fields"
	case 2:
		other := b.build(o.res).body
		other["metadata"] = md
		body = other
		what += ": another object's content"
	default:
		what += ": " + b.mutate(body, o.res.Schema)
		md, _ = body["metadata"].(map[string]any)
	}
	if md != nil {
		switch b.r.Intn(8) {
		case 0, 1, 2:
			md["resourceVersion"] = "${RV" + o.id + "}"
		case 3:
			md["resourceVersion"] = "${OLD" + o.id + "}"
		case 4:
			md["uid"] = b.pick([]any{"${UID" + o.id + "}", "00000000-0000-0000-0000-000000000001"})
		case 5:
			md["resourceVersion"] = b.pick([]any{"abc", "0", "-5", "1", 7.0, ""})
		}
	}
	b.add(&scenario.Step{Name: what, Method: "PUT", Path: query(o.path(), dryParam(dry(o.res, spoiled)), b.chance(4, writeParams...)), Body: body,
		Save: map[string]string{"RV" + o.id: "metadata.resourceVersion"}})
}

// apply sends an apply patch as one of three managers.
func (b *builder) apply(r *api.Resource) {
	o := b.objectOf(r)
	body := scenario.Copy(o.body).(map[string]any)
	what := "apply"
	if b.r.Intn(5) == 0 {
		o = b.build(r)
		b.objs = append(b.objs, o)
		body = scenario.Copy(o.body).(map[string]any)
	}
	switch b.r.Intn(6) {
	case 0, 1:
		// Part of the object: conflicts and shared ownership.
		for _, p := range walk(body, r.Schema, "", "") {
			if m, ok := p.parent.(map[string]any); ok && strings.Count(p.path, ".") > 1 && b.r.Intn(4) == 0 && p.key != "name" {
				delete(m, p.at.(string))
			}
		}
		what += " part"
	case 2:
		b.enrich(body, r.Schema, 1+b.r.Intn(3))
		what += " more"
	case 3:
		what += ": " + b.mutate(body, r.Schema)
	}
	p := []string{"fieldManager=" + []string{"m1", "m2", "m3"}[b.r.Intn(3)]}
	if b.r.Intn(12) == 0 {
		p = nil
	}
	p = append(p, b.chance(3, "force=true", "force=true", "force=false", "force=x"), b.chance(8, writeParams...), dryParam(dry(r, true)))
	b.add(&scenario.Step{Name: what, Method: "PATCH", Path: query(o.path(), p...), Body: body,
		Headers: map[string]string{"Content-Type": "application/apply-patch+yaml"}, Save: map[string]string{"RV" + o.id: "metadata.resourceVersion"}})
	if b.r.Intn(3) == 0 {
		b.add(&scenario.Step{Name: "get after apply", Method: "GET", Path: o.path()})
	}
}

// remove deletes an object or a collection.
func (b *builder) remove(r *api.Resource, o *object) {
	var body any
	if b.r.Intn(2) == 0 {
		body = b.pick([]any{
			map[string]any{"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Foreground"},
			map[string]any{"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Orphan"},
			map[string]any{"propagationPolicy": "Background"},
			map[string]any{"propagationPolicy": "Bogus"},
			map[string]any{"orphanDependents": true},
			map[string]any{"orphanDependents": false, "propagationPolicy": "Orphan"},
			map[string]any{"gracePeriodSeconds": 0.0},
			map[string]any{"gracePeriodSeconds": 5.0},
			map[string]any{"gracePeriodSeconds": -1.0},
			map[string]any{"gracePeriodSeconds": "x"},
			map[string]any{"dryRun": []any{"All"}},
			map[string]any{"dryRun": []any{"Bogus"}},
			map[string]any{"preconditions": map[string]any{"uid": "${UID" + o.id + "}"}},
			map[string]any{"preconditions": map[string]any{"uid": "00000000-0000-0000-0000-000000000005"}},
			map[string]any{"preconditions": map[string]any{"resourceVersion": "${RV" + o.id + "}"}},
			map[string]any{"preconditions": map[string]any{"resourceVersion": "1"}},
			map[string]any{"kind": "DeleteOptions", "apiVersion": "v1", "unknown": 1.0},
			map[string]any{"kind": "Pod", "apiVersion": "v1"},
			map[string]any{"kind": "DeleteOptions", "apiVersion": "policy/v1"},
			map[string]any{},
			"text",
		})
	}
	if dry(r, false) && body != nil {
		// With a body the parameters do not count.
		m, ok := body.(map[string]any)
		if !ok {
			m = map[string]any{}
		}
		m["dryRun"] = []any{"All"}
		body = m
	}
	param := b.chance(3, "propagationPolicy=Foreground", "propagationPolicy=Orphan", "propagationPolicy=Bogus", "gracePeriodSeconds=0", "gracePeriodSeconds=10",
		"gracePeriodSeconds=-1", "gracePeriodSeconds=abc", "dryRun=All", "dryRun=x", "orphanDependents=true", "pretty=true")
	st := &scenario.Step{Name: "delete", Method: "DELETE", Path: query(o.path(), param, dryParam(dry(r, false))), Body: body}
	if b.r.Intn(4) == 0 && r.Verbs["deletecollection"] {
		sel := b.chance(2, "labelSelector=a%3Db", "fieldSelector=metadata.name%3Da", "limit=1", "labelSelector=%3D%3D", "fieldSelector=x%3Dy")
		if !r.Namespaced {
			sel = "labelSelector=scenario%3D${NS}"
		}
		st.Name, st.Path = "delete collection", query(r.Path(o.ns), param, sel, dryParam(dry(r, false)))
	}
	b.add(st)
	b.add(&scenario.Step{Name: "get after delete", Method: "GET", Path: o.path()})
}
