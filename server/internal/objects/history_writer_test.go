package objects_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"

	"github.com/capstan-dev/capstan/internal/history"
)

// The written objects are of three resources, in three namespaces, with names from a
// small set, so that writers conflict.
var (
	resources  = []string{"configmaps", "podtemplates", "nodes"}
	namespaces = []string{"red", "blue", "default"}
	apps       = []string{"web", "web", "db", "cache"}
)

// objectName and sentinel are written by site.drain too.
const (
	names      = 8
	objectName = "o-0"
	sentinel   = "sentinel"
)

// object identifies an object of a writer.
type object struct{ resource, namespace, name string }

func (o object) path() string { return collectionPath(o.resource, o.namespace) + "/" + o.name }

func (o object) key() string { return history.Key(o.resource, o.namespace, o.name) }

// body is a new content of the object.
func (o object) body(mark, app, precondition string, unschedulable bool, size int) []byte {
	meta := map[string]any{"name": o.name, "labels": map[string]string{"app": app}, "annotations": map[string]string{history.MarkAnnotation: mark}}
	if precondition != "" {
		meta["resourceVersion"] = precondition
	}
	body := map[string]any{"metadata": meta}
	switch o.resource {
	case "configmaps":
		body["data"] = map[string]string{"mark": mark, "filling": strings.Repeat("x", size)}
	case "podtemplates":
		body["template"] = map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": mark}}}}
	case "nodes":
		body["spec"] = map[string]any{"unschedulable": unschedulable}
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // maps and strings
	}
	return text
}

// writer runs random operations on random objects, and sometimes lists them.
type writer struct {
	*site
	r     *rand.Rand
	major int
	known map[string]string // resourceVersions by key, not always the newest
	sent  map[string]int    // answers by operation and code, for the log
}

func (s *site) newWriter(seed, n uint64) *writer {
	return &writer{site: s, r: rand.New(rand.NewPCG(seed, n)), major: 1 + int(n%2), known: make(map[string]string), sent: make(map[string]int)}
}

func (w *writer) run(ctx context.Context, operations int) {
	for range operations {
		w.step(ctx)
	}
}

func (w *writer) pick() object {
	o := object{resources[w.r.IntN(len(resources))], "", fmt.Sprintf("o-%d", w.r.IntN(names))}
	if o.resource != "nodes" {
		o.namespace = namespaces[w.r.IntN(len(namespaces))]
	}
	return o
}

// step runs one operation. One without an answer is not recorded: if it was done, watches
// and lists show it.
func (w *writer) step(ctx context.Context) {
	o, app, mark := w.pick(), apps[w.r.IntN(len(apps))], w.mark("w")
	size, drained := 0, w.r.IntN(2) == 0
	if w.r.IntN(20) == 0 {
		size = 20 << 10
	}
	switch n := w.r.IntN(100); {
	case n < 25:
		w.write(ctx, history.Create, o, http.MethodPost, collectionPath(o.resource, o.namespace), "application/json", o.body(mark, app, "", drained, size), "")
	case n < 40:
		w.write(ctx, history.Update, o, http.MethodPut, o.path(), "application/json", o.body(mark, app, "", drained, size), "")
	case n < 50:
		if known := w.known[o.key()]; known != "" {
			w.write(ctx, history.Update, o, http.MethodPut, o.path(), "application/json", o.body(mark, app, known, drained, size), known)
		}
	case n < 70:
		patch := fmt.Sprintf(`{"metadata":{"labels":{"app":%q},"annotations":{%q:%q}}}`, app, history.MarkAnnotation, mark)
		w.write(ctx, history.Update, o, http.MethodPatch, o.path(), "application/merge-patch+json", []byte(patch), "")
	case n < 80:
		w.write(ctx, history.Delete, o, http.MethodDelete, o.path(), "", nil, "")
	case n < 85:
		if known := w.known[o.key()]; known != "" {
			options := fmt.Sprintf(`{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"resourceVersion":%q}}`, known)
			w.write(ctx, history.Delete, o, http.MethodDelete, o.path(), "application/json", []byte(options), known)
		}
	case n < 87:
		code, text, err := w.send(ctx, w.major, http.MethodDelete, collectionPath(o.resource, o.namespace), url.Values{"labelSelector": {"app=cache"}}, "", nil)
		w.count("deletecollection", code, err)
		if err == nil && code != http.StatusOK && code != http.StatusServiceUnavailable {
			w.t.Errorf("deletecollection of %s: %d %.300s", o.resource, code, text)
		}
	default:
		w.look(ctx, o)
	}
}

func (w *writer) count(what string, code int, err error) {
	if err != nil {
		w.sent[what+" lost"]++
	} else {
		w.sent[fmt.Sprint(what, " ", code)]++
	}
}

// write sends a write and records it when it is acknowledged.
func (w *writer) write(ctx context.Context, op history.Op, o object, method, path, contentType string, body []byte, precondition string) bool {
	record := history.Write{Op: op, NotBefore: w.recorder.Newest()}
	_, _ = fmt.Sscan(precondition, &record.Precondition) // "" for none
	code, text, err := w.send(ctx, w.major, method, path, nil, contentType, body)
	w.count(string(op), code, err)
	switch {
	case err != nil:
		return false
	case code == http.StatusCreated:
		record.Op = history.Create
	case code == http.StatusNotFound, code == http.StatusConflict, code == http.StatusServiceUnavailable:
		return false
	case code != http.StatusOK:
		w.t.Errorf("%s of %s: %d %.300s", op, o.key(), code, text)
		return false
	}
	if op == history.Delete { // the answer has the object, not its end
		record.State.Key = o.key()
		w.recorder.Write(record)
		return true
	}
	if record.State, err = history.ParseObject(o.resource, text); err != nil || record.State.Key != o.key() {
		w.t.Errorf("%s of %s was answered with %s, %v: %.300s", op, o.key(), record.State.Key, err, text)
		return false
	}
	w.recorder.Write(record)
	w.known[o.key()] = fmt.Sprint(record.State.Revision)
	return true
}

// look lists, in one of the possible ways.
func (w *writer) look(ctx context.Context, o object) {
	options, query := randomOptions(w.r, o.resource)
	newest := w.recorder.Newest()
	notBefore := newest
	back := newest - min(newest-1, uint64(w.r.IntN(30)))
	switch w.r.IntN(6) {
	case 0:
		query.Set("resourceVersion", "0")
		notBefore = 0
	case 1:
		query.Set("resourceVersion", fmt.Sprint(back))
		query.Set("resourceVersionMatch", "NotOlderThan")
		notBefore = back
	case 2, 3:
		query.Set("resourceVersion", fmt.Sprint(back))
		query.Set("resourceVersionMatch", "Exact")
		notBefore = back
		if w.r.IntN(2) == 0 {
			query.Set("limit", "3")
		}
		if l := w.list(ctx, options, query, notBefore); l != nil && l.Revision != back {
			w.t.Errorf("a list of exactly %d is at %d", back, l.Revision)
		}
		return
	case 4:
		query.Set("limit", fmt.Sprint(1+w.r.IntN(5)))
	}
	w.list(ctx, options, query, notBefore)
}

// randomOptions are the scope and the selectors of a list or watch. Every one shows one
// of the objects that site.drain writes.
func randomOptions(r *rand.Rand, resource string) (history.Options, url.Values) {
	o, query := history.Options{Resource: resource}, url.Values{}
	if resource != "nodes" && r.IntN(3) > 0 {
		o.Namespace = namespaces[r.IntN(len(namespaces))]
	}
	label := func(key, selector string, matches func(app string, exists bool) bool) {
		query.Set("labelSelector", selector)
		o.Selector, o.Matches = selector, func(s *history.State) bool {
			app, exists := s.Labels[key]
			return matches(app, exists)
		}
	}
	field := func(name, value string) {
		query.Set("fieldSelector", name+"="+value)
		o.Selector, o.Matches = query.Get("fieldSelector"), func(s *history.State) bool { return s.Fields[name] == value }
	}
	switch r.IntN(10) {
	case 0, 1:
		label("app", "app=web", func(app string, _ bool) bool { return app == "web" })
	case 2:
		label("app", "app in (web,db)", func(app string, _ bool) bool { return app == "web" || app == "db" })
	case 3:
		label("app", "app!=db", func(app string, _ bool) bool { return app != "db" })
	case 4:
		label("app", "app", func(_ string, exists bool) bool { return exists })
	case 5:
		field("metadata.name", objectName)
	case 6:
		if resource == "nodes" {
			field("spec.unschedulable", "true")
		} else {
			field("metadata.namespace", "red")
			o.Namespace = ""
		}
	}
	return o, query
}
