package promise

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/capstan-dev/capstan/tools/storm/record"
)

// linearTime bounds the search for an order of the calls of one object.
const linearTime = 20 * time.Second

// linear finds an order for the calls of each config map that only clients change.
func linear(r *record.Record) (wrong []string) {
	all := make(map[string][]porcupine.Operation)
	var sweeps []*record.Call
	for i := range r.Calls {
		c := &r.Calls[i]
		switch {
		case c.Resource != "configmaps" || c.Sub != "":
		case c.Verb == "deletecollection":
			sweeps = append(sweeps, c)
		case strings.HasPrefix(c.Name, "m-"):
			all[c.Key()] = append(all[c.Key()], operation(c))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		operations := all[key]
		for _, c := range sweeps {
			if strings.HasPrefix(key, c.Resource+"/"+c.Namespace+"/") {
				operations = append(operations, operation(c))
			}
		}
		if result := porcupine.CheckOperationsTimeout(registers(r), operations, linearTime); result == porcupine.Illegal {
			wrong = append(wrong, fmt.Sprintf("%s: no order explains its %d calls: %s", key, len(operations), excerpt(r, operations)))
		}
	}
	return wrong
}

func operation(c *record.Call) porcupine.Operation {
	o := porcupine.Operation{ClientId: c.Client, Input: c, Output: c, Call: int64(c.Began), Return: int64(c.Ended)}
	if c.Code == 0 || c.Code >= 500 {
		o.Return = math.MaxInt64 // the write may happen at any later time
	}
	return o
}

// excerpt are the calls up to the first that cannot be explained together with those
// before it.
func excerpt(r *record.Record, all []porcupine.Operation) string {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b porcupine.Operation) int { return cmp.Compare(a.Return, b.Return) })
	n := 0
	for low, high := 1, len(all); low <= high; {
		n = (low + high) / 2
		if porcupine.CheckOperationsTimeout(registers(r), all[:n], linearTime/4) == porcupine.Illegal {
			high = n - 1
		} else {
			low = n + 1
			n = low
		}
	}
	n = min(n, len(all))
	var lines []string
	for _, o := range all[max(0, n-8):n] {
		lines = append(lines, describe(o.Input.(*record.Call)))
	}
	return strings.Join(lines, "; ")
}

func describe(c *record.Call) string {
	text := fmt.Sprintf("[%s..%s] %s", c.Began.Round(time.Microsecond), c.Ended.Round(time.Microsecond), c.Verb)
	if c.Mark != "" {
		text += " " + c.Mark
	}
	if c.Precondition > 0 {
		text += fmt.Sprintf(" if %d", c.Precondition)
	}
	text += fmt.Sprintf(" -> %d", c.Code)
	if c.Object != nil {
		text += fmt.Sprintf(" %s@%d", mark(c.Object), c.Object.Revision)
	}
	return text
}

// register holds the knowledge about one object. The revision is 0 when the write that made
// the state had no answer; newest is the newest known revision of the object, which may
// be gone.
type register struct {
	exists           bool
	mark             string
	revision, newest uint64
	// migrated is set when a migration may give the state another revision at any time.
	migrated bool
}

// registers is the model of one object for porcupine.
func registers(of *record.Record) porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{register{migrated: of.Migrated}} },
		Step: func(state, input, _ any) (next []any) {
			for _, r := range state.(register).after(input.(*record.Call)) {
				next = append(next, r)
			}
			return next
		},
	}
	return m.ToModel()
}

// after are the states that are possible after a call; none when its answer is not.
func (r register) after(c *record.Call) []register {
	gone := register{newest: r.newest, migrated: r.migrated}
	if c.Verb == "deletecollection" {
		return []register{r, gone}
	}
	now := r
	if c.Precondition > 0 && r.mayHave(c.Precondition) {
		now.revision, now.newest = c.Precondition, c.Precondition // the unanswered write may have that revision
	}
	wanted := c.Precondition == 0 || now.revision == c.Precondition
	made := c.Verb == "create" || c.Precondition == 0 && (c.Verb == "put" || c.Verb == "apply")
	var does []register // the states after the write was done
	switch {
	case c.Verb == "get":
	case c.Verb == "delete" && r.exists && wanted:
		does = []register{{newest: now.newest, migrated: r.migrated}}
	case c.Verb == "delete":
	case !r.exists && made, r.exists && wanted && c.Verb != "create":
		does = []register{{exists: true, mark: c.Mark, newest: now.newest, migrated: r.migrated}}
	}
	switch code := c.Code; {
	case code == 0 || code >= 500:
		return append(does, r)
	case code == http.StatusNotFound:
		return r.iff(!r.exists && !made)
	case code == http.StatusConflict || code == http.StatusUnprocessableEntity || code == http.StatusTooManyRequests:
		// A write that meets others again and again is given up.
		return r.iff(c.Verb != "get" && (c.Verb != "create" || r.exists))
	case code >= 300:
		return r.iff(true)
	case c.Verb == "get":
		return r.seen(c.Object)
	case c.Verb == "delete":
		return does
	case len(does) == 0 || c.Object == nil || c.Object.Revision <= now.newest || (code == http.StatusCreated) == r.exists:
		return nil
	}
	does[0].revision, does[0].newest = c.Object.Revision, c.Object.Revision
	return does
}

// mayHave reports whether the state may have got another revision than the known one.
func (r register) mayHave(revision uint64) bool {
	return r.exists && (r.revision == 0 || r.migrated) && revision > r.newest
}

func (r register) iff(possible bool) []register {
	if possible {
		return []register{r}
	}
	return nil
}

// seen is the register after a get has shown an object.
func (r register) seen(o *record.Object) []register {
	if o != nil && r.mayHave(o.Revision) {
		r.revision, r.newest = o.Revision, o.Revision
	}
	return r.iff(o != nil && r.exists && r.revision == o.Revision && r.mark == mark(o))
}
