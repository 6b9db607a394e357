package objects_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/capstan-dev/capstan/internal/history"
)

// access is one operation on one object, as its client saw it.
type access struct {
	op           string // create, get, put, delete
	mark         string // content of a write
	precondition uint64 // resourceVersion that a write requires; 0 for none
	contended    bool   // a write may be refused because others came between again and again
}

// outcome is the answer to a client; the zero value means that it got none.
type outcome struct {
	code     int
	mark     string // of a get
	revision uint64 // of the state that was read, made or deleted, 0 if the answer did not have it
}

// register is the model of one object.
//
// Invariant: newest is the newest known revision of the object, existing or not; revision
// is 0 when the write that made the state was not answered.
type register struct {
	exists           bool
	mark             string
	revision, newest uint64
}

// wrote is the register after a write at a revision, 0 for an unknown one.
func (r register) wrote(mark string, revision uint64) register {
	return register{true, mark, revision, max(r.newest, revision)}
}

func (r register) removed(revision uint64) register {
	return register{newest: max(r.newest, revision)}
}

// at is the register as one at a revision, if that is possible.
func (r register) at(revision uint64) (register, bool) {
	if r.revision == 0 && revision > r.newest {
		r.revision, r.newest = revision, revision
	}
	return r, r.revision == revision
}

// step returns the possible registers after an access with that outcome: none when it is
// impossible. A write without an answer happened, or did not.
func (r register) step(a access, o outcome) []register {
	found, matches := r, true // the state that a precondition requires
	if a.precondition > 0 {
		found, matches = r.at(a.precondition)
	}
	// A required revision may not be that of an unanswered write.
	mayDiffer := a.contended || a.precondition > 0 && (r.revision == 0 || r.revision != a.precondition)
	newer := o.revision == 0 || o.revision > r.newest
	var next []register
	allow := func(possible bool, after register) {
		if possible {
			next = append(next, after)
		}
	}
	switch a.op {
	case "create":
		switch o.code {
		case 0:
			next = append(next, r)
			allow(!r.exists, r.wrote(a.mark, 0))
		case http.StatusCreated:
			allow(!r.exists && newer, r.wrote(a.mark, o.revision))
		case http.StatusConflict:
			allow(r.exists, r)
		}
	case "get":
		switch o.code {
		case 0:
			next = append(next, r)
		case http.StatusOK:
			seen, ok := r.at(o.revision)
			allow(r.exists && ok && r.mark == o.mark, seen)
		case http.StatusNotFound:
			allow(!r.exists, r)
		}
	case "put":
		switch o.code {
		case 0:
			next = append(next, r)
			allow(r.exists && matches || !r.exists && a.precondition == 0, found.wrote(a.mark, 0))
		case http.StatusOK:
			allow(r.exists && matches && newer, found.wrote(a.mark, o.revision))
		case http.StatusCreated:
			allow(!r.exists && a.precondition == 0 && newer, r.wrote(a.mark, o.revision))
		case http.StatusConflict:
			allow(r.exists && mayDiffer, r)
		case http.StatusNotFound:
			allow(!r.exists && a.precondition > 0, r)
		}
	case "delete":
		switch o.code {
		case 0:
			next = append(next, r)
			allow(r.exists && matches, found.removed(0))
		case http.StatusOK:
			if o.revision > 0 && matches {
				found, matches = found.at(o.revision)
			}
			allow(r.exists && matches, found.removed(0))
		case http.StatusConflict:
			allow(r.exists && mayDiffer, r)
		case http.StatusNotFound:
			allow(!r.exists, r)
		}
	}
	return next
}

// registerModel is the model for porcupine, one register for each object.
func registerModel() porcupine.Model {
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{register{}} },
		Step: func(state, input, output any) []any {
			var next []any
			for _, r := range state.(register).step(input.(access), output.(outcome)) {
				next = append(next, r)
			}
			return next
		},
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
	}
	return model.ToModel()
}

// TestRegisterModel: the model refuses impossible outcomes.
func TestRegisterModel(t *testing.T) {
	made := register{}.wrote("a", 5)
	unanswered := register{newest: 3}.wrote("a", 0)
	for name, test := range map[string]struct {
		r       register
		a       access
		o       outcome
		outcome int // number of registers after
	}{
		"create":                          {register{}, access{op: "create", mark: "a"}, outcome{code: 201, revision: 1}, 1},
		"create of what is there":         {made, access{op: "create", mark: "b"}, outcome{code: 201, revision: 6}, 0},
		"create without an answer":        {register{}, access{op: "create", mark: "a"}, outcome{}, 2},
		"a refused create":                {register{}, access{op: "create", mark: "a"}, outcome{code: 409}, 0},
		"get":                             {made, access{op: "get"}, outcome{200, "a", 5}, 1},
		"get of the state before":         {made, access{op: "get"}, outcome{200, "z", 4}, 0},
		"get of an unanswered write":      {unanswered, access{op: "get"}, outcome{200, "a", 4}, 1},
		"get of it at an old revision":    {unanswered, access{op: "get"}, outcome{200, "a", 3}, 0},
		"get of what is not there":        {register{}, access{op: "get"}, outcome{200, "a", 5}, 0},
		"get that misses":                 {made, access{op: "get"}, outcome{code: 404}, 0},
		"put":                             {made, access{op: "put", mark: "b"}, outcome{code: 200, revision: 6}, 1},
		"put at an old revision":          {made, access{op: "put", mark: "b"}, outcome{code: 200, revision: 4}, 0},
		"put with the right precondition": {made, access{op: "put", mark: "b", precondition: 5}, outcome{code: 200, revision: 6}, 1},
		"put with a wrong precondition":   {made, access{op: "put", mark: "b", precondition: 4}, outcome{code: 200, revision: 6}, 0},
		"a refused put":                   {made, access{op: "put", mark: "b", precondition: 5}, outcome{code: 409}, 0},
		"put that creates":                {register{}, access{op: "put", mark: "b"}, outcome{code: 201, revision: 6}, 1},
		"put that must not create":        {register{}, access{op: "put", mark: "b", precondition: 5}, outcome{code: 201, revision: 6}, 0},
		"delete":                          {made, access{op: "delete"}, outcome{code: 200}, 1},
		"delete of what was seen":         {made, access{op: "delete"}, outcome{code: 200, revision: 5}, 1},
		"delete of something else":        {made, access{op: "delete"}, outcome{code: 200, revision: 4}, 0},
		"delete with a wrong one":         {made, access{op: "delete", precondition: 4}, outcome{code: 200}, 0},
		"delete without an answer":        {made, access{op: "delete"}, outcome{}, 2},
		"delete that misses":              {made, access{op: "delete"}, outcome{code: 404}, 0},
	} {
		if got := test.r.step(test.a, test.o); len(got) != test.outcome {
			t.Errorf("%s: %+v, want %d", name, got, test.outcome)
		}
	}
}

// TestLinearizable lets clients use a few objects at once, some of them losing their
// connections, with a restart in between, and finds an order of all operations in which
// each has the outcome that its client saw.
func TestLinearizable(t *testing.T) {
	rounds := 1
	if stress() {
		rounds = 20
	}
	seed := seed(t)
	for round := range rounds {
		run := &linearRun{site: openSite(t), began: time.Now()}
		run.accesses(seed+uint64(round), 8, 120)
		run.check()
	}
}

// check finds an order of the operations.
func (run *linearRun) check() {
	unanswered := 0
	for i := range run.operations {
		if run.operations[i].Output == (outcome{}) {
			unanswered++
		}
	}
	began := time.Now()
	for key, operations := range run.byKey() {
		if result := porcupine.CheckOperationsTimeout(registerModel(), operations, time.Minute); result != porcupine.Ok {
			run.t.Errorf("%s: %s", key, result)
			for _, o := range operations {
				run.t.Logf("%d..%d %+v -> %+v", o.Call, o.Return, o.Input, o.Output)
			}
		}
	}
	run.t.Logf("%d operations, %d without an answer, in %v; checked in %v", len(run.operations), unanswered, began.Sub(run.began).Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
}

type linearRun struct {
	*site
	contended  bool   // writes may give up, and fail at the restart
	only       object // of all accesses, whose clients are patient: unanswered writes of one object make the check slow; without it there are six objects
	began      time.Time
	mu         sync.Mutex
	operations []porcupine.Operation
	keys       []string // of the operations
}

func (run *linearRun) byKey() map[string][]porcupine.Operation {
	all := make(map[string][]porcupine.Operation)
	for i, o := range run.operations {
		all[run.keys[i]] = append(all[run.keys[i]], o)
	}
	return all
}

// accesses runs a number of operations per client, and restarts the server when half of
// them are done.
func (run *linearRun) accesses(seed uint64, clients, each int) {
	var group sync.WaitGroup
	var done atomic.Int64
	half := make(chan struct{})
	for c := range clients {
		group.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(c)))
			known := make(map[object]uint64)
			for range each {
				run.access(c, r, known)
				if done.Add(1) == int64(clients*each/2) {
					close(half)
				}
			}
		})
	}
	<-half
	run.restart()
	group.Wait()
}

// access does one operation and records it.
func (run *linearRun) access(client int, r *rand.Rand, known map[object]uint64) {
	o := run.only
	if o == (object{}) {
		o = object{resources[r.IntN(2)], "default", fmt.Sprintf("l-%d", r.IntN(3))}
	}
	a := access{op: []string{"create", "get", "get", "put", "put", "put", "delete"}[r.IntN(7)], contended: run.contended}
	method, path, contentType, body := http.MethodGet, o.path(), "", []byte(nil)
	if a.op != "create" && a.op != "get" && r.IntN(2) == 0 {
		a.precondition = known[o]
	}
	demanded := ""
	if a.precondition > 0 {
		demanded = fmt.Sprint(a.precondition)
	}
	switch a.op {
	case "create", "put":
		method, contentType, a.mark = http.MethodPut, "application/json", run.mark("l")
		if a.op == "create" {
			method, path = http.MethodPost, collectionPath(o.resource, o.namespace)
		}
		body = o.body(a.mark, "web", demanded, false, 0)
	case "delete":
		method = http.MethodDelete
		if demanded != "" {
			contentType, body = "application/json", fmt.Appendf(nil, `{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"resourceVersion":%q}}`, demanded)
		}
	}
	ctx, cancel := context.Background(), context.CancelFunc(func() {})
	if run.only == (object{}) && r.IntN(15) == 0 { // the client gives up
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.IntN(2000))*time.Microsecond)
	}
	defer cancel()
	operation := porcupine.Operation{ClientId: client, Input: a, Call: int64(time.Since(run.began))}
	code, text, err := run.send(ctx, 1+client%2, method, path, nil, contentType, body)
	operation.Return = int64(time.Since(run.began))
	told := outcome{code: code}
	if err != nil || code == http.StatusServiceUnavailable || run.contended && code >= 500 {
		// It may happen at any later time.
		told, operation.Return = outcome{}, math.MaxInt64
	} else if code < 300 && !strings.HasPrefix(string(text), `{"kind":"Status"`) {
		state, err := history.ParseObject(o.resource, text)
		if err != nil {
			run.t.Errorf("%s of %s: %v: %.300s", a.op, o.key(), err, text)
		}
		told.revision, known[o] = state.Revision, state.Revision
		if a.op == "get" {
			told.mark = state.Mark
		}
	}
	operation.Output = told
	run.mu.Lock()
	defer run.mu.Unlock()
	run.operations, run.keys = append(run.operations, operation), append(run.keys, o.key())
}
