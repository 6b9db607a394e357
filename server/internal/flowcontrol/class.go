package flowcontrol

import (
	"context"
	"hash/maphash"
	"net/http"
	"time"

	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/fairness"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// Class is a flow schema with its level.
type Class struct {
	schema              *schema
	level               *level
	tally               *fairness.Tally
	salt                uint64   // of the flows' hashes
	schemaUID, levelUID []string // header values, shared by answers
}

func newClass(s *schema, l *level) *Class {
	return &Class{schema: s, level: l, tally: l.tallies.of(s.name), schemaUID: []string{s.uid}, levelUID: []string{l.uid}}
}

// The headers of answers: uids, since names could reveal how users are judged.
var (
	schemaHeader = http.CanonicalHeaderKey(profile.ExtensionPrefix + "pf-flowschema-uid")
	levelHeader  = http.CanonicalHeaderKey(profile.ExtensionPrefix + "pf-prioritylevel-uid")
)

// Label names the class in the headers of an answer.
func (c *Class) Label(h http.Header) { h[schemaHeader], h[levelHeader] = c.schemaUID, c.levelUID }

// Unlabel removes the headers that Label sets.
func Unlabel(h http.Header) {
	delete(h, schemaHeader)
	delete(h, levelHeader)
}

// Place is a request on its way to a seat, and its seats.
//
// Invariant: the attributes do not change while the request waits.
type Place struct {
	authz.Attributes
	Class  *Class
	ticket fairness.Ticket
}

// Extent is the part of the objects that a request is about.
type Extent struct {
	Prefix  string // of the keys of a collection; "" for paths that are not resources
	Limit   int64  // of a list; 0 for none
	Initial bool   // of a watch: it begins with the present objects
	Acts    bool   // an action may change the objects
}

// Enter waits for the seats of a request. Errors: the refusals of package fairness.
func (c *Control) Enter(ctx context.Context, p *Place, of Extent) error {
	class := p.Class
	w := fairness.Work{Seats: 1, Tally: class.tally, Note: p, Initial: p.Verb == "watch"}
	if rules := &class.level.rules; !rules.Exempt {
		c.estimate(&w, p, of)
		if rules.Queues > 1 {
			w.Flow = maphash.String(c.seed, p.flow()) ^ class.salt
		}
	}
	return class.level.share.Level.Enter(ctx, &p.ticket, &w)
}

// Leave ends the use of the seats, if the request has any.
func (p *Place) Leave() { p.ticket.Leave() }

// Waited is the time that the request has waited for its seats.
func (p *Place) Waited() time.Duration { return p.ticket.Waited() }

// flow is the name of a request's flow within its schema.
func (p *Place) flow() string {
	switch p.Class.schema.distinguisher {
	case byUser:
		return p.User.Name
	case "ByNamespace":
		return p.Namespace
	}
	return ""
}

// The estimates of widths.
const (
	mostSeats      = 10
	objectsPerSeat = 100
	// A write to something that is watched has seats until its watchers have the event:
	// some 10 us for each of them. Below watchersPerSeat that is not worth a timer.
	watchersPerSeat = 100
	timePerSeat     = time.Millisecond
)

// estimate sets the width of a request.
func (c *Control) estimate(w *fairness.Work, p *Place, of Extent) {
	most := p.Class.level.maxSeats()
	switch {
	case of.Prefix == "":
	case p.Verb == "list" && p.Name == "", of.Initial:
		n, _ := c.sizes.Load(of.Prefix)
		objects, _ := n.(int64)
		if of.Limit > 0 {
			objects = min(objects, of.Limit)
		}
		w.Seats = min(max(1, int((objects+objectsPerSeat-1)/objectsPerSeat)), most)
	case of.Acts, p.Verb == "create", p.Verb == "update", p.Verb == "patch", p.Verb == "delete":
		w.Writes, w.Watchers = true, c.cfg.Watchers(of.Prefix)
		if w.Watchers >= watchersPerSeat {
			seats := w.Watchers / watchersPerSeat
			w.Final = min(seats, most)
			w.Lingering = timePerSeat * time.Duration(seats) / time.Duration(w.Final)
		}
	}
}

// Sized notes the number of objects in a collection, which the next list of it will meet.
func (c *Control) Sized(prefix string, objects int64) {
	if objects > objectsPerSeat {
		c.sizes.Store(prefix, objects)
	} else if _, large := c.sizes.Load(prefix); large {
		c.sizes.Delete(prefix)
	}
}
