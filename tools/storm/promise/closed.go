package promise

import (
	"fmt"
	"math"
	"net/http"
	"strings"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/record"
)

// closed looks for objects that were made although their namespace or their definition was
// being deleted, by the order of the revisions. This is the cause of what outlives both.
func closed(r *record.Record) (wrong []string) {
	ending := make(map[string]uint64) // namespaces: the revision of the begin of their deletion
	for _, e := range r.Tape {
		switch space := e.Meta.Namespace; {
		case e.Resource == "namespaces" && (e.Type == history.Deleted || e.Meta.DeletionTimestamp == ""):
			delete(ending, e.Meta.Name)
		case e.Resource == "namespaces" && ending[e.Meta.Name] == 0:
			ending[e.Meta.Name] = e.Revision
		case e.Type == history.Added && !e.Initial && space != "" && ending[space] > 0:
			wrong = append(wrong, fmt.Sprintf("%s was made at %d, its namespace is being deleted since %d", e.Key(), e.Revision, ending[space]))
		}
	}
	shut := shutdowns(r)
	for i := range r.Calls {
		c := &r.Calls[i]
		if c.Code != http.StatusCreated || c.Object == nil || c.Sub != "" {
			continue
		}
		for _, time := range shut[c.Resource] {
			if at := c.Object.Revision; at > time.from && at < time.until {
				wrong = append(wrong, fmt.Sprintf("%s was made at %d, its definition is being deleted since %d", c.Key(), at, time.from))
			}
		}
	}
	return wrong
}

// shutdowns are the times, in revisions, from the begin of the deletion of a definition until
// it is made again, by the resource of its objects.
func shutdowns(r *record.Record) map[string][]life {
	all := make(map[string][]life)
	for _, e := range r.Tape {
		if e.Resource != definitionsResource {
			continue
		}
		resource, _, _ := strings.Cut(e.Meta.Name, ".")
		times := all[resource]
		open := len(times) > 0 && times[len(times)-1].until == math.MaxUint64
		switch ends := e.Type == history.Deleted || e.Meta.DeletionTimestamp != ""; {
		case ends && !open:
			all[resource] = append(times, life{e.Revision, math.MaxUint64})
		case !ends && open:
			times[len(times)-1].until = e.Revision
		}
	}
	return all
}
