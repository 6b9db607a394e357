package compare

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/tools/differ/scenario"
)

func parse(t *testing.T, s string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func answer(t *testing.T, status int, body string) *Answer {
	return &Answer{Status: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(body), JSON: parse(t, body)}
}

func signatures(l []Diff) []string {
	var out []string
	for _, d := range l {
		out = append(out, d.Signature)
	}
	return out
}

func TestEqualAfterNormalisation(t *testing.T) {
	now := time.Now().UTC().Format(time.RFC3339)
	before := time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)
	object := func(uid, rv, at string) string {
		return fmt.Sprintf(`{"kind":"Pod","metadata":{"name":"gen-abcde","generateName":"gen-","namespace":"nsx1","uid":"%s","resourceVersion":"%s","creationTimestamp":"%s"},"spec":{"nodePort":3%s}}`, uid, rv, at, rv[:4])
	}
	s := NewSession("nsx1", Options{})
	st := &scenario.Step{Method: "POST", Path: "/api/v1/namespaces/${NS}/pods"}
	w := answer(t, 201, object("11111111-1111-1111-1111-111111111111", "1234", now))
	g := answer(t, 201, object("22222222-2222-2222-2222-222222222222", "2345", before))
	if d := s.Step(0, st, w, g); len(d) != 0 {
		t.Errorf("differences: %v", d)
	}
}

func TestTimesOfTheScenarioStay(t *testing.T) {
	n := newNormalizer("ns", Options{})
	for in, want := range map[string]string{"2020-01-01T00:00:00Z": "2020-01-01T00:00:00Z", time.Now().Format(time.RFC3339): "<time>",
		"00000000-0000-0000-0000-000000000001": "00000000-0000-0000-0000-000000000001", "x-11111111-2222-3333-4444-555555555555": "x-<uid>"} {
		if got := n.str("any", in); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}

func TestVersionsOfAnObjectAreNumbered(t *testing.T) {
	n := newNormalizer("ns", Options{})
	var got []string
	for _, rv := range []string{"10", "10", "15", "10"} {
		got = append(got, n.version("u", rv))
	}
	if want := []string{"<rv 1>", "<rv 1>", "<rv 2>", "<rv 1>"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
}

func refusal(causes string) string {
	return `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","message":"m","details":{"name":"x","causes":[` + causes + `]},"code":422}`
}

func TestCauses(t *testing.T) {
	a, b := `{"reason":"FieldValueRequired","field":"spec.a"}`, `{"reason":"FieldValueInvalid","field":"spec.l[3].b"}`
	c := `{"reason":"FieldValueForbidden","field":"spec.l[0].b"}`
	st := &scenario.Step{Method: "POST", Path: "/apis/apps/v1/namespaces/${NS}/deployments"}
	for _, x := range []struct {
		want, got string
		sig       []string
	}{
		{a + "," + b, a + "," + b, nil},
		{a + "," + b, a, []string{"POST deployments.apps | 422 causes -spec.l[].b/FieldValueInvalid"}},
		{a, a + "," + b, []string{"POST deployments.apps | 422 causes +spec.l[].b/FieldValueInvalid"}},
		{a + "," + b, b + "," + a, []string{"POST deployments.apps | 422 causes in another order"}},
		{b, c, []string{"POST deployments.apps | 422 causes ~spec.l[].b FieldValueInvalid, got FieldValueForbidden"}},
	} {
		d := NewSession("ns", Options{}).Step(0, st, answer(t, 422, refusal(x.want)), answer(t, 422, refusal(x.got)))
		if !reflect.DeepEqual(signatures(d), x.sig) {
			t.Errorf("%s against %s: %q, want %q", x.want, x.got, signatures(d), x.sig)
		}
	}
}

func TestConflictsOfManagers(t *testing.T) {
	cause := func(manager, field string) string {
		return `{"reason":"FieldManagerConflict","message":"conflict with \"` + manager + `\"","field":"` + field + `"}`
	}
	join := func(l ...string) string { return strings.Join(l, ",") }
	for _, x := range []struct {
		name, want, got string
		differs         bool
	}{
		{"managers in any order", join(cause("m", ".a"), cause("n", ".b")), join(cause("n", ".b"), cause("m", ".a")), false},
		{"fields of one in another order", join(cause("m", ".a"), cause("m", ".b")), join(cause("m", ".b"), cause("m", ".a")), true},
		{"another manager", cause("m", ".a"), cause("n", ".a"), false}, // compared by field only
		{"a repeated field", join(cause("m", ".s.b"), cause("m", ".s.b"), cause("m", ".x")), join(cause("m", ".s.a"), cause("m", ".s.b"), cause("m", ".x")), false},
		{"a repeated field without its place", join(cause("m", ".s.b"), cause("m", ".s.b")), join(cause("m", ".s.a"), cause("m", ".s.c")), true},
		{"a field that holds another", join(cause("m", ".s.b"), cause("m", ".s.b.x")), join(cause("m", ".s.a"), cause("m", ".s.b.x")), false},
		{"a field that holds none", join(cause("m", ".s.b"), cause("m", ".s.b")), join(cause("m", ".s.a"), cause("m", ".s.bx")), true},
		{"too few", join(cause("m", ".s.b"), cause("m", ".s.b")), cause("m", ".s.b"), true},
		{"another field", join(cause("m", ".a"), cause("m", ".b")), join(cause("m", ".a"), cause("m", ".c")), true},
	} {
		st := &scenario.Step{Method: "PATCH", Path: "/apis/apps/v1/namespaces/${NS}/deployments/a"}
		d := NewSession("ns", Options{}).Step(0, st, answer(t, 409, refusal(x.want)), answer(t, 409, refusal(x.got)))
		if len(d) > 0 != x.differs {
			t.Errorf("%s: %q", x.name, signatures(d))
		}
	}
}

func TestMessagesOnlyWhenAsked(t *testing.T) {
	w, g := `{"kind":"Status","apiVersion":"v1","message":"one","code":404}`, `{"kind":"Status","apiVersion":"v1","message":"two","code":404}`
	st := &scenario.Step{Method: "GET", Path: "/api/v1/nodes/x"}
	if d := NewSession("ns", Options{}).Step(0, st, answer(t, 404, w), answer(t, 404, g)); len(d) != 0 {
		t.Errorf("got %v", d)
	}
	if d := NewSession("ns", Options{Messages: true}).Step(0, st, answer(t, 404, w), answer(t, 404, g)); len(d) != 1 {
		t.Errorf("got %v", d)
	}
}

func TestNothingIsSaidOfAnObjectOnceItsStatesDiffer(t *testing.T) {
	pods := "/api/v1/namespaces/${NS}/pods"
	object := `{"kind":"Pod","metadata":{"name":"a"}}`
	list := func(pods string) string { return `{"kind":"PodList","items":[` + pods + `]}` }
	a, b, other := `{"metadata":{"name":"a"}}`, `{"metadata":{"name":"b"},"spec":{"x":1}}`, `{"metadata":{"name":"b"},"spec":{"x":2}}`
	for _, x := range []struct {
		name, method, path string
		want, got          string
		sig                []string
	}{
		{"itself", "GET", pods + "/a", object, `{"kind":"Pod"}`, nil},
		{"a subresource", "PUT", pods + "/a/status", object, `{"kind":"Pod"}`, nil},
		{"another object", "GET", pods + "/b", object, `{"kind":"Pod"}`, []string{"GET pods | ok -.metadata"}},
		{"its name in another namespace", "GET", "/api/v1/namespaces/x/pods/a", object, `{"kind":"Pod"}`, []string{"GET pods | ok -.metadata"}},
		{"a list of both", "GET", pods, list(a + "," + b), list(b), nil},
		{"the other one in the list", "GET", pods, list(a + "," + b), list(other), []string{"LIST pods | ok ~.items[].spec.x"}},
		{"a list of all namespaces", "GET", "/api/v1/pods", list(`{"metadata":{"name":"a","namespace":"ns"}},{"metadata":{"name":"a","namespace":"x"}}`), list(`{"metadata":{"name":"a","namespace":"x"}}`), nil},
		{"the name elsewhere in it", "GET", "/api/v1/pods", list(`{"metadata":{"name":"a","namespace":"x"}}`), list(""), []string{"LIST pods | ok -.items[]"}},
		{"a table", "GET", pods, `{"kind":"Table","rows":[{"cells":["a"]},{"cells":["b"]}]}`, `{"kind":"Table","rows":[{"cells":["b"]}]}`, nil},
		{"a page", "GET", pods + "?limit=1", list(a), list(b), nil},
		{"another resource", "GET", "/api/v1/namespaces/${NS}/services", list(a), list(""), []string{"LIST services | ok -.items[]"}},
		{"made again", "POST", pods, object, `{"kind":"Pod","metadata":{"name":"a"},"spec":{}}`, nil},
	} {
		s := NewSession("ns", Options{})
		put := &scenario.Step{Method: "PUT", Path: pods + "/a"}
		if d := s.Step(0, put, answer(t, 200, object), answer(t, 422, refusal(""))); len(d) != 1 || d[0].Class != "status" {
			t.Errorf("%s: got %v", x.name, d)
		}
		d := s.Step(1, &scenario.Step{Method: x.method, Path: x.path}, answer(t, 200, x.want), answer(t, 200, x.got))
		if !reflect.DeepEqual(signatures(d), x.sig) {
			t.Errorf("%s: %q, want %q", x.name, signatures(d), x.sig)
		}
	}
}

func TestADecisionCanPartAnObject(t *testing.T) {
	deletes := func(st *scenario.Step, _ []Diff) bool { return st.Method == "DELETE" }
	remove := &scenario.Step{Method: "DELETE", Path: "/api/v1/namespaces/${NS}/pods/a?dryRun=All"}
	get := &scenario.Step{Method: "GET", Path: "/api/v1/namespaces/${NS}/pods/a"}
	watch := &scenario.Step{Method: "GET", Path: "/api/v1/namespaces/${NS}/pods?watch=1", Watch: &scenario.Watch{}}
	done, missing, object := `{"kind":"Status","apiVersion":"v1","status":"Success"}`, `{"kind":"Status","apiVersion":"v1","code":404}`, `{"kind":"Pod","metadata":{"name":"a"}}`
	event := func(what, name string) any {
		return map[string]any{"type": what, "object": map[string]any{"metadata": map[string]any{"name": name}}}
	}
	for _, x := range []struct {
		name     string
		status   int // of the delete
		diverges func(*scenario.Step, []Diff) bool
		said     int
		refused  func(*scenario.Step) bool
	}{{"no decision", 200, nil, 2, nil}, {"a decision", 200, deletes, 0, nil}, {"a decision about a write that nobody made", 409, deletes, 2, nil},
		{"a decision about a refused write", 409, nil, 0, func(st *scenario.Step) bool { return deletes(st, nil) }},
		{"a decision about a refused write that was made", 200, nil, 2, func(st *scenario.Step) bool { return deletes(st, nil) }}} {
		s := NewSession("ns", Options{Diverges: x.diverges, RefusedDiverges: x.refused})
		if d := s.Step(0, remove, answer(t, x.status, done), answer(t, x.status, done)); len(d) != 0 {
			t.Errorf("%s: %v", x.name, d)
		}
		said := len(s.Step(1, get, answer(t, 404, missing), answer(t, 200, object)))
		events := &Answer{Status: 200, Stream: true, Events: []any{event("DELETED", "a"), event("ADDED", "b")}}
		said += len(s.Step(2, watch, events, &Answer{Status: 200, Stream: true, Events: []any{event("ADDED", "b")}}))
		if said != x.said || len(events.Events) != 2 {
			t.Errorf("%s: %d differences, want %d; %d events are left of the answer", x.name, said, x.said, len(events.Events))
		}
		if skipped := s.Skipped + s.Partly; (skipped == 2) != (x.said == 0) {
			t.Errorf("%s: %d steps were counted", x.name, skipped)
		}
	}
}

// A delete of a collection may stop at an object in different states, and delete others
// before; the columns of a table are in its first event, of whichever object.
func TestCollectionsWithLostObjects(t *testing.T) {
	put := &scenario.Step{Method: "PUT", Path: "/api/v1/namespaces/${NS}/pods/a"}
	remove := &scenario.Step{Method: "DELETE", Path: "/api/v1/namespaces/${NS}/pods"}
	get := &scenario.Step{Method: "GET", Path: "/api/v1/namespaces/${NS}/pods/b"}
	watch := &scenario.Step{Method: "GET", Path: "/api/v1/namespaces/${NS}/pods?watch=true"}
	event := func(name string, columns any) any {
		return map[string]any{"type": "ADDED", "object": map[string]any{"kind": "Table", "columnDefinitions": columns, "rows": []any{map[string]any{"cells": []any{name}}}}}
	}
	const list, conflict = `{"kind":"PodList","items":[]}`, `{"kind":"Status","reason":"Conflict","details":{"name":"a"}}`
	s := NewSession("ns", Options{})
	s.Step(0, put, answer(t, 404, `{}`), answer(t, 201, `{"kind":"Pod","metadata":{"name":"a"}}`))
	columns := []any{map[string]any{"name": "Name"}}
	events := func(l ...any) *Answer { return &Answer{Status: 200, Stream: true, Events: l} }
	if d := s.Step(1, watch, events(event("b", columns)), events(event("a", columns), event("b", nil))); len(d) != 0 {
		t.Errorf("columns of a lost object: %v", d)
	}
	if d := s.Step(2, remove, answer(t, 200, list), answer(t, 409, conflict)); len(d) != 0 {
		t.Errorf("a lost object: %v", d)
	}
	if d := s.Step(3, get, answer(t, 404, `{}`), answer(t, 200, `{"kind":"Pod"}`)); len(d) != 0 {
		t.Errorf("the rest of the collection: %v", d)
	}
	s = NewSession("ns", Options{})
	if d := s.Step(0, remove, answer(t, 409, conflict), answer(t, 422, conflict)); len(d) != 1 {
		t.Errorf("without a lost object: %v", d)
	}
	if d := s.Step(1, get, answer(t, 404, `{}`), answer(t, 200, `{"kind":"Pod"}`)); len(d) != 0 {
		t.Errorf("the rest of a collection that was deleted in part: %v", d)
	}
}

func TestADifferenceIsSaidOnce(t *testing.T) {
	s := NewSession("ns", Options{})
	st := &scenario.Step{Method: "GET", Path: "/api/v1/namespaces/${NS}/pods/a"}
	w, g := answer(t, 200, `{"kind":"Pod","spec":{"a":1}}`), answer(t, 200, `{"kind":"Pod","spec":{}}`)
	if d := s.Step(0, st, w, g); len(d) != 1 {
		t.Errorf("got %v", d)
	}
	list := &scenario.Step{Method: "GET", Path: "/api/v1/namespaces/${NS}/pods"}
	w, g = answer(t, 200, `{"kind":"PodList","items":[{"spec":{"a":1}}]}`), answer(t, 200, `{"kind":"PodList","items":[{"spec":{}}]}`)
	for i := 1; i < 3; i++ {
		if d := s.Step(i, list, w, g); len(d) != 0 {
			t.Errorf("got %v", d)
		}
	}
}

func TestTargetOf(t *testing.T) {
	for _, x := range []struct {
		method, path, ct, verb, resource, object string
	}{
		{"GET", "/api/v1/namespaces/${NS}/pods?limit=1", "", "LIST", "pods", ""},
		{"GET", "/api/v1/namespaces/${NS}", "", "GET", "namespaces", "/api/v1/namespaces/${NS}"},
		{"PUT", "/api/v1/namespaces/x/status", "", "PUT", "namespaces/status", "/api/v1/namespaces/x"},
		{"PATCH", "/apis/apps/v1/namespaces/n/deployments/d/scale", "application/apply-patch+yaml", "PATCH-apply", "deployments.apps/scale", "/apis/apps/v1/namespaces/n/deployments/d"},
		{"PATCH", "/api/v1/nodes/n", "application/strategic-merge-patch+json", "PATCH-strategic", "nodes", "/api/v1/nodes/n"},
		{"PATCH", "/api/v1/nodes/n", "application/merge-patch+json", "PATCH-merge", "nodes", "/api/v1/nodes/n"},
		{"DELETE", "/api/v1/nodes", "", "DELETECOLLECTION", "nodes", ""},
		{"GET", "/version", "", "GET", "version", ""},
	} {
		got := TargetOf(&scenario.Step{Method: x.method, Path: x.path, Headers: map[string]string{"Content-Type": x.ct}})
		if got.Verb != x.verb || got.Resource != x.resource || got.Object != x.object {
			t.Errorf("%s %s: %+v", x.method, x.path, got)
		}
	}
}

func TestManagedFieldsByEntry(t *testing.T) {
	entry := func(m, f string) string {
		return `{"manager":"` + m + `","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:` + f + `":{}}}}`
	}
	object := func(entries string) string {
		return `{"kind":"ConfigMap","metadata":{"managedFields":[` + entries + `]}}`
	}
	st := &scenario.Step{Method: "GET", Path: "/api/v1/namespaces/${NS}/configmaps/a"}
	d := NewSession("ns", Options{}).Step(0, st, answer(t, 200, object(entry("a", "x")+","+entry("b", "y"))), answer(t, 200, object(entry("b", "z")+","+entry("a", "x"))))
	want := []string{"GET configmaps | ok managedFields -.f:data.f:y", "GET configmaps | ok managedFields +.f:data.f:z"}
	if !reflect.DeepEqual(signatures(d), want) {
		t.Errorf("got %q", signatures(d))
	}
}

func TestBinaryTree(t *testing.T) {
	// 1: "abc", 2: {1: 150}, 3: 7
	b := []byte{0x0a, 3, 'a', 'b', 'c', 0x12, 3, 0x08, 0x96, 0x01, 0x18, 7}
	got, err := tree(b, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"1": []any{"abc"}, "2": []any{map[string]any{"1": []any{int64(150)}}}, "3": []any{int64(7)}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
	for i := 1; i < len(b); i++ {
		_, _ = tree(b[:i], 0) // must not panic
	}
}

func TestCachedListsHaveNoOrder(t *testing.T) {
	w, g := answer(t, 200, `{"kind":"L","items":[{"metadata":{"name":"b"}},{"metadata":{"name":"a"}}]}`), answer(t, 200, `{"kind":"L","items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}`)
	st := &scenario.Step{Method: "GET", Path: "/api/v1/nodes?resourceVersion=0"}
	if d := NewSession("ns", Options{}).Step(0, st, w, g); len(d) != 0 {
		t.Errorf("got %v", d)
	}
}
