package promise

import (
	"fmt"
	"maps"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/record"
)

// life is the time of an object on the tape, in revisions; until is 0 while it lives.
type life struct{ from, until uint64 }

// lives are those of the objects of a resource, by uid.
func lives(r *record.Record, resource string) map[string]life {
	all := make(map[string]life)
	for _, e := range r.Tape {
		if e.Resource != resource {
			continue
		}
		l := all[e.Meta.UID]
		switch {
		case e.Type == history.Deleted:
			l.until = e.Revision
		case l.from == 0 && e.Initial:
			l.from = 1 // or later
		case l.from == 0:
			l.from = e.Revision
		}
		all[e.Meta.UID] = l
	}
	return all
}

const definitionsResource = "customresourcedefinitions"

// ended compares the ends of streams with those of their definitions.
func ended(r *record.Record) (wrong []string) {
	definitions := lives(r, definitionsResource)
	for i := range r.Streams {
		s := &r.Streams[i]
		l, known := definitions[s.Definition]
		name := fmt.Sprintf("watch %s of %s, opened at %s", s.Watch.Name, s.Resource, s.Opened)
		live, _ := replay(s)
		// Another server may serve a next definition already, whose objects this stream shows until it ends.
		maps.DeleteFunc(live, func(_ string, revision uint64) bool { return l.until > 0 && revision > l.until })
		switch {
		case !known || r.Restarted:
		case l.until > 0 && s.Ended == 0:
			wrong = append(wrong, fmt.Sprintf("%s, is open at rest, its definition was deleted at %d", name, l.until))
		case l.until > 0 && s.Whole && len(live) > 0:
			wrong = append(wrong, fmt.Sprintf("%s, ended with its definition, deleted at %d, and did not show the end of %v", name, l.until, live))
		case l.until == 0 && s.Ended > 0:
			wrong = append(wrong, fmt.Sprintf("%s, ended at %s, its definition is there", name, s.Ended))
		case s.Ended > 0 && !s.Whole:
			wrong = append(wrong, fmt.Sprintf("%s, was broken off at %s", name, s.Ended))
		}
	}
	return wrong
}

// survivors looks for objects that are older than their definition.
func survivors(r *record.Record) (wrong []string) {
	definitions := lives(r, definitionsResource)
	for i := range r.Streams {
		s := &r.Streams[i]
		for _, e := range s.Watch.Events {
			if from := definitions[s.Definition].from; from > 0 && e.Revision < from && e.Type != history.Bookmark {
				wrong = append(wrong, fmt.Sprintf("watch %s of %s: %s %s@%d, its definition was made at %d", s.Watch.Name, s.Resource, e.Type, e.Key,
					e.Revision, from))
			}
		}
	}
	return wrong
}
