package gen

import (
	"encoding/json"
	"strings"

	"github.com/capstan-dev/capstan/tools/differ/api"
	"github.com/capstan-dev/capstan/tools/differ/scenario"
)

// lastApplied is the annotation in which a client that applies keeps what it sent.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// kubectl applies an object as the client does: itself first, then by the server, which
// takes the fields over, with another manager in between.
func (b *builder) kubectl(r *api.Resource) {
	const self, server = "fieldManager=kubectl-client-side-apply", "fieldManager=kubectl"
	strict := "fieldValidation=" + []string{"Strict", "Warn", "Ignore"}[b.r.Intn(3)]
	o := b.build(r)
	b.enrich(o.body, r.Schema, b.r.Intn(3))
	annotate(o)
	b.objs = append(b.objs, o)
	save := map[string]string{"UID" + o.id: "metadata.uid", "RV" + o.id: "metadata.resourceVersion", "OLD" + o.id: "metadata.resourceVersion"}
	b.add(&scenario.Step{Name: "kubectl apply " + r.Short(), Method: "POST", Path: query(r.Path(o.ns), self, strict, dryParam(dry(r, false))),
		Body: scenario.Copy(o.body), Save: save})
	if b.r.Intn(3) > 0 {
		b.enrich(o.body, r.Schema, 1+b.r.Intn(2))
		annotate(o)
		patch := scenario.Copy(o.body).(map[string]any)
		delete(patch, "apiVersion")
		delete(patch, "kind")
		media := "application/strategic-merge-patch+json"
		if strings.Contains(r.Group, ".example.com") {
			media = "application/merge-patch+json"
		}
		b.add(&scenario.Step{Name: "kubectl apply, changed", Method: "PATCH", Path: query(o.path(), self, strict, dryParam(dry(r, false))), Body: patch,
			Headers: map[string]string{"Content-Type": media}})
	}
	for n := 1 + b.r.Intn(3); n > 0; n-- {
		b.serverSide(o, server)
		switch b.r.Intn(4) {
		case 0:
			b.patch(o)
		case 1:
			b.scaleOrStatus(o)
		case 2:
			b.serverSide(o, "fieldManager=other")
		}
	}
	b.add(&scenario.Step{Name: "kubectl get", Method: "GET", Path: o.path()})
}

// serverSide applies the object, or a part of it, or more than it.
func (b *builder) serverSide(o *object, manager string) {
	body := scenario.Copy(o.body).(map[string]any)
	if b.r.Intn(2) == 0 { // a manifest as its author has it
		delete(body["metadata"].(map[string]any)["annotations"].(map[string]any), lastApplied)
	}
	if spec, ok := body["spec"].(map[string]any); ok && b.r.Intn(3) == 0 && len(spec) > 1 {
		delete(spec, firstKey(spec))
	}
	if b.r.Intn(3) == 0 {
		b.enrich(body, o.res.Schema, 1)
	}
	b.add(&scenario.Step{Name: "kubectl apply --server-side", Method: "PATCH",
		Path: query(o.path(), manager, b.chance(3, "force=true"), dryParam(dry(o.res, false))), Body: body,
		Headers: map[string]string{"Content-Type": "application/apply-patch+yaml"}, Save: map[string]string{"RV" + o.id: "metadata.resourceVersion"}})
}

// scaleOrStatus writes through a subresource, as a controller does.
func (b *builder) scaleOrStatus(o *object) {
	before := len(b.steps)
	b.subresource(o)
	if len(b.steps) == before {
		b.update(o)
	}
}

// annotate notes the object in its own annotation, as it was before.
func annotate(o *object) {
	md := o.body["metadata"].(map[string]any)
	a, _ := md["annotations"].(map[string]any)
	if a == nil {
		a = map[string]any{}
		md["annotations"] = a
	}
	delete(a, lastApplied)
	text, err := json.Marshal(o.body)
	if err == nil { // JSON came from YAML
		a[lastApplied] = string(text) + "\n"
	}
}
