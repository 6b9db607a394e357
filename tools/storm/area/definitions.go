package area

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/program"
	"github.com/capstan-dev/capstan/tools/storm/record"
	"github.com/capstan-dev/capstan/tools/storm/stage"
)

const customGroup = "storm.test"

// definitionCount is the number of names that clients fight for. Watches may end when a
// version is dropped, which only the last of them does, whose objects nobody watches.
const definitionCount = 3

// definitions is the area of custom resource definitions that are made, changed, deleted
// and made again while others use and watch their objects.
func definitions() Area {
	return Area{Name: "definitions", Weight: 8, Do: doDefinitions, Rest: restDefinitions, Draw: func(r *rand.Rand) program.Step {
		return pick(r, weighted{"make", 10}, weighted{"change", 10}, weighted{"drop", 5}, weighted{"create", 25}, weighted{"patch", 10}, weighted{"apply", 6},
			weighted{"put", 6}, weighted{"status", 6}, weighted{"scale", 4}, weighted{"finalize", 2}, weighted{"release", 4}, weighted{"delete", 8},
			weighted{"deletecollection", 1}, weighted{"list", 4}, weighted{"watch", 10})
	}}
}

// custom is the kind of the objects of a definition.
func custom(prefix string, i int, version string) stage.Kind {
	return stage.Kind{Resource: fmt.Sprintf("%s%ds", prefix, i), Kind: fmt.Sprintf("X%s%d", prefix, i), Group: customGroup, Version: version, Namespaced: true}
}

func definitionName(k stage.Kind) string { return k.Resource + "." + k.Group }

// The bits of the form of a definition that has a second version, and a bound for the
// size. There are forms of them.
const (
	twoVersions = 4
	bounded     = 16
	forms       = 32
)

// definition is one of the forms of a definition: with other properties, columns,
// versions, or stored in another version.
func definition(k stage.Kind, form int) object {
	spec := object{"size": object{"type": "integer"}}
	if form&bounded != 0 {
		spec["size"].(object)["maximum"] = 500 // half of the sizes that are written
	}
	if form&1 != 0 {
		spec["colour"] = object{"type": "string", "default": "red"}
	}
	version := func(name string, storage bool) object {
		v := object{"name": name, "served": true, "storage": storage, "subresources": object{"status": object{}, "scale": object{
			"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}},
			"schema": object{"openAPIV3Schema": object{"type": "object", "properties": object{"spec": object{"type": "object", "properties": spec},
				"status": object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}
		if form&2 != 0 {
			v["additionalPrinterColumns"] = []object{{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}}
		}
		return v
	}
	versions := []object{version("v1", form&12 != 12)}
	if form&twoVersions != 0 {
		versions = append(versions, version("v2", form&12 == 12))
	}
	return object{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": object{"name": definitionName(k)},
		"spec": object{"group": k.Group, "scope": "Namespaced", "names": object{"plural": k.Resource, "singular": k.Resource[:len(k.Resource)-1],
			"kind": k.Kind, "listKind": k.Kind + "List"}, "versions": versions}}
}

func doDefinitions(ctx context.Context, c *stage.Client, s program.Step) {
	kind := custom("d", s.A%definitionCount, "v1")
	if s.C%5 == 0 && s.Op != "watch" {
		kind.Version = "v2"
	}
	def := stage.Request{Kind: stage.KindOf("customresourcedefinitions"), Name: definitionName(kind)}
	form := s.C % forms
	if s.A%definitionCount < definitionCount-1 {
		form |= twoVersions
	} else if s.Op == "watch" {
		return
	}
	switch s.Op {
	case "make":
		def.Verb, def.Body = "create", definition(kind, form)
		c.Do(def)
	case "change":
		change(c, def, kind, form)
	case "drop":
		if s.B%3 == 0 && s.A%definitionCount < definitionCount-1 {
			dropWatched(ctx, c, custom("d", s.A%definitionCount, "v1"), def)
			return
		}
		def.Verb = "delete"
		c.Do(def)
	case "watch":
		c.Follow(func() { c.WatchCustom(ctx, kind, def.Name) })
	default:
		useCustom(c, kind, s)
	}
}

// change gives a definition another form.
func change(c *stage.Client, def stage.Request, kind stage.Kind, form int) {
	def.Verb, def.ContentType = "patch", "application/merge-patch+json"
	def.Body = object{"spec": object{"versions": definition(kind, form)["spec"].(object)["versions"]}}
	c.Do(def)
}

// useCustom writes or lists custom objects.
func useCustom(c *stage.Client, kind stage.Kind, s program.Step) {
	q := stage.Request{Verb: s.Op, Kind: kind, Namespace: Spaces[s.B%len(Spaces)], Name: fmt.Sprintf("c-%d", s.C%4), Mark: c.Mark()}
	app := of(s.C, "web", "db")
	b := object{"apiVersion": kind.APIVersion(), "kind": kind.Kind, "metadata": meta(q, app, 0), "spec": object{"size": s.B}}
	switch s.Op {
	case "create":
		q.Body = b
	case "apply":
		apply(&q, of(s.B, "helm", "flux"), app)
		q.Body = b
	case "put":
		if known := c.Known[history.Key(kind.Resource, q.Namespace, q.Name)]; known > 0 {
			b["metadata"], q.Precondition = meta(q, app, known), known
		}
		q.Body = b
	case "patch":
		q.ContentType = "application/merge-patch+json"
		q.Body = object{"metadata": object{"annotations": object{history.MarkAnnotation: q.Mark}}, "spec": object{"size": s.B}}
	case "status", "scale":
		q.Verb, q.Sub, q.Mark, q.ContentType = "patch", s.Op, "", "application/merge-patch+json"
		q.Body = object{"status": object{"size": s.B}}
		if s.Op == "scale" {
			q.Body = object{"spec": object{"replicas": s.B}}
		}
	case "finalize", "release":
		q.Verb, q.Mark, q.ContentType, q.Body = "patch", "", "application/merge-patch+json", released()
		if s.Op == "finalize" {
			q.Body = object{"metadata": object{"finalizers": []string{"storm.test/wait"}}}
		}
	case "delete":
		q.Mark = ""
	case "deletecollection":
		q.Name, q.Mark = "", ""
	case "list":
		q.Namespace, q.Name, q.Mark = "", "", ""
	}
	c.Do(q)
}

// released takes the finalizers of a custom object away, and makes it small enough for
// every form of its definition.
func released() object {
	return object{"metadata": object{"finalizers": nil}, "spec": object{"size": 1}}
}

// release takes the finalizers of all objects of a kind away, and returns the objects.
func release(c *stage.Client, kind stage.Kind) []*record.Object {
	w := stage.Watching{Kind: kind, Plain: true, Into: new(history.Recorder)}
	_, all := c.List(w, 0)
	for _, o := range all {
		if len(o.Meta.Finalizers) > 0 {
			c.Do(stage.Request{Verb: "patch", Kind: kind, Namespace: o.Meta.Namespace, Name: o.Meta.Name, ContentType: "application/merge-patch+json",
				Body: released()})
		}
	}
	_, all = c.List(w, 0)
	return all
}

// goneLimit bounds the end of a deletion at rest; writableLimit the time of a write to a
// kind that nobody uses.
const (
	goneLimit     = 10 * time.Second
	writableLimit = time.Second
)

// restDefinitions looks at every name at rest: a deletion has ended, a definition that is
// made again has no objects, and its kind takes writes.
func restDefinitions(ctx context.Context, c *stage.Client) {
	c.Quiet = true
	for i := range definitionCount {
		kind := custom("d", i, "v1")
		def := stage.Request{Verb: "get", Kind: stage.KindOf("customresourcedefinitions"), Name: definitionName(kind)}
		c.Rest(kind.Resource, release(c, kind))
		call := c.Do(def)
		for end := time.Now().Add(goneLimit); call.Object != nil && call.Object.Meta.DeletionTimestamp != ""; call = c.Do(def) {
			if time.Now().After(end) {
				c.Probe("gone", "the deletion of definition %s has not ended after %s", def.Name, goneLimit)
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		if call.Code != http.StatusNotFound {
			writable(ctx, c, kind)
			continue
		}
		def.Verb, def.Body = "create", definition(kind, 0)
		if call = c.Do(def); !call.Done() {
			c.Probe("writable", "definition %s cannot be made again: %d %s", def.Name, call.Code, call.Message)
			continue
		}
		if !writable(ctx, c, kind) {
			continue
		}
		list, items := c.List(stage.Watching{Kind: kind, Into: new(history.Recorder)}, 0)
		if list == nil || len(items) > 0 {
			c.Probe("gone", "definition %s was gone and is made again, and %d objects of the earlier one are there, like %s", def.Name, len(items),
				first(items))
		}
	}
}
