package promise

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/record"
)

// made is an object at a revision, with the rest of its content in JSON.
func made(resource, namespace, name, uid string, revision int, rest string) *record.Object {
	if rest != "" {
		rest = "," + rest
	}
	meta := fmt.Sprintf(`"name":%q,"namespace":%q,"uid":%q,"resourceVersion":"%d"`, name, namespace, uid, revision)
	if inner, ok := strings.CutPrefix(rest, ",meta:"); ok {
		meta, rest = meta+","+inner, ""
	}
	o, err := record.Parse(resource, []byte(`{"metadata":{`+meta+`}`+rest+`}`))
	if err != nil {
		panic(err)
	}
	return o
}

func marked(name string, revision int, mark string) *record.Object {
	return made("configmaps", "red", name, "u-"+name, revision,
		fmt.Sprintf(`meta:"annotations":{%q:%q},"managedFields":[{"fieldsV1":{"f:metadata":{"f:annotations":{"f:%s":{}}}}}]`, history.MarkAnnotation,
			mark, history.MarkAnnotation))
}

func add(o *record.Object) record.Event  { return record.Event{Type: history.Added, Object: o} }
func mod(o *record.Object) record.Event  { return record.Event{Type: history.Modified, Object: o} }
func gone(o *record.Object) record.Event { return record.Event{Type: history.Deleted, Object: o} }

func call(began int, verb, name, mark string, code int, o *record.Object) record.Call {
	return record.Call{Verb: verb, Resource: "configmaps", Namespace: "red", Name: name, Mark: mark, Began: time.Duration(began),
		Ended: time.Duration(began + 1), Code: code, Object: o}
}

func event(kind, key string, revision uint64) history.Event {
	return history.Event{Type: kind, State: history.State{Key: "d0s/red/" + key, Revision: revision}}
}

const limits = `"spec":{"hard":{"count/podtemplates":"1"}},"status":{"hard":{"count/podtemplates":"1"},"used":{"count/podtemplates":"%d"}}`

func serving(name string, revision int, ip string, port int) *record.Object {
	return made("services", "red", name, "u-"+name, revision,
		fmt.Sprintf(`"spec":{"type":"NodePort","clusterIPs":[%q],"ports":[{"protocol":"TCP","nodePort":%d}]}`, ip, port))
}

func pod(revision int, node string) *record.Object {
	return made("pods", "red", "web", "u-web", revision, fmt.Sprintf(`"spec":{"nodeName":%q}`, node))
}

func owning(name, owner string, revision int) *record.Object {
	return made("podtemplates", "red", name, "u-"+name, revision, fmt.Sprintf(`meta:"ownerReferences":[{"kind":"ConfigMap","name":%q,"uid":"u-%s"}]`,
		owner, owner))
}

// example is a record that keeps all promises.
func example() *record.Record {
	red := made("namespaces", "", "red", "u-red", 1, "")
	green := made("namespaces", "", "green", "u-green", 2, "")
	inside := made("podtemplates", "green", "p", "u-p", 3, "")
	d0 := made("customresourcedefinitions", "", "d0s.storm.test", "u-d0", 10, "")
	d1 := made("customresourcedefinitions", "", "d1s.storm.test", "u-d1", 12, "")
	owner, dependent := made("configmaps", "red", "o", "u-o", 40, ""), owning("t", "o", 41)
	stays, kept := made("configmaps", "red", "stays", "u-stays", 70, ""), owning("kept", "stays", 71)
	quota := func(revision, used int) *record.Object {
		return made("resourcequotas", "green", "limit", "u-limit", revision, fmt.Sprintf(limits, used))
	}
	again := func(o *record.Object, revision uint64) *record.Object {
		o2 := *o
		o2.Revision = revision
		return &o2
	}
	green2, inside2 := again(green, 100), again(inside, 201)
	watch := func(name string, events ...history.Event) *history.Watch {
		return &history.Watch{Name: name, Options: history.Options{Resource: "d0s"}, Events: events}
	}
	shown := func() []history.Event {
		return []history.Event{event("ADDED", "a", 14), event("MODIFIED", "a", 15), event("ADDED", "b", 16), event("DELETED", "a", 17),
			event("DELETED", "b", 18)}
	}
	wrote := record.Call{Verb: "patch", Resource: "d0s", Namespace: "red", Name: "a", Mark: "x", Began: 5, Ended: 6, Code: 200,
		Object: made("d0s", "red", "a", "u-a", 15, fmt.Sprintf(`meta:"annotations":{%q:"x"}`, history.MarkAnnotation))}
	bound := func(revision int) *record.Object {
		return made("rolebindings", "red", Binding+"ann", "u-ann", revision, "")
	}
	binding := func(began int, verb string, code int) record.Call {
		c := record.Call{Verb: verb, Resource: "rolebindings", Namespace: "red", Name: Binding + "ann", Code: code, Began: time.Duration(began),
			Ended: time.Duration(began + 5)}
		if verb == "create" {
			c.Object = bound(47 + began/10)
		}
		return c
	}
	ask := func(began, code int) record.Call {
		c := call(began, "get", "any", "", code, nil)
		c.User = "ann"
		return c
	}
	managed := made("configmaps", "red", "managed", "u-managed", 80,
		`meta:"labels":{"app":"web"},"managedFields":[{"manager":"a","operation":"Apply","fieldsV1":{"f:metadata":{"f:labels":{".":{},"f:app":{}}}}}]`)
	r := &record.Record{
		History: &history.History{},
		Calls: []record.Call{
			call(1, "create", "m-0", "m1", 201, marked("m-0", 5, "m1")), call(3, "get", "m-0", "", 200, marked("m-0", 5, "m1")),
			call(5, "patch", "m-0", "m2", 200, marked("m-0", 6, "m2")), call(7, "delete", "m-0", "", 200, nil), call(9, "get", "m-0", "", 404, nil),
			wrote, {Verb: "delete", Resource: "configmaps", Namespace: "red", Name: "o", Code: 200, Began: 20, Ended: 21},
			binding(30, "create", 201), ask(40, 404), binding(50, "delete", 200), ask(52, 404), ask(60, 403), binding(70, "create", 201), ask(72,
				403), ask(80, 404),
			{Verb: "create", Resource: "pods", Sub: "binding", Namespace: "red", Name: "web", Code: 201},
		},
		Tape: []record.Event{
			add(red), add(green), add(inside), gone(again(inside, 4)), gone(again(green, 5)),
			add(d0), add(d1), gone(again(d0, 19)),
			add(serving("s", 30, "10.9.0.2", 30001)), gone(again(serving("s", 31, "10.9.0.2", 30001), 31)), add(serving("v", 32, "10.9.0.2", 30001)),
			add(owner), add(dependent), gone(again(owner, 42)), gone(again(dependent, 43)), add(stays), add(kept), add(managed), add(marked("m-0", 5,
				"m1")), mod(marked("m-0", 6, "m2")), add(pod(90, "")), mod(pod(91, "n1")),
			add(made("roles", "red", Reader, "u-role", 16, `"rules":[{"resources":["configmaps"]}]`)), add(bound(50)), gone(bound(51)), add(bound(54)),
			add(green2), add(quota(101, 0)), mod(quota(200, 1)), add(inside2),
		},
		Streams: []record.Stream{
			{Definition: "u-d0", Resource: "d0s", Watch: watch("1", shown()...), Opened: 1, Ended: 90, Whole: true},
			{Definition: "u-d0", Resource: "d0s", Watch: watch("2", append(shown(), event("ADDED", "next", 25))...), Opened: 1, Ended: 90, Whole: true},
			{Definition: "u-d1", Resource: "d1s", Watch: watch("3"), Opened: 1},
		},
		Rest: map[string][]*record.Object{"resourcequotas": {quota(200, 1)}, "podtemplates": {inside2, kept}, "configmaps": {stays}},
	}
	admit(r)
	return r
}

// TestPromises plants one fault at a time into the example, and each is found.
func TestPromises(t *testing.T) {
	if wrong := Check(example()); len(wrong) > 0 {
		t.Fatalf("the example breaks %v", wrong)
	}
	drop := func(r *record.Record, stream, i int) {
		w := r.Streams[stream].Watch
		w.Events = slices.Delete(w.Events, i, i+1)
	}
	tape := func(r *record.Record, kind, key string) int {
		return slices.IndexFunc(r.Tape, func(e record.Event) bool { return e.Type == kind && e.Key() == key })
	}
	without := func(r *record.Record, kind, key string) {
		r.Tape = slices.Delete(r.Tape, tape(r, kind, key), tape(r, kind, key)+1)
	}
	ask60 := func(r *record.Record) int {
		return slices.IndexFunc(r.Calls, func(c record.Call) bool { return c.User == "ann" && c.Began == 60 })
	}
	tested := make(map[string]bool)
	for _, test := range []struct {
		promise, name string
		spoil         func(r *record.Record)
	}{
		{"timely", "a request without an end", func(r *record.Record) { r.Late = []record.Late{{What: "GET /"}} }},
		{"answered", "a mistake of the server", func(r *record.Record) { r.Calls[0].Code = 500 }},
		{"answered", "a lost connection", func(r *record.Record) { r.Calls[1].Code = 0 }},
		{"linear", "a stale read", func(r *record.Record) {
			r.Calls[3], r.Calls[4] = call(7, "get", "m-0", "", 200, marked("m-0", 5, "m1")), call(9, "delete", "m-0", "", 200, nil)
		}},
		{"linear", "a write is lost", func(r *record.Record) { r.Calls[1] = call(3, "get", "m-0", "", 404, nil) }},
		{"linear", "a create of what is there", func(r *record.Record) { r.Calls[2] = call(5, "create", "m-0", "m2", 201, marked("m-0", 6, "m2")) }},
		{"linear", "a revision is used again", func(r *record.Record) { r.Calls[2].Object = marked("m-0", 5, "m2") }},
		{"linear", "a deletion that did nothing", func(r *record.Record) { r.Calls[4] = call(9, "get", "m-0", "", 200, marked("m-0", 6, "m2")) }},
		{"streams", "a lost event", func(r *record.Record) { drop(r, 0, 1) }},
		{"streams", "a doubled event", func(r *record.Record) {
			w := r.Streams[1].Watch
			w.Events = slices.Insert(w.Events, 2, w.Events[1])
		}},
		{"streams", "two events are swapped", func(r *record.Record) { e := r.Streams[0].Watch.Events; e[1], e[2] = e[2], e[1] }},
		{"streams", "an acknowledged write that nobody was shown", func(r *record.Record) { drop(r, 0, 1); drop(r, 1, 1) }},
		{"ended", "a stream outlives its definition", func(r *record.Record) { r.Streams[0].Ended = 0 }},
		{"ended", "a stream ends before the last events", func(r *record.Record) { drop(r, 0, 4) }},
		{"ended", "a stream ends too early", func(r *record.Record) { r.Streams[2].Ended, r.Streams[2].Whole = 9, true }},
		{"survivors", "an object outlives its definition", func(r *record.Record) { r.Streams[0].Watch.Events[0].Revision = 9 }},
		{"housed", "an object outlives its namespace", func(r *record.Record) { without(r, "DELETED", "podtemplates/green/p") }},
		{"housed", "an object is made in no namespace", func(r *record.Record) {
			r.Tape = slices.Insert(r.Tape, 5, add(made("podtemplates", "green", "q", "u-q", 6, "")))
		}},
		{"closed", "an object is made while its namespace ends", func(r *record.Record) {
			ends := mod(made("namespaces", "", "green", "u-green", 150, `meta:"deletionTimestamp":"now"`))
			r.Tape = slices.Insert(r.Tape, tape(r, "MODIFIED", "resourcequotas/green/limit"), ends)
		}},
		{"closed", "an object is made while its definition ends", func(r *record.Record) {
			r.Calls = append(r.Calls, record.Call{Verb: "create", Resource: "d0s", Namespace: "red", Name: "c", Code: 201,
				Object: made("d0s", "red", "c", "u-c", 20, "")})
		}},
		{"owned", "an address is given twice", func(r *record.Record) {
			without(r, "DELETED", "services/red/s")
			r.Tape[tape(r, "ADDED", "services/red/v")] = add(serving("v", 32, "10.9.0.2", 30002))
		}},
		{"owned", "a port is given twice", func(r *record.Record) {
			without(r, "DELETED", "services/red/s")
			r.Tape[tape(r, "ADDED", "services/red/v")] = add(serving("v", 32, "10.9.0.3", 30001))
		}},
		{"bounded", "one object too many", func(r *record.Record) {
			r.Tape = append(r.Tape, add(made("podtemplates", "green", "q", "u-q", 202, "")))
		}},
		{"bounded", "a charge above the bound", func(r *record.Record) {
			r.Tape = append(r.Tape, mod(made("resourcequotas", "green", "limit", "u-limit", 203, fmt.Sprintf(limits, 2))))
		}},
		{"paid", "an object is made without a charge", func(r *record.Record) { without(r, "MODIFIED", "resourcequotas/green/limit") }},
		{"paid", "an object is charged afterwards", func(r *record.Record) {
			charge := r.Tape[tape(r, "MODIFIED", "resourcequotas/green/limit")]
			without(r, "MODIFIED", "resourcequotas/green/limit")
			r.Tape = append(r.Tape, charge)
		}},
		{"charged", "a charge that is not given back", func(r *record.Record) { r.Rest["podtemplates"] = r.Rest["podtemplates"][1:] }},
		{"collected", "nobody collects what has no owner", func(r *record.Record) { r.Rest["configmaps"] = nil }},
		{"sheltered", "an object with an owner is collected", func(r *record.Record) { r.Tape = append(r.Tape, gone(owning("kept", "stays", 300))) }},
		{"finalized", "an object is gone with its finalizer", func(r *record.Record) {
			waits := made("podtemplates", "red", "w", "u-w", 310, `meta:"finalizers":["storm.test/wait"]`)
			r.Tape = append(r.Tape, add(waits), gone(waits))
		}},
		{"revoked", "a right counts after it was taken away", func(r *record.Record) { r.Calls[ask60(r)].Code = 404 }},
		{"revoked", "a right counts that a role has no more", func(r *record.Record) {
			r.Tape[tape(r, "ADDED", "roles/red/reader")].Content["rules"] = nil
		}},
		{"granted", "a right that was given does not count", func(r *record.Record) { r.Calls[len(r.Calls)-2].Code = 403 }},
		{"fields", "a field without an owner", func(r *record.Record) {
			r.Tape[tape(r, "ADDED", "configmaps/red/managed")].Meta.ManagedFields[0].Fields = nil
		}},
		{"fields", "an owner of no field", func(r *record.Record) { r.Tape[tape(r, "ADDED", "configmaps/red/managed")].Meta.Labels = nil }},
		{"obeyed", "a policy is not obeyed", func(r *record.Record) { callOf(r, "k2").Object.Meta.Labels["app"] = "db" }},
		{"obeyed", "a policy changes nothing", func(r *record.Record) { delete(callOf(r, "k2").Object.Meta.Labels, "hooked0") }},
		{"obeyed", "a policy is obeyed that is not there", func(r *record.Record) { without(r, "ADDED", "validatingadmissionpolicybindings//rule-0") }},
		{"limited", "a default is missing", func(r *record.Record) { without(r, "ADDED", "limitranges/red/range") }},
		{"limited", "a bound does not count", func(r *record.Record) {
			callOf(r, "k3").Variant, callOf(r, "k3").Object = "300m", limitedPod(312, "300m")
		}},
		{"limited", "a bound counts that is not there", func(r *record.Record) {
			r.Calls = append(r.Calls, record.Call{Verb: "create", Resource: "pods", Namespace: "blue", Name: "l-1", Code: 403, Message: "maximum cpu usage"})
		}},
		{"routed", "an extension server is not asked", func(r *record.Record) { r.Calls = append(r.Calls, thing(114, 404, "")) }},
		{"routed", "an extension server is asked that is not registered", func(r *record.Record) { without(r, "ADDED", "apiservices//v1.x0.extension.test") }},
		{"routed", "an answer to another request", func(r *record.Record) { r.Calls = append(r.Calls, thing(114, 200, "k8")) }},
		{"applied", "a manager owns less than it applied", func(r *record.Record) { callOf(r, "k2").Object.Meta.ManagedFields = nil }},
		{"applied", "a manager owns more than it applied", func(r *record.Record) { callOf(r, "k2").Set = callOf(r, "k2").Set[1:] }},
		{"valid", "an object is stored that its schema refuses", func(r *record.Record) { r.Rest["d2s"][1] = sized(321, 6) }},
		{"answered", "a write has no end though nobody disturbs it", func(r *record.Record) { r.Calls[14].Name, r.Calls[15].Name = "other", "other" }},
		{"answered", "a write ends before its time", func(r *record.Record) { r.Limit = 11 * time.Second }},
		{"answered", "a write has no end, and no webhook reviews it", func(r *record.Record) { r.Calls[11].Code = 409 }},
		{"returned", "a view of the store stays", func(r *record.Record) {
			r.Before, r.After = record.Figures{Goroutines: 100}, record.Figures{Goroutines: 100, Views: 1}
		}},
		{"bound", "two bindings of one pod", func(r *record.Record) { r.Calls = append(r.Calls, r.Calls[len(r.Calls)-1]) }},
		{"bound", "a pod moves", func(r *record.Record) { r.Tape = append(r.Tape, mod(pod(92, "n2"))) }},
		{"budgeted", "a budget is overdrawn", func(r *record.Record) {
			r.Tape = append(r.Tape, add(made("poddisruptionbudgets", "red", "b", "u-b", 93, `"status":{"disruptionsAllowed":-1}`)))
		}},
		{"stored", "an acknowledged write is lost", func(r *record.Record) { without(r, "MODIFIED", "configmaps/red/m-0") }},
		{"copied", "a backup lacks an object", func(r *record.Record) { delete(r.Backups[0].Objects, "namespaces//red") }},
		{"copied", "a backup has a later state", func(r *record.Record) { r.Backups[0].Objects["namespaces//red"] = 9 }},
		{"copied", "a backup is too old", func(r *record.Record) { r.Backups[0].NotBefore = 4 }},
		{"returned", "goroutines stay", func(r *record.Record) {
			r.Before, r.After = record.Figures{Goroutines: 100}, record.Figures{Goroutines: 300}
		}},
		{"stops", "a stop hangs", func(r *record.Record) { r.Exit = "it did not stop" }},
	} {
		r := example()
		test.spoil(r)
		tested[test.promise] = true
		if found := Check(r); !slices.ContainsFunc(found, func(v Violation) bool { return v.Promise == test.promise }) {
			t.Errorf("%s, %s: not found, only %v", test.promise, test.name, found)
		}
	}
	for _, p := range All() {
		if !tested[p.Name] || !strings.HasSuffix(p.Sentence, ".") {
			t.Errorf("%s has no mutant, or no sentence", p.Name)
		}
	}
}

// TestUnanswered: a write without an answer may have happened, or not, also later.
func TestUnanswered(t *testing.T) {
	lost := call(3, "patch", "m-0", "m2", 0, nil)
	create := call(1, "create", "m-0", "m1", 201, marked("m-0", 5, "m1"))
	for name, calls := range map[string][]record.Call{
		"it happened":       {create, lost, call(5, "get", "m-0", "", 200, marked("m-0", 6, "m2"))},
		"it did not":        {create, lost, call(5, "get", "m-0", "", 200, marked("m-0", 5, "m1"))},
		"it happened later": {create, lost, call(5, "get", "m-0", "", 200, marked("m-0", 5, "m1")), call(7, "get", "m-0", "", 200, marked("m-0", 6, "m2"))},
	} {
		if wrong := linear(&record.Record{Calls: calls}); len(wrong) > 0 {
			t.Errorf("%s: %v", name, wrong)
		}
	}
	rewritten := []record.Call{create, call(5, "get", "m-0", "", 200, marked("m-0", 7, "m1"))}
	if linear(&record.Record{Calls: rewritten, Migrated: true}) != nil || linear(&record.Record{Calls: rewritten}) == nil {
		t.Error("only a migration gives a state another revision")
	}
	both := []record.Call{create, lost, call(5, "get", "m-0", "", 200, marked("m-0", 6, "m2")), call(7, "get", "m-0", "", 200, marked("m-0", 5, "m1"))}
	if linear(&record.Record{Calls: both}) == nil {
		t.Error("a write that was seen is undone, and nothing is found")
	}
}
