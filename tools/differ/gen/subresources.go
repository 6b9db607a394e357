package gen

import (
	"github.com/capstan-dev/capstan/tools/differ/scenario"
)

// subresource sends a request to one of an object's subresources.
func (b *builder) subresource(o *object) {
	subs := o.res.Subresources
	var known []string
	for _, s := range subs {
		switch s {
		case "status", "scale", "eviction", "binding", "ephemeralcontainers", "token", "approval", "finalize":
			known = append(known, s)
		}
	}
	if len(known) == 0 {
		return
	}
	s := known[b.r.Intn(len(known))]
	switch s {
	case "status":
		b.status(o)
	case "scale":
		b.scale(o)
	case "eviction":
		b.post(o, s, evictions(o))
	case "binding":
		target := func(kind, name string) map[string]any {
			return map[string]any{"apiVersion": "v1", "kind": "Binding", "metadata": map[string]any{"name": o.name, "annotations": map[string]any{"bound": "yes"}},
				"target": map[string]any{"kind": kind, "name": name}}
		}
		b.post(o, s, []any{target("Node", "node-b"), target("", "node-b"), target("Pod", "x"), target("Node", ""), target("Node", "Bad_Name"),
			map[string]any{"target": map[string]any{}},
			map[string]any{"apiVersion": "v1", "kind": "Binding", "metadata": map[string]any{"name": "other"}, "target": map[string]any{"kind": "Node", "name": "n"}}})
	case "ephemeralcontainers":
		b.ephemeral(o)
	case "token":
		spec := func(v any) map[string]any {
			return map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": v}
		}
		b.post(o, s, []any{spec(map[string]any{}), spec(map[string]any{"audiences": []any{"a"}, "expirationSeconds": 600.0}),
			spec(map[string]any{"expirationSeconds": 10.0}), spec(map[string]any{"expirationSeconds": 5e9}),
			spec(map[string]any{"boundObjectRef": map[string]any{"kind": "Pod", "apiVersion": "v1", "name": "nope"}}),
			spec(map[string]any{"boundObjectRef": map[string]any{"kind": "ConfigMap", "apiVersion": "v1", "name": "nope"}}),
			map[string]any{}, spec(map[string]any{"unknown": 1.0})})
	case "approval":
		b.approval(o)
	case "finalize":
		body := scenario.Copy(o.body).(map[string]any)
		body["spec"] = b.pick([]any{map[string]any{"finalizers": []any{"kubernetes", "example.com/x"}},
			map[string]any{"finalizers": []any{"bad one"}}, map[string]any{}, nil})
		b.add(&scenario.Step{Name: "finalize", Method: "PUT", Path: o.path() + "/finalize", Body: body})
	}
}

func (b *builder) post(o *object, sub string, bodies []any) {
	body := b.pick(bodies)
	m := b.r.Intn(12)
	method := "POST"
	if m == 0 {
		method = []string{"GET", "PUT", "PATCH", "DELETE"}[b.r.Intn(4)]
	}
	if m == 1 {
		if x, ok := body.(map[string]any); ok {
			b.mutateOnce(x, nil)
		}
	}
	b.add(&scenario.Step{Name: sub, Method: method, Path: query(o.path()+"/"+sub, b.chance(4, writeParams...)), Body: body})
	if b.r.Intn(2) == 0 {
		b.add(&scenario.Step{Name: "get after " + sub, Method: "GET", Path: o.path()})
	}
}

// evictions are bodies for the eviction of a pod, right and wrong.
func evictions(o *object) []any {
	return []any{
		map[string]any{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": map[string]any{"name": o.name}},
		map[string]any{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": map[string]any{"name": o.name, "namespace": "${NS}"},
			"deleteOptions": map[string]any{"gracePeriodSeconds": 0.0}},
		map[string]any{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": map[string]any{"name": "other"}},
		map[string]any{"apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": map[string]any{"name": o.name}},
		map[string]any{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": map[string]any{"name": o.name},
			"deleteOptions": map[string]any{"dryRun": []any{"All"}}},
		map[string]any{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": map[string]any{"name": o.name},
			"deleteOptions": map[string]any{"preconditions": map[string]any{"uid": "00000000-0000-0000-0000-000000000005"}}},
		map[string]any{"apiVersion": "policy/v1", "kind": "Eviction"},
		map[string]any{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": map[string]any{"name": o.name},
			"deleteOptions": map[string]any{"propagationPolicy": "Bogus"}},
		map[string]any{},
	}
}

func (b *builder) status(o *object) {
	alt := b.g.tables.extras.Status[o.res.Short()]
	status := map[string]any{}
	if len(alt) > 0 {
		status = scenario.Copy(alt[b.r.Intn(len(alt))]).(map[string]any)
	}
	s := o.res.Schema.Property("status")
	switch b.r.Intn(4) {
	case 0:
		b.enrich(status, s, 1+b.r.Intn(2))
	case 1:
		b.mutateOnce(status, s)
	}
	p := query(o.path()+"/status", dryParam(dry(o.res, true)), b.chance(6, writeParams...))
	save := map[string]string{"RV" + o.id: "metadata.resourceVersion"}
	switch b.r.Intn(8) {
	case 0:
		b.add(&scenario.Step{Name: "get status", Method: "GET", Path: o.path() + "/status"})
	case 1, 2, 3:
		body := scenario.Copy(o.body).(map[string]any)
		body["status"] = status
		if b.r.Intn(4) == 0 {
			b.mutateOnce(body, o.res.Schema)
		}
		if md, ok := body["metadata"].(map[string]any); ok && b.r.Intn(3) == 0 {
			md["resourceVersion"] = "${RV" + o.id + "}"
		}
		b.add(&scenario.Step{Name: "put status", Method: "PUT", Path: p, Body: body, Save: save})
	case 4:
		b.add(&scenario.Step{Name: "apply status", Method: "PATCH", Path: query(p, "fieldManager=st", "force=true"),
			Headers: map[string]string{"Content-Type": "application/apply-patch+yaml"},
			Body:    map[string]any{"apiVersion": o.res.APIVersion(), "kind": o.res.Kind, "metadata": map[string]any{"name": o.name}, "status": status}, Save: save})
		b.steps[len(b.steps)-1].Path = query(o.path()+"/status", dryParam(dry(o.res, true)), "fieldManager=st", b.chance(2, "force=true"))
	default:
		ct := []string{"application/merge-patch+json", "application/strategic-merge-patch+json"}[b.r.Intn(2)]
		body := map[string]any{"status": status}
		if b.r.Intn(5) == 0 {
			body["spec"] = map[string]any{"replicas": 9.0}
			body["metadata"] = map[string]any{"labels": map[string]any{"by": "status"}}
		}
		b.add(&scenario.Step{Name: "patch status", Method: "PATCH", Path: p, Headers: map[string]string{"Content-Type": ct}, Body: body, Save: save})
	}
	if b.r.Intn(3) == 0 {
		b.add(&scenario.Step{Name: "get after status", Method: "GET", Path: o.path()})
	}
}

func (b *builder) scale(o *object) {
	p := query(o.path()+"/scale", b.chance(6, writeParams...))
	scale := func(n any) map[string]any {
		return map[string]any{"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": map[string]any{"name": o.name, "namespace": "${NS}"},
			"spec": map[string]any{"replicas": n}}
	}
	switch b.r.Intn(4) {
	case 0:
		b.add(&scenario.Step{Name: "get scale", Method: "GET", Path: p,
			Headers: map[string]string{"Accept": []string{"application/json", "application/json;as=Table;v=v1;g=meta.k8s.io"}[b.r.Intn(2)]}})
	case 1:
		b.add(&scenario.Step{Name: "patch scale", Method: "PATCH", Path: p,
			Headers: map[string]string{"Content-Type": []string{"application/merge-patch+json", "application/strategic-merge-patch+json",
				"application/apply-patch+yaml"}[b.r.Intn(3)]},
			Body: b.pick([]any{map[string]any{"spec": map[string]any{"replicas": 4.0}}, map[string]any{"spec": map[string]any{"replicas": -1.0}},
				map[string]any{"spec": nil}, scale(2.0), map[string]any{"zzz": 1.0}})})
	default:
		body := scale(b.pick([]any{3.0, 0.0, -1.0, "2", nil, 1.5}))
		md := body["metadata"].(map[string]any)
		switch b.r.Intn(6) {
		case 0:
			md["resourceVersion"] = b.pick([]any{"${RV" + o.id + "}", "${OLD" + o.id + "}", "1", "abc"})
		case 1:
			md["uid"] = "00000000-0000-0000-0000-000000000003"
		case 2:
			md["name"] = "other"
		case 3:
			b.mutateOnce(body, nil)
		}
		b.add(&scenario.Step{Name: "put scale", Method: "PUT", Path: p, Body: body, Save: map[string]string{"RV" + o.id: "metadata.resourceVersion"}})
	}
	if b.r.Intn(2) == 0 {
		b.add(&scenario.Step{Name: "get after scale", Method: "GET", Path: o.path()})
	}
}

func (b *builder) ephemeral(o *object) {
	c := b.pick([]any{map[string]any{"name": "dbg", "image": "i"}, map[string]any{"name": "dbg", "image": "i", "targetContainerName": "c"},
		map[string]any{"name": "c", "image": "i"}, map[string]any{"name": "dbg"},
		map[string]any{"name": "dbg", "image": "i", "ports": []any{map[string]any{"containerPort": 1.0}}},
		map[string]any{"name": "dbg", "image": "i", "targetContainerName": "none"},
		map[string]any{"name": "dbg", "image": "i", "livenessProbe": map[string]any{"exec": map[string]any{"command": []any{"x"}}}},
		map[string]any{"name": "dbg", "image": "i", "resources": map[string]any{"limits": map[string]any{"cpu": "1"}}}})
	p := query(o.path()+"/ephemeralcontainers", b.chance(6, writeParams...))
	if b.r.Intn(3) == 0 {
		body := scenario.Copy(o.body).(map[string]any)
		if spec, ok := body["spec"].(map[string]any); ok {
			spec["ephemeralContainers"] = []any{c}
		}
		b.add(&scenario.Step{Name: "put ephemeral container", Method: "PUT", Path: p, Body: body})
		return
	}
	b.add(&scenario.Step{Name: "patch ephemeral container", Method: "PATCH", Path: p,
		Headers: map[string]string{"Content-Type": "application/strategic-merge-patch+json"},
		Body:    map[string]any{"spec": map[string]any{"ephemeralContainers": []any{c}}}})
}

func (b *builder) approval(o *object) {
	cond := b.pick([]any{map[string]any{"type": "Approved", "status": "True", "reason": "R", "message": "m"}, map[string]any{"type": "Denied", "status": "True"},
		map[string]any{"type": "Approved", "status": "False"},
		map[string]any{"type": "Failed", "status": "True"}, map[string]any{"type": ""},
		map[string]any{"type": "Approved", "status": "True", "lastUpdateTime": "2020-01-01T00:00:00Z"}})
	conds := []any{cond}
	if b.r.Intn(5) == 0 {
		conds = append(conds, scenario.Copy(cond))
	}
	if b.r.Intn(2) == 0 {
		body := scenario.Copy(o.body).(map[string]any)
		body["status"] = map[string]any{"conditions": conds}
		b.add(&scenario.Step{Name: "put approval", Method: "PUT", Path: o.path() + "/approval", Body: body})
		return
	}
	b.add(&scenario.Step{Name: "patch approval", Method: "PATCH", Path: o.path() + "/approval",
		Headers: map[string]string{"Content-Type": "application/merge-patch+json"},
		Body:    map[string]any{"status": map[string]any{"conditions": conds}}})
}
