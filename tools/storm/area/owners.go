package area

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/program"
	"github.com/capstan-dev/capstan/tools/storm/promise"
	"github.com/capstan-dev/capstan/tools/storm/record"
	"github.com/capstan-dev/capstan/tools/storm/stage"
)

// owners is the area of objects with owners, which come and go by every policy.
func owners() Area {
	return Area{Name: "owners", Weight: 6, Do: doOwners, Rest: restOwners, Draw: func(r *rand.Rand) program.Step {
		return pick(r, weighted{"own", 20}, weighted{"depend", 40}, weighted{"drop", 15}, weighted{"adopt", 10}, weighted{"finalize", 3},
			weighted{"release", 5})
	}}
}

func doOwners(_ context.Context, c *stage.Client, s program.Step) {
	owner := stage.Request{Kind: stage.KindOf("configmaps"), Namespace: Spaces[s.A%len(Spaces)], Name: fmt.Sprintf("o-%d", s.B%4)}
	q := stage.Request{Kind: stage.KindOf("podtemplates"), Namespace: owner.Namespace, Name: fmt.Sprintf("t-%d", s.C%8)}
	switch s.Op {
	case "own":
		owner.Mark = c.Mark()
		owner.Verb, owner.Body = "create", body(owner, "web", 0)
		c.Do(owner)
	case "drop":
		owner.Verb, owner.Variant = "delete", of(s.C, "Background", "Foreground", "Orphan")
		owner.Body = object{"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": owner.Variant}
		c.Do(owner)
	case "depend", "adopt":
		owner.Verb = "get"
		of := c.Do(owner)
		if of.Object == nil {
			return
		}
		references := []object{{"apiVersion": "v1", "kind": "ConfigMap", "name": owner.Name, "uid": of.Object.Meta.UID, "blockOwnerDeletion": s.C%2 == 0}}
		if q.Mark = c.Mark(); s.Op == "depend" {
			q.Verb, q.Body = "create", filled(q)
			q.Body.(object)["metadata"].(object)["ownerReferences"] = references
		} else {
			q.Verb, q.ContentType = "patch", "application/strategic-merge-patch+json"
			q.Body = object{"metadata": object{"annotations": object{history.MarkAnnotation: q.Mark}, "ownerReferences": references}}
		}
		c.Do(q)
	case "finalize", "release":
		q.Verb, q.ContentType = "patch", "application/merge-patch+json"
		var names []string
		if s.Op == "finalize" {
			names = []string{promise.Finalizer}
		}
		q.Body = object{"metadata": object{"finalizers": names}}
		c.Do(q)
	}
}

// restOwners takes the clients' finalizers away and waits until what has no owner any more
// is gone.
func restOwners(_ context.Context, c *stage.Client) {
	_, all := c.List(stage.Watching{Kind: stage.KindOf("podtemplates"), Into: new(history.Recorder)}, 0)
	for _, o := range all {
		if len(o.Meta.Finalizers) > 0 {
			c.Do(stage.Request{Verb: "patch", Kind: stage.KindOf("podtemplates"), Namespace: o.Meta.Namespace, Name: o.Meta.Name,
				ContentType: "application/json-patch+json",
				Body: []object{{"op": "test", "path": "/metadata/finalizers", "value": []string{promise.Finalizer}}, {"op": "remove",
					"path": "/metadata/finalizers"}}})
		}
	}
	c.Quiet = true
	var wrong []string
	if eventually(func() bool {
		rest := make(map[string][]*record.Object)
		for _, resource := range []string{"podtemplates", "configmaps"} {
			_, rest[resource] = c.List(stage.Watching{Kind: stage.KindOf(resource), Into: new(history.Recorder)}, 0)
		}
		wrong = promise.Uncollected(rest)
		return len(wrong) == 0
	}) {
		return
	}
	for _, text := range wrong {
		c.Probe("collected", "%s, %s after the last request", text, goneLimit)
	}
}
