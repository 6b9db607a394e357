package promise

import (
	"fmt"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/record"
)

// bound follows the nodes of pods: each has one, and each acknowledged binding gave one.
func bound(r *record.Record) (wrong []string) {
	node, times := make(map[string]string), make(map[string]int) // by uid, by key
	for _, e := range r.Tape {
		if e.Resource != "pods" || e.Type == history.Deleted {
			continue
		}
		now, before := e.Text("spec", "nodeName"), node[e.Meta.UID]
		if before != "" && now != before {
			wrong = append(wrong, fmt.Sprintf("%s@%d is on node %q, it was bound to %s", e.Key(), e.Revision, now, before))
		}
		if before == "" && now != "" {
			times[e.Key()]++
		}
		node[e.Meta.UID] = now
	}
	acknowledged := make(map[string]int)
	for i := range r.Calls {
		if c := &r.Calls[i]; c.Resource == "pods" && c.Sub == "binding" && c.Done() {
			acknowledged[c.Key()]++
		}
	}
	for key, n := range acknowledged {
		if n > times[key] {
			wrong = append(wrong, fmt.Sprintf("%d bindings of %s were acknowledged, %d happened", n, key, times[key]))
		}
	}
	return wrong
}

// budgeted: a budget never allows less than nothing.
func budgeted(r *record.Record) (wrong []string) {
	for _, e := range r.Tape {
		if n, _ := e.Field("status", "disruptionsAllowed").(float64); e.Resource == "poddisruptionbudgets" && n < 0 {
			wrong = append(wrong, fmt.Sprintf("%s@%d allows %.0f disruptions", e.Key(), e.Revision, n))
		}
	}
	return wrong
}

// stored looks for answers with an object that no watch has shown: whatever is
// acknowledged or read was stored.
func stored(r *record.Record) (wrong []string) {
	type change struct {
		key      string
		revision uint64
	}
	seen, resources, last := make(map[change]bool), make(map[string]bool), uint64(0)
	for _, e := range r.Tape {
		seen[change{e.Key(), e.Revision}] = true
		resources[e.Resource] = true
		last = max(last, e.Revision)
	}
	for i := range r.Calls {
		c := &r.Calls[i]
		if c.Object == nil || !resources[c.Resource] || c.Object.Revision > last {
			continue
		}
		if !seen[change{c.Object.Key(), c.Object.Revision}] {
			wrong = append(wrong, fmt.Sprintf("%s of %s at %s was answered with revision %d, which no watch has shown", c.Verb, c.Key(), c.Began,
				c.Object.Revision))
		}
	}
	return wrong
}
