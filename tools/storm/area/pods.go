package area

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/program"
	"github.com/capstan-dev/capstan/tools/storm/record"
	"github.com/capstan-dev/capstan/tools/storm/stage"
)

// pods is the area of pods that several schedulers bind, that are evicted within a budget
// and change their status, and of deployments that are scaled.
func pods() Area {
	return Area{Name: "pods", Weight: 5, Prepare: preparePods, Do: doPods, Rest: restPods, Draw: func(r *rand.Rand) program.Step {
		return pick(r, weighted{"create", 20}, weighted{"bind", 25}, weighted{"evict", 12}, weighted{"status", 14}, weighted{"delete", 12},
			weighted{"allow", 6}, weighted{"scale", 10}, weighted{"rollout", 6})
	}}
}

func preparePods(c *stage.Client) error {
	for _, space := range Spaces {
		budget := stage.Request{Verb: "create", Kind: stage.KindOf("poddisruptionbudgets"), Namespace: space,
			Body: object{"metadata": object{"name": "budget"}, "spec": object{"minAvailable": 1, "selector": object{"matchLabels": object{"app": "web"}}}}}
		web := stage.Request{Verb: "create", Kind: stage.KindOf("deployments"), Namespace: space, Name: "web"}
		web.Body = filled(web)
		for _, q := range []stage.Request{budget, web} {
			if call := c.Do(q); !call.Done() {
				return fmt.Errorf("%s: %s", q.Kind.Resource, call.Message)
			}
		}
	}
	return nil
}

func doPods(_ context.Context, c *stage.Client, s program.Step) {
	q := stage.Request{Verb: "create", Kind: stage.KindOf("pods"), Namespace: Spaces[s.A%len(Spaces)], Name: fmt.Sprintf("p-%d", s.B%6)}
	web := stage.Request{Verb: "patch", Kind: stage.KindOf("deployments"), Namespace: q.Namespace, Name: "web", ContentType: "application/merge-patch+json"}
	switch s.Op {
	case "create":
		q.Mark = c.Mark()
		q.Body = filled(q)
	case "bind":
		q.Sub, q.Body = "binding", object{"apiVersion": "v1", "kind": "Binding", "metadata": object{"name": q.Name}, "target": object{"kind": "Node",
			"name": fmt.Sprintf("node-%d", s.C%3)}}
	case "evict":
		q.Sub, q.Body = "eviction", object{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": object{"name": q.Name},
			"deleteOptions": object{"gracePeriodSeconds": 0}}
	case "status":
		q.Verb, q.Sub, q.ContentType = "patch", "status", "application/merge-patch+json"
		q.Body = object{"status": object{"phase": "Running", "conditions": []object{{"type": "Ready", "status": of(s.C, "True", "False")}}}}
	case "delete":
		q.Verb = "delete"
		q.Body = object{"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": s.C % 2 * 30}
	case "allow":
		q.Kind, q.Name, q.Verb, q.Sub, q.ContentType = stage.KindOf("poddisruptionbudgets"), "budget", "patch", "status", "application/merge-patch+json"
		q.Body = object{"status": object{"observedGeneration": 1, "disruptionsAllowed": s.C % 3, "currentHealthy": 3, "desiredHealthy": 1, "expectedPods": 3}}
	case "scale":
		q = web
		q.Sub, q.Body = "scale", object{"spec": object{"replicas": s.C % 10}}
	case "rollout":
		q = web
		q.Body = object{"spec": object{"template": object{"metadata": object{"annotations": object{"rollout": c.Mark()}}}}}
	}
	c.Do(q)
}

// restPods ends the pods whose agent would have to.
func restPods(_ context.Context, c *stage.Client) {
	c.Quiet = true
	_, all := c.List(stage.Watching{Kind: stage.KindOf("pods"), Into: new(history.Recorder)}, 0)
	for _, o := range all {
		if o.Meta.DeletionTimestamp != "" {
			end(c, o)
		}
	}
}

func end(c *stage.Client, o *record.Object) {
	c.Do(stage.Request{Verb: "delete", Kind: stage.KindOf(o.Resource), Namespace: o.Meta.Namespace, Name: o.Meta.Name,
		Body: object{"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}})
}
