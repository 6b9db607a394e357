package objects_test

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	generated "github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server/internal/harness"
	"github.com/capstan-dev/capstan/server/internal/kinds/conversion"
	"github.com/capstan-dev/capstan/server/internal/kinds/policy"
)

// fullLife is the additional checks on an object with every member.
type fullLife struct {
	fillings *fillings
	round    int
	tried    []byte          // the result of a dry create
	applied  []byte          // the result of a dry apply
	seen     map[string]bool // members in answers, of all kinds
}

// TestFullKinds does the same with objects that have every member of their schemas, and
// checks that none is left out.
func TestFullKinds(t *testing.T) {
	f := readFillings(t)
	h := harness.Start(t, withEverything)
	class := `{"metadata":{"name":"sandbox"},"handler":"sandbox","overhead":{"podFixed":{"cpu":"10m"}}}`
	if got := h.Send("POST", "/apis/node."+profile.GroupSuffix+"/v1/runtimeclasses", "application/json", []byte(class)); got.Code != http.StatusCreated {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	all, seen := map[string]bool{}, map[string]bool{}
	kinds, ran := 0, 0
	for _, gv := range generated.New(policy.New(time.Now), conversion.Hooks{}) {
		for i := range gv.Resources {
			res := &gv.Resources[i]
			if !res.Stored || !res.Verbs.Has(api.VerbCreate|api.VerbDelete) {
				continue
			}
			kinds++
			f.reach(gv.Table, res.Type, all, map[schema.Ref]bool{})
			t.Run(strings.ReplaceAll(gv.APIVersion(), "/", "_")+"_"+res.Plural, func(t *testing.T) {
				ran++
				sub := *h
				sub.T = t
				for round := range max(f.Rounds[res.Kind], 1) {
					(&life{Server: &sub, res: res, full: &fullLife{fillings: f, round: round, seen: seen}}).live()
				}
			})
		}
	}
	if ran < kinds || t.Failed() {
		return // the rest is about all of them
	}
	var missing []string
	for member := range all {
		if !seen[member] {
			missing = append(missing, member)
		}
	}
	slices.Sort(missing)
	if len(missing) > 0 {
		t.Errorf("of %d members these were in no object; testdata/full.yaml says what to fill in, or why not:\n%s", len(all), strings.Join(missing, "\n"))
	}
	if unused := f.unused(); len(unused) > 0 {
		t.Errorf("testdata/full.yaml says what no object needs; remove it:\n%s", strings.Join(unused, "\n"))
	}
	t.Logf("%d kinds, %d members", kinds, len(seen))
}

// filled is the object from the schema and the fillings.
func (l *life) filled() fields {
	obj := newFiller(l.full.fillings, l.res, l.full.round).value(l.res.Type).(fields)
	obj["apiVersion"], obj["kind"] = l.res.GV.APIVersion(), l.res.Kind
	meta := obj["metadata"].(fields)
	if !l.res.Namespaced {
		delete(meta, "namespace")
	}
	l.namespace, _ = meta["namespace"].(string)
	l.name = meta["name"].(string)
	return obj
}

// content is an object without the parts that differ from one write to the next.
func content(obj fields) fields {
	meta := obj["metadata"].(fields)
	for _, name := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields"} {
		delete(meta, name)
	}
	return obj
}

// whole compares the results of apply and create, writes the status, and notes the
// members in answers.
func (l *life) whole(obj fields, created []byte) {
	t := l.T
	cover(l.res.GV.Types(), l.res.Type, read(t, created), l.full.seen)
	if got, want := content(read(t, l.full.applied)), content(read(t, l.full.tried)); !reflect.DeepEqual(got, want) {
		t.Errorf("apply makes\n%v\na create makes\n%v", got, want)
	}
	if l.res.Subresource("status") == nil {
		return
	}
	stored := read(t, l.Get(l.object).Body)
	stored["status"] = obj["status"]
	got := read(t, l.ask(http.StatusOK, "PUT", l.object+"/status", "application/json", stored).Body)
	cover(l.res.GV.Types(), l.res.Type, got, l.full.seen)
	const binary = "application/vnd.kubernetes.protobuf"
	raw := l.ask(http.StatusOK, "GET", l.object, "", nil, "Accept", binary)
	if back := read(t, l.ask(http.StatusOK, "PUT", l.object+"/status", binary, raw.Body).Body); !reflect.DeepEqual(back, got) {
		t.Errorf("what went out in the binary form came back as\n%v\nit was\n%v", back, got)
	}
}

// gone removes the object's finalizers and waits for its end.
func (l *life) gone() {
	last := l.ask(http.StatusOK, "GET", l.object, "", nil)
	cover(l.res.GV.Types(), l.res.Type, read(l.T, last.Body), l.full.seen)
	l.ask(http.StatusOK, "PATCH", l.object, "application/merge-patch+json", fields{"metadata": fields{"finalizers": nil}})
	if l.res.Plural != "namespaces" { // a controller empties it first
		l.ask(http.StatusNotFound, "GET", l.object, "", nil)
	}
}
