package compare

import (
	"fmt"
	"maps"
	"net/url"
	"strings"

	"github.com/capstan-dev/capstan/tools/differ/scenario"
)

// lost holds the objects that the two sides hold in different states, by their path without group and version, under which
// another one may show the same object. A collection is lost as a whole with a name of "*".
type lost map[string]bool

// lostKey is a path without its group and version.
func lostKey(path string) string {
	seg := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(seg) > 2 && seg[0] == "api":
		seg = seg[2:]
	case len(seg) > 3 && seg[0] == "apis":
		seg = seg[3:]
	}
	return strings.Join(seg, "/")
}

// add loses the target of a request: an object, or all of a collection.
func (l lost) add(t Target, object string) {
	if object == "" {
		object = t.Collection + "/*"
	}
	l[lostKey(object)] = true
}

// has reports whether an object is lost, itself or with its collection or its namespace.
func (l lost) has(object string) bool {
	key := lostKey(object)
	if l[key] || l[key[:strings.LastIndexByte(key, '/')+1]+"*"] {
		return true
	}
	seg := strings.Split(key, "/")
	return len(seg) > 2 && seg[0] == "namespaces" && (l["namespaces/"+seg[1]] || l["namespaces/*"])
}

// in reports whether objects of a collection are lost, and whether all of them are.
func (l lost) in(collection string) (some, all bool) {
	here := lostKey(collection)
	if l.has(here + "/*") {
		return true, true
	}
	resource := resourceOf(here)
	for key := range l {
		of := key[:max(strings.LastIndexByte(key, '/'), 0)]
		// A collection of all namespaces shows lost objects of each of them.
		if of == here || here == resource && resourceOf(of) == resource {
			some = true
			all = all || strings.HasSuffix(key, "/*")
		}
	}
	return some, all
}

// resourceOf is the last segment of a collection's path.
func resourceOf(collection string) string {
	return collection[strings.LastIndexByte(collection, '/')+1:]
}

// skip reports whether an answer is not compared since its objects are lost. From a list
// or a stream that shows other objects too the lost ones are removed, where that leaves
// two comparable answers: not from pages, whose borders differ, and binary ones.
func (s *Session) skip(t Target, object string, st *scenario.Step, want, got *Answer) bool {
	if object != "" {
		return s.lost.has(object)
	}
	some, all := s.lost.in(t.Collection)
	if !some || all {
		return all
	}
	if t.Verb == "DELETECOLLECTION" && (!success(want) || !success(got)) {
		return true // it may have stopped at such an object
	}
	u, err := url.Parse(st.Path)
	if q := u.Query(); err != nil || q.Get("limit") != "" || q.Get("continue") != "" || binary(want) || binary(got) {
		return true
	}
	s.Partly++
	s.lost.takeOut(t, s.want, want)
	s.lost.takeOut(t, s.got, got)
	return false
}

// takeOut leaves lost objects out of one side's answer.
func (l lost) takeOut(t Target, n *normalizer, a *Answer) {
	a.Events = l.kept(t, n, a.Events)
	m, ok := a.JSON.(map[string]any)
	if !ok {
		return
	}
	c := make(map[string]any, len(m))
	for k, v := range m {
		if k == "items" || k == "rows" {
			items, _ := v.([]any)
			v = append([]any{}, l.kept(t, n, items)...) // null and empty are the same here
		}
		c[k] = v
	}
	a.JSON = c
}

// kept are the items, rows or events that show no lost object. The columns of a table,
// which only its first event has, stay.
func (l lost) kept(t Target, n *normalizer, in []any) []any {
	if in == nil {
		return nil
	}
	out := []any{}
	var columns any
	for _, x := range in {
		collection := lostKey(t.Collection)
		name := first(x, "metadata.name", "object.metadata.name", "object.rows[0].object.metadata.name", "cells[0]", "object.rows[0].cells[0]")
		if ns := first(x, "metadata.namespace", "object.metadata.namespace", "object.rows[0].object.metadata.namespace"); ns != "" {
			collection = "namespaces/" + ns + "/" + resourceOf(collection)
		}
		if l.has(n.text(collection + "/" + name)) {
			if c, _ := scenario.Get(x, "object.columnDefinitions"); c != nil {
				columns = c
			}
			continue
		}
		if columns != nil {
			x, columns = withColumns(x, columns), nil
		}
		out = append(out, x)
	}
	return out
}

// withColumns is an event whose table has the columns of one that is left out.
func withColumns(event, columns any) any {
	e, _ := event.(map[string]any)
	table, _ := e["object"].(map[string]any)
	if table == nil || table["kind"] != "Table" || table["columnDefinitions"] != nil {
		return event
	}
	e, table = maps.Clone(e), maps.Clone(table)
	table["columnDefinitions"] = columns
	e["object"] = table
	return e
}

// first is the first of several places in a value that holds something.
func first(x any, places ...string) string {
	for _, p := range places {
		if v, ok := scenario.Get(x, p); ok && v != nil {
			return fmt.Sprint(v)
		}
	}
	return ""
}
