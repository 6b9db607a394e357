package area

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/program"
	"github.com/capstan-dev/capstan/tools/storm/stage"
)

// Spaces are the namespaces that are always there.
var Spaces = []string{"red", "blue"}

// maps is the area of config maps, which nobody but the clients changes: every kind of
// write, reads, lists in pages, and watches.
func maps() Area {
	return Area{Name: "maps", Weight: 10, Do: doMaps, Draw: func(r *rand.Rand) program.Step {
		return pick(r, weighted{"create", 14}, weighted{"put", 8}, weighted{"replace", 8}, weighted{"patch", 12}, weighted{"apply", 12}, weighted{"delete", 9},
			weighted{"deleteseen", 4}, weighted{"get", 14}, weighted{"list", 5}, weighted{"watch", 6}, weighted{"deletecollection", 1})
	}}
}

func doMaps(ctx context.Context, c *stage.Client, s program.Step) {
	kind := stage.KindOf("configmaps")
	q := stage.Request{Verb: s.Op, Kind: kind, Namespace: Spaces[s.A%len(Spaces)], Name: fmt.Sprintf("m-%d", s.B%4), Mark: c.Mark()}
	app := of(s.C, "web", "web", "db", "cache")
	known := c.Known[history.Key(q.Kind.Resource, q.Namespace, q.Name)]
	switch s.Op {
	case "create", "put":
		q.Body = body(q, app, 0)
	case "replace":
		if q.Verb, q.Precondition = "put", known; known == 0 {
			q.Verb = "get"
			break
		}
		q.Body = body(q, app, known)
	case "patch":
		q.Variant = of(s.C/4, "merge", "strategic-merge", "json")
		q.ContentType, q.Body = "application/"+q.Variant+"-patch+json", patch(q, app)
	case "apply":
		apply(&q, of(s.C/4, "helm", "flux", "argo"), app)
	case "delete", "get":
		q.Mark = ""
	case "deleteseen":
		if q.Verb, q.Mark, q.Precondition = "delete", "", known; known > 0 {
			q.Body = object{"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": object{"resourceVersion": fmt.Sprint(known)}}
		}
	case "deletecollection":
		q.Mark, q.Query = "", url.Values{"labelSelector": {"app=cache"}}
	case "list":
		c.List(watching(c, q, s, app), s.C%3)
		return
	case "watch":
		w := watching(c, q, s, app)
		if s.C%2 == 0 {
			if w.Base, _ = c.List(w, 0); w.Base == nil {
				return
			}
			w.From = w.Base.Revision
		}
		c.Follow(func() { c.Chain(ctx, w, 1+s.B%3) })
		return
	}
	c.Do(q)
}

// watching are the options of a watch or a list that a step asks for.
func watching(c *stage.Client, q stage.Request, s program.Step, app string) stage.Watching {
	w := stage.Watching{Kind: q.Kind, Namespace: q.Namespace, Into: &c.Journal.Recorder, Most: 2 + s.A%40}
	if s.B%3 == 0 {
		w.Namespace = ""
	}
	if s.B%2 == 0 {
		w.Selector = "app=" + app
	}
	return w
}

// meta is the metadata of a write.
func meta(q stage.Request, app string, revision uint64) object {
	m := object{"name": q.Name, "labels": object{"app": app}, "annotations": object{history.MarkAnnotation: q.Mark}}
	if q.Namespace != "" {
		m["namespace"] = q.Namespace
	}
	if revision > 0 {
		m["resourceVersion"] = fmt.Sprint(revision)
	}
	return m
}

func body(q stage.Request, app string, revision uint64) object {
	return object{"apiVersion": q.Kind.APIVersion(), "kind": q.Kind.Kind, "metadata": meta(q, app, revision), "data": object{"mark": q.Mark}}
}

// patch changes labels, the mark and the data. The JSON patch replaces maps, which every
// object here has.
func patch(q stage.Request, app string) any {
	if q.Variant != "json" {
		return object{"metadata": object{"labels": object{"app": app}, "annotations": object{history.MarkAnnotation: q.Mark}}, "data": object{"mark": q.Mark}}
	}
	set := func(path string, value any) object { return object{"op": "add", "path": path, "value": value} }
	return []object{set("/metadata/labels", object{"app": app}), set("/metadata/annotations", object{history.MarkAnnotation: q.Mark}), set("/data",
		object{"mark": q.Mark})}
}

// apply makes a request an apply of a manager, who also owns an entry of the data.
func apply(q *stage.Request, manager, app string) {
	b := body(*q, app, 0)
	b["data"] = object{"mark": q.Mark, manager: q.Mark}
	text, _ := json.Marshal(b) // of maps and texts
	q.Verb, q.Variant, q.Body, q.ContentType = "apply", manager, text, "application/apply-patch+yaml"
	q.Query = url.Values{"fieldManager": {manager}, "force": {"true"}}
}
