package promise

import (
	"fmt"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/record"
)

// initial is the number of initial events of a stream: the first change is not ADDED, or
// is newer than its request.
func initial(s *record.Stream) int {
	n := 0
	for n < len(s.Watch.Events) && s.Watch.Events[n].Type == history.Added {
		n++
	}
	// Those ADDED that come in order after the newest initial one may be changes: nothing
	// that is checked differs then.
	return n
}

// replay adds the events of a stream up, and finds those that do not fit.
func replay(s *record.Stream) (live map[string]uint64, wrong []string) {
	live = make(map[string]uint64)
	last := uint64(0)
	for i, e := range s.Watch.Events {
		say := func(what string) {
			wrong = append(wrong, fmt.Sprintf("watch %s of %s: %s %s@%d %s", s.Watch.Name, s.Resource, e.Type, e.Key, e.Revision, what))
		}
		if i >= initial(s) && e.Type != history.Bookmark {
			if e.Revision <= last {
				say(fmt.Sprintf("comes after an event of %d", last))
			}
			last = e.Revision
		}
		switch {
		case e.Type == history.Bookmark:
		case e.Type == history.Added && live[e.Key] > 0:
			say(fmt.Sprintf("is of an object that it showed @%d", live[e.Key]))
			live[e.Key] = e.Revision
		case e.Type == history.Added:
			live[e.Key] = e.Revision
		case live[e.Key] == 0:
			say("is of an object that it has not shown")
		case e.Type == history.Modified:
			live[e.Key] = e.Revision
		default:
			delete(live, e.Key)
		}
	}
	return live, wrong
}

func streams(r *record.Record) (wrong []string) {
	for i := range r.Streams {
		s := &r.Streams[i]
		_, texts := replay(s)
		wrong = append(append(wrong, texts...), unseen(r, s)...)
		for j := range i {
			if other := &r.Streams[j]; other.Definition == s.Definition {
				wrong = append(wrong, unlike(s, other)...)
			}
		}
	}
	return wrong
}

// span are the changes that a stream shows for certain: after its initial events, up to
// its last event. A bookmark may have the revision of the event before it, which counts as initial.
func span(s *record.Stream) (first, last uint64, changes map[uint64]string) {
	changes = make(map[uint64]string)
	for _, e := range s.Watch.Events[initial(s):] {
		if first == 0 {
			if first = e.Revision; e.Type == history.Bookmark {
				first++
			}
		}
		if last = e.Revision; e.Type != history.Bookmark {
			changes[e.Revision] = e.Type + " " + e.Key
		}
	}
	return first, last, changes
}

// unlike compares two streams of one definition where both show everything.
func unlike(a, b *record.Stream) (wrong []string) {
	firstA, lastA, changesA := span(a)
	firstB, lastB, changesB := span(b)
	if firstA == 0 || firstB == 0 {
		return nil
	}
	missing := func(in *record.Stream, have, lack map[uint64]string) {
		for revision, change := range have {
			if revision >= max(firstA, firstB) && revision <= min(lastA, lastB) && lack[revision] != change {
				wrong = append(wrong, fmt.Sprintf("watch %s of %s lacks %s@%d, which another has; around it are%s", in.Watch.Name, in.Resource, change,
					revision, around(in, revision)))
			}
		}
	}
	missing(a, changesB, changesA)
	missing(b, changesA, changesB)
	return wrong
}

// around are the events of a stream next to a revision, with their places.
func around(s *record.Stream, revision uint64) (text string) {
	const near = 6
	events := s.Watch.Events
	at := initial(s)
	for at < len(events) && events[at].Revision < revision {
		at++
	}
	for i := max(0, at-near); i < min(len(events), at+near); i++ {
		text += fmt.Sprintf(" %d:%s %s@%d", i, events[i].Type, events[i].Key, events[i].Revision)
	}
	return fmt.Sprintf("%s (of %d, %d of them initial)", text, len(events), initial(s))
}

// unseen looks for acknowledged writes that a stream lacks though it shows later ones.
func unseen(r *record.Record, s *record.Stream) (wrong []string) {
	_, last, _ := span(s)
	shown := make(map[uint64]bool)
	for _, e := range s.Watch.Events {
		shown[e.Revision] = true
	}
	for i := range r.Calls {
		c := &r.Calls[i]
		if c.Resource == s.Resource && c.Began > s.Opened && c.Done() && c.Object != nil && c.Mark != "" && mark(c.Object) == c.Mark &&
			c.Object.Revision < last && !shown[c.Object.Revision] {
			wrong = append(wrong, fmt.Sprintf("watch %s of %s lacks the acknowledged %s of %s@%d, and shows %d", s.Watch.Name, s.Resource, c.Verb,
				c.Key(), c.Object.Revision, last))
		}
	}
	return wrong
}
