package compat

import (
	"slices"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/api"
)

// Direction is a set of the ways on which values travel between clients and the server.
type Direction uint8

// The directions.
const (
	Request  Direction = 1 << iota // clients send it
	Response                       // clients read it
	Stored                         // releases leave it to each other
	checked                        // sent, and refused if it breaks a rule
	updated                        // sent in place of an earlier one
)

func (d Direction) String() string {
	text := ""
	for i, name := range []string{"request", "response", "stored objects"} {
		if d&(1<<i) == 0 {
			continue
		}
		if text != "" {
			text += ", "
		}
		text += name
	}
	return text
}

// stability orders versions by what they promise.
type stability uint8

const (
	alpha stability = iota + 1
	beta
	stable
)

func stabilityOf(word string) stability {
	return stability(slices.Index([]string{"", "alpha", "beta", "stable"}, word))
}

// use is the use of a type, by all that reach it: the ways, and the most that was promised.
type use struct {
	ways   Direction
	stable stability
}

func (u use) with(o use) use { return use{u.ways | o.ways, max(u.stable, o.stable)} }

// mark notes at all shapes how they are used.
func (s *Surface) mark() {
	for _, v := range s.versions {
		for _, r := range v.resources {
			level := stabilityOf(v.Stability)
			own := waysOf(r.Endpoint, r.Verbs)
			if r.Stored && r.StoredAs == nil {
				own |= Stored
			}
			s.spread(r.Type, use{own, level})
			s.answered(r.Action, level)
			for _, sub := range r.Subresources {
				s.spread(sub.Type, use{waysOf(sub.Endpoint, sub.Verbs), level})
				s.answered(sub.Action, level)
			}
		}
	}
	for _, k := range s.kinds {
		if k.shape.use.ways == 0 { // options, lists, statuses: no document says who sends them
			level := stabilityOf(k.of.Stability)
			if !k.of.Served {
				level = stable
			}
			k.shape.spread(use{Request | Response | checked | updated, level})
		}
	}
}

// waysOf are the ways in which the kind of a resource or subresource travels.
func waysOf(e api.Endpoint, verbs []string) (ways Direction) {
	replaces := slices.Contains(verbs, "update") || slices.Contains(verbs, "patch")
	if replaces || slices.Contains(verbs, "create") {
		ways = Request | checked
	}
	if replaces {
		ways |= updated
	}
	if len(verbs) > 0 && !e.AnswersStatus() && !e.Connects() && e != api.EndpointLog && e != api.EndpointAction {
		ways |= Response
	}
	return ways
}

// answered notes how the answers of an action travel.
func (s *Surface) answered(a *model.Action, level stability) {
	if a != nil {
		s.spread(a.Answer, use{Response, level})
	}
}

func (s *Surface) spread(t *model.Type, u use) {
	if t == nil || s.kinds[t.ID] == nil {
		return
	}
	s.kinds[t.ID].shape.spread(u)
}

// spread adds a use to a shape and to all that it reaches.
func (t *shape) spread(u use) {
	if t.use.with(u) == t.use {
		return
	}
	t.use = t.use.with(u)
	for _, m := range t.members {
		below := t.use
		if m.unchecked {
			below.ways &^= checked
		}
		m.spread(below)
	}
	if t.elem != nil {
		t.elem.spread(t.use)
	}
}
