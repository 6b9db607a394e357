package area

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/capstan-dev/capstan/tools/storm/program"
	"github.com/capstan-dev/capstan/tools/storm/stage"
)

// namespaceCount is the number of namespaces that end and come back.
const namespaceCount = 3

// namespaces is the area of namespaces that end while others write into them.
func namespaces() Area {
	return Area{Name: "namespaces", Weight: 8, Do: doNamespaces, Rest: restNamespaces, Draw: func(r *rand.Rand) program.Step {
		return pick(r, weighted{"make", 12}, weighted{"end", 5}, weighted{"fill", 40}, weighted{"touch", 8}, weighted{"empty", 5}, weighted{"sweep", 1})
	}}
}

func doNamespaces(_ context.Context, c *stage.Client, s program.Step) {
	name := fmt.Sprintf("n-%d", s.A%namespaceCount)
	space := stage.Request{Kind: stage.KindOf("namespaces"), Name: name}
	inside := stage.Request{Kind: stage.KindOf(of(s.B, "configmaps", "podtemplates", "roles", "deployments", "services")), Namespace: name,
		Name: fmt.Sprintf("i-%d", s.C%5), Mark: c.Mark()}
	switch s.Op {
	case "make":
		space.Verb, space.Body = "create", object{"metadata": object{"name": name}}
		c.Do(space)
	case "end":
		space.Verb = "delete"
		c.Do(space)
	case "fill":
		inside.Verb, inside.Body = "create", filled(inside)
		c.Do(inside)
	case "touch":
		inside.Verb, inside.ContentType = "patch", "application/merge-patch+json"
		inside.Body = object{"metadata": object{"annotations": object{"touched": inside.Mark}}}
		inside.Mark = ""
		c.Do(inside)
	case "empty":
		inside.Verb, inside.Mark = "delete", ""
		c.Do(inside)
	case "sweep":
		inside.Verb, inside.Name, inside.Mark = "deletecollection", "", ""
		inside.Kind = stage.KindOf(of(s.B, "configmaps", "podtemplates"))
		c.Do(inside)
	}
}

// filled is a valid object of the kind of a request.
func filled(q stage.Request) object {
	b := object{"apiVersion": q.Kind.APIVersion(), "kind": q.Kind.Kind, "metadata": meta(q, "web", 0)}
	labels := object{"app": "web"}
	pod := object{"containers": []object{{"name": "c", "image": "i"}}}
	switch q.Kind.Resource {
	case "configmaps":
		b["data"] = object{"mark": q.Mark}
	case "podtemplates":
		b["template"] = object{"metadata": object{"labels": labels}, "spec": pod}
	case "deployments":
		b["spec"] = object{"replicas": 0, "selector": object{"matchLabels": labels}, "template": object{"metadata": object{"labels": labels}, "spec": pod}}
	case "services":
		b["spec"] = object{"clusterIP": "None", "ports": []object{{"port": 80}}}
	case "pods":
		b["spec"] = pod
	case "roles":
		b["rules"] = []object{{"apiGroups": []string{""}, "resources": []string{"pods"}, "verbs": []string{"get"}}}
	}
	return b
}

// restNamespaces waits until all deletions of namespaces have ended.
func restNamespaces(_ context.Context, c *stage.Client) {
	c.Quiet = true
	for i := range namespaceCount {
		space := stage.Request{Verb: "get", Kind: stage.KindOf("namespaces"), Name: fmt.Sprintf("n-%d", i)}
		touch := stage.Request{Verb: "patch", Kind: space.Kind, Name: space.Name, ContentType: "application/merge-patch+json",
			Body: object{"metadata": object{"annotations": object{"touched": "at rest"}}}}
		c.Do(touch) // its controller may have waited longer and longer for an extension server that failed
		if !eventually(func() bool {
			call := c.Do(space)
			return call.Object == nil || call.Object.Meta.DeletionTimestamp == ""
		}) {
			c.Probe("housed", "the deletion of namespace %s has not ended after %s: %s", space.Name, goneLimit, c.Do(space).Object.Raw)
		}
	}
}

// eventually asks again and again, for as long as a deletion may take at rest.
func eventually(done func() bool) bool {
	for end := time.Now().Add(goneLimit); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}
