package promise

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/record"
)

// counted is the resource whose number a name in a quota bounds.
func counted(name string) string { return strings.TrimPrefix(name, "count/") }

// amount is a number in a quota, -1 when there is none.
func amount(o *record.Object, path ...string) int {
	n, err := strconv.Atoi(o.Text(path...))
	if err != nil {
		return -1
	}
	return n
}

func hardNames(o *record.Object) []string {
	m, _ := o.Field("spec", "hard").(map[string]any)
	return slices.Sorted(maps.Keys(m))
}

// Untrue finds the quotas among objects at rest that do not say how many there are, or
// whose status has other bounds than their spec.
func Untrue(rest map[string][]*record.Object) (wrong []string) {
	for _, q := range rest["resourcequotas"] {
		for _, name := range hardNames(q) {
			n := 0
			for _, o := range rest[counted(name)] {
				if o.Meta.Namespace == q.Meta.Namespace {
					n++
				}
			}
			if used := amount(q, "status", "used", name); used != n {
				wrong = append(wrong, fmt.Sprintf("%s: used %s is %d, there are %d", q.Key(), name, used, n))
			}
			if spec, status := amount(q, "spec", "hard", name), amount(q, "status", "hard", name); spec != status {
				wrong = append(wrong, fmt.Sprintf("%s: hard %s is %d in the spec and %d in the status", q.Key(), name, spec, status))
			}
		}
	}
	return wrong
}

// charged: the truth of quotas at rest is a question of their area too, which gives the
// server some time.
func charged(r *record.Record) []string { return Untrue(r.Rest) }

// changing is the number of changes in which a new bound need not count for writes that
// began before.
const changing = 40

// bounded counts the objects in namespaces with quotas along the tape.
func bounded(r *record.Record) (wrong []string) {
	live := make(map[string]bool)             // by key
	number := make(map[string]int)            // by resource and namespace
	states := make(map[string][]record.Event) // of a quota that is there, by key
	for _, e := range r.Tape {
		key := e.Key()
		if e.Resource == "resourcequotas" {
			if states[key] = append(states[key], e); e.Type == history.Deleted {
				delete(states, key)
			}
			continue
		}
		of := e.Resource + " in " + e.Meta.Namespace
		switch {
		case e.Type == history.Deleted && live[key]:
			delete(live, key)
			number[of]--
		case e.Type != history.Deleted && !live[key]:
			live[key] = true
			number[of]++
			wrong = append(wrong, above(e, number[of], states)...)
		}
	}
	return append(wrong, overcharged(r)...)
}

// above compares the number of objects, one of which is new, with the greatest bound that
// counted lately.
func above(e record.Event, n int, states map[string][]record.Event) (wrong []string) {
	for key, all := range states {
		if q := all[0]; q.Meta.Namespace != e.Meta.Namespace || q.Revision+changing > e.Revision {
			continue // another namespace, or a quota that is too new
		}
		for _, name := range hardNames(all[len(all)-1].Object) {
			if counted(name) != e.Resource {
				continue
			}
			most, unknown := -1, false
			for i := len(all) - 1; i >= 0; i-- {
				bound := amount(all[i].Object, "status", "hard", name)
				if most = max(most, bound); bound < 0 {
					unknown = true // not counted yet
				}
				if all[i].Revision+changing < e.Revision {
					break
				}
			}
			if !unknown && n > most {
				wrong = append(wrong, fmt.Sprintf("%s was made at %d as number %d, %s allows %d", e.Key(), e.Revision, n, key, most))
			}
		}
	}
	return wrong
}

// overcharged looks for quotas whose used amount grows above an unchanged bound.
func overcharged(r *record.Record) (wrong []string) {
	last := make(map[string]*record.Object)
	for _, e := range r.Tape {
		if e.Resource != "resourcequotas" {
			continue
		}
		before := last[e.Meta.UID]
		last[e.Meta.UID] = e.Object
		if before == nil || e.Type == history.Deleted {
			continue
		}
		for _, name := range hardNames(e.Object) {
			was, used := amount(before, "status", "used", name), amount(e.Object, "status", "used", name)
			hard := amount(e.Object, "status", "hard", name)
			if was >= 0 && hard >= 0 && hard == amount(before, "status", "hard", name) && used > was && used > hard && was <= hard {
				wrong = append(wrong, fmt.Sprintf("%s@%d: used %s went from %d to %d, hard is %d", e.Key(), e.Revision, name, was, used, hard))
			}
		}
	}
	return wrong
}
