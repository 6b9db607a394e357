package promise

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/record"
)

// The parts of the example about admission and the schemas of stored objects.

func formed(resource, name string, revision int, form string) *record.Object {
	return made(resource, "", name, "u-"+name+resource, revision, fmt.Sprintf(`meta:"labels":{%q:%q}`, Form, form))
}

// ruled is a config map that policies are about.
func ruled(revision int, mark, app, hooked string) *record.Object {
	return made("configmaps", "red", "v-0", "u-v-0", revision, fmt.Sprintf(`meta:"labels":{"app":%q,"hooked0":%q},"annotations":{%q:%q},
		"managedFields":[{"manager":"helm","operation":"Apply","fieldsV1":{"f:metadata":{"f:labels":{"f:app":{}},"f:annotations":{"f:%s":{}}}}}]`, app, hooked,
		history.MarkAnnotation, mark, history.MarkAnnotation))
}

func limitedPod(revision int, cpu string) *record.Object {
	o := made("pods", "red", "l-0", "u-l-0", revision, fmt.Sprintf(`"spec":{"containers":[{"resources":{"limits":{"cpu":%q}}}]}`, cpu))
	o.Meta.Annotations = map[string]string{history.MarkAnnotation: "k3"}
	return o
}

const schemaOfToday = `"spec":{"versions":[{"schema":{"openAPIV3Schema":{"properties":{"spec":{"properties":{"size":{"type":"integer","maximum":5}}}}}}}]}`

func sized(revision, size int) *record.Object {
	return made("d2s", "red", "c", "u-c", revision, fmt.Sprintf(`"spec":{"size":%d}`, size))
}

func thing(began, code int, name string) record.Call {
	c := record.Call{Verb: "get", Resource: Things, Name: "k9", Variant: "x0", Began: time.Duration(began), Ended: time.Duration(began + 1), Code: code}
	if code == 200 {
		c.Object = made(Things, "", name, "", 1, "")
	}
	return c
}

// admit adds calls after the first five, and changes.
func admit(r *record.Record) {
	written := func(began int, o *record.Object, mark string) record.Call {
		return record.Call{Verb: "create", Resource: o.Resource, Namespace: "red", Name: o.Meta.Name, Mark: mark, Began: time.Duration(began),
			Ended: time.Duration(began + 1), Code: 201, Object: o, Variant: "web"}
	}
	first, v, p := marked("x-0", 310, "k1"), ruled(311, "k2", "web", "green"), limitedPod(312, "100m")
	apply := written(104, v, "k2")
	apply.Verb, apply.Manager, apply.Set = "apply", "helm", []string{"/f:metadata/f:annotations/f:" + history.MarkAnnotation, "/f:metadata/f:labels/f:app"}
	create := written(106, p, "k3")
	create.Variant = ""
	refused := record.Call{Verb: "create", Resource: "configmaps", Namespace: "red", Name: "v-1", Mark: "k4", Variant: "db", Began: 108, Ended: 109, Code: 422,
		Message: "ValidatingAdmissionPolicy 'rule-0' with binding 'rule-0' denied request"}
	// A webhook reviews a write again and again, until its time is over.
	hook := record.Call{Verb: "create", Resource: "validatingwebhookconfigurations", Code: 201, Began: 120, Ended: 121}
	second := func(n, ended int, code int) record.Call {
		return record.Call{Verb: "patch", Resource: "services", Namespace: "red", Name: "busy", Code: code, Began: time.Duration(n) * time.Second,
			Ended: time.Duration(ended) * time.Second}
	}
	r.Limit = 10 * time.Second
	r.Calls = slices.Insert(r.Calls, 5, written(100, first, "k1"), apply, create, refused, thing(110, 200, "k9"), thing(112, 503, ""), hook, second(10, 20, 504),
		second(13, 14, 200), second(16, 17, 200), second(18, 19, 200))
	r.Tape = append(r.Tape, add(formed("validatingadmissionpolicies", "rule-0", 300, "plain")), add(formed("validatingadmissionpolicybindings", "rule-0", 301,
		"Allow")), add(formed("mutatingadmissionpolicies", "change-0", 302, "green")), add(formed("mutatingadmissionpolicybindings", "change-0", 303, "bound")),
		add(made("limitranges", "red", LimitRange, "u-range", 304, `"spec":{"limits":[{"default":{"cpu":"100m"},"max":{"cpu":"200m"}}]}`)),
		add(made("apiservices", "", "v1.x0"+ExtensionGroup, "u-x0", 305, "")), add(first), add(v), add(p),
		add(made("customresourcedefinitions", "", "d2s.storm.test", "u-d2", 320, schemaOfToday)))
	r.Backups = []record.Backup{{Revision: 3, NotBefore: 3, Objects: map[string]uint64{"namespaces//red": 1, "namespaces//green": 2, "podtemplates/green/p": 3}}}
	r.Rest["d2s"] = []*record.Object{sized(319, 9), sized(321, 3)}
}

// callOf is the call with a mark.
func callOf(r *record.Record, mark string) *record.Call {
	for i := range r.Calls {
		if r.Calls[i].Mark == mark {
			return &r.Calls[i]
		}
	}
	panic("no call has the mark " + mark)
}

// TestOrderOfAnEnd: a write that ends its object is answered with the revision before, which
// says nothing about the time in which that revision was made.
func TestOrderOfAnEnd(t *testing.T) {
	before, after, last := marked("x-1", 310, "k1"), marked("x-2", 400, "k2"), marked("x-1", 310, "k3")
	end := record.Call{Verb: "update", Resource: last.Resource, Namespace: last.Meta.Namespace, Name: "x-1", Mark: "k3", Began: 50, Ended: 60, Code: 200, Object: last}
	r := &record.Record{Calls: []record.Call{end}, Tape: []record.Event{add(before), add(after), {Type: history.Deleted, Object: marked("x-1", 500, "k1")}}}
	if got := newOrder(r).after(40); got != math.MaxUint64 {
		t.Errorf("before the end began, nothing newer than %d may have been there", got)
	}
	end.Object = marked("x-1", 310, "k1")
	end.Mark = "k1"
	r.Calls[0] = end
	if got := newOrder(r).after(40); got != 309 {
		t.Errorf("a write made 310 later, and %d may have been there before", got)
	}
}
