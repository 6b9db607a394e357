// Package fairness shares the capacity of a server among requests. A level has seats, and
// each request takes as many as it is wide. When they are taken, requests wait in queues:
// each flow, the requests of one user for example, is dealt a few of them, so that a busy
// flow fills its own, and the queues get the same part of the seats over time.
//
//	l := fairness.NewLevel(nil)
//	l.Configure(fairness.Rules{Queues: 64, Hand: 8, Length: 50, Wait: 15 * time.Second}, 20)
//	var t fairness.Ticket
//	if err := l.Enter(ctx, &t, &fairness.Work{Flow: hash, Seats: 1, Tally: tally}); err == nil {
//		defer t.Leave()
//		...
//	}
//
// It is the method of "Fair Queuing for Server Requests" (KEP-1040), with sums that are
// kept instead of computed: a request that need not wait costs the same whatever the
// number of queues.
package fairness

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/capstan-dev/capstan/internal/ranks"
)

// Rules are the treatment of a level's requests.
type Rules struct {
	Exempt bool          // requests never wait, and take no seats from others
	Queues int           // 0 for none: requests beyond the seats are refused at once
	Hand   int           // queues that a flow is dealt, at most MaxHand and Queues
	Length int           // requests that may wait in a queue
	Spare  int           // seats beyond the level's, for narrow requests of idle flows
	Wait   time.Duration // the longest that a request waits
}

// Work is the estimated cost of a request.
type Work struct {
	Flow  uint64 // a hash of the flow
	Seats int    // at least 1
	// Final seats are taken for a while after the request has ended.
	Final     int
	Lingering time.Duration
	Writes    bool
	Watchers  int  // of the written object, about
	Initial   bool // the ticket covers only the begin of a long request
	Tally     *Tally
	Note      any // for Level.Visit
}

// most is the number of seats that the request takes, as long as it takes any.
func (w *Work) most() int { return max(w.Seats, w.Final) }

// assumedTime is the time that a request is assumed to take that waits, or go on when it
// runs.
const assumedTime = 0.003 // seconds

// total is the work in seat-seconds.
func (w *Work) total() float64 { return float64(w.Seats)*assumedTime + w.after() }

// after is the work of the final seats.
func (w *Work) after() float64 { return float64(w.Final) * w.Lingering.Seconds() }

// Refusals.
var (
	ErrSeats = errors.New("concurrency-limit") // all seats are taken, and nothing waits at this level
	ErrFull  = errors.New("queue-full")
	ErrLate  = errors.New("time-out") // it has waited too long
	ErrGone  = errors.New("cancelled")
)

// Level is a class of requests with seats of its own. It is safe for concurrent use.
//
// Invariants, while mu is not held:
//
//	F1. used is the sum of the seats of all requests that have entered and whose seats
//	    are not free again; wanted that of those that wait.
//	F2. queues has exactly those with waiting requests or taken seats; due those with
//	    waiting requests.
//	F3. Something waits only if the next request does not fit.
//	F4. flows has the number of requests of each flow that run or wait. used is at most
//	    rules.Spare above the seats, but for one wide request and for fewer seats than
//	    before: a flow that has nothing else need not wait until others end.
//	F5. progress is the work in seat-seconds that each queue could have had so far. A
//	    queue's next is not below start when its oldest request arrived, so that being
//	    idle saves nothing up.
type Level struct {
	mu    ranks.Mutex[ranks.Derived]
	crowd *Crowd // with a lock of its own
	rules Rules
	seats int

	used, wanted int
	waiting      int // requests
	running      int
	queues       map[int]*queue
	flows        map[uint64]int
	due          []*queue
	free         []*queue
	dealt        uint64 // hands
	turns        uint64
	progress     float64
	made         time.Time
	at           time.Time // of progress
	demand       demand
	seatUse      *Utilization // of seats
	runningUse   *Utilization // of seats, by the number of running requests
	waitingUse   *Utilization // of places in queues
	last         Moment
}

// NewLevel makes a level without seats, whose requests a crowd observes, which may be nil.
func NewLevel(crowd *Crowd) *Level {
	now := time.Now()
	return &Level{crowd: crowd, queues: map[int]*queue{}, flows: map[uint64]int{}, made: now, at: now, demand: demand{since: now, at: now},
		seatUse: newUtilization(seatBounds, now), runningUse: newUtilization(requestBounds, now), waitingUse: newUtilization(requestBounds, now)}
}

// Configure changes the rules, and the number of seats. Waiting requests go on waiting.
func (l *Level) Configure(r Rules, seats int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance()
	l.rules = r
	l.resize(seats)
	l.waitingUse.of = float64(max(r.Length, 1) * max(r.Queues, 1))
}

// Resize changes the number of seats.
func (l *Level) Resize(seats int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance()
	l.resize(seats)
}

func (l *Level) resize(seats int) {
	l.seats = seats
	l.observe()
	l.seatUse.of, l.runningUse.of = float64(seats), float64(seats)
	l.dispatch()
}

// advance brings the progress up to date.
func (l *Level) advance() time.Time {
	now := time.Now()
	if active := len(l.queues); active > 0 {
		l.progress += now.Sub(l.at).Seconds() * float64(min(l.used+l.wanted, l.seats)) / float64(active)
	}
	l.at = now
	return now
}

// now is the time of the progress, in seconds since the level was made.
func (l *Level) now() float64 { return l.at.Sub(l.made).Seconds() }

// start is the progress at which a queue that was idle begins: that of the queue that has
// had least, if some have had less than their part, as requests are not divisible.
func (l *Level) start() float64 {
	start, now := l.progress, l.now()
	for _, q := range l.due {
		start = min(start, q.next(now))
	}
	return start
}

// observe notes that the numbers of requests or seats are about to change, or have.
func (l *Level) observe() {
	l.demand.observe(l.at, l.used+l.wanted)
	l.seatUse.observe(l.at, l.used)
	l.runningUse.observe(l.at, l.running)
	l.waitingUse.observe(l.at, l.waiting)
}

// fits reports whether there are so many free seats. A request that is wider than the
// level gets all of it.
func (l *Level) fits(seats int) bool {
	return l.rules.Exempt || l.used+seats <= l.seats || l.used == 0
}

// spares reports whether a request gets a spare seat: it is the only one of its flow.
func (l *Level) spares(w *Work) bool {
	return w.most() == 1 && l.used < l.seats+l.rules.Spare && l.flows[w.Flow] == 0
}

// count notes that a request of a flow arrives (1), or has ended or given up (-1).
func (l *Level) count(flow uint64, by int) {
	if n := l.flows[flow] + by; n > 0 {
		l.flows[flow] = n
	} else {
		delete(l.flows, flow)
	}
}

// Enter gives a ticket its seats, after a wait if necessary. Errors: the refusals above.
func (l *Level) Enter(ctx context.Context, t *Ticket, w *Work) error {
	l.mu.Lock()
	now := l.advance()
	t.work = *w
	w.Tally.estimated(w)
	var q *queue
	if l.rules.Queues > 0 && !l.rules.Exempt {
		q = l.choose(w.Flow)
		w.Tally.Lengths.observe(float64(q.waiting.Len() + 1))
	}
	if l.waiting == 0 && l.fits(w.most()) || q != nil && l.spares(w) {
		if q != nil {
			q.raise(l.start(), l.now())
			l.count(w.Flow, 1)
		}
		l.begin(t, q)
		if !l.rules.Exempt {
			w.Tally.Waits[executed].observe(0)
		}
		l.mu.Unlock()
		return nil
	}
	var refused error
	switch {
	case q == nil:
		refused = ErrSeats
	case q.waiting.Len() >= l.rules.Length && l.used >= l.seats:
		refused = ErrFull
	}
	if refused != nil {
		l.refuse(w.Tally, refused, 0)
		l.release(q)
		l.mu.Unlock()
		return refused
	}
	a := &applicant{ticket: t, queue: q, arrived: now, progress: l.start(), admitted: make(chan struct{})}
	limit := l.rules.Wait
	l.line(a)
	l.count(w.Flow, 1)
	l.dispatch()
	waits := a.place != nil
	l.mu.Unlock()
	if !waits {
		return nil
	}
	return l.await(ctx, a, limit)
}

// await waits for the seats of a request in a queue.
func (l *Level) await(ctx context.Context, a *applicant, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	refused := ErrLate
	select {
	case <-a.admitted:
		return nil
	case <-ctx.Done():
		refused = ErrGone
	case <-timer.C:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.place == nil { // meanwhile
		return nil
	}
	l.advance()
	l.unline(a)
	l.count(a.ticket.work.Flow, -1)
	l.release(a.queue)
	a.ticket.wait = l.at.Sub(a.arrived)
	l.refuse(a.ticket.work.Tally, refused, a.ticket.wait)
	l.dispatch()
	return refused
}

func (l *Level) refuse(t *Tally, err error, waited time.Duration) {
	t.Refused[err]++
	if !l.rules.Exempt {
		t.Waits[refusedWait].observe(waited.Seconds())
	}
}

// begin gives a request its seats.
func (l *Level) begin(t *Ticket, q *queue) {
	w := &t.work
	if w.Final > l.seats && l.seats > 0 && !l.rules.Exempt { // the same work, on fewer seats
		w.Lingering = time.Duration(float64(w.Lingering) * float64(w.Final) / float64(l.seats))
		w.Final = l.seats
	}
	t.level, t.queue, t.began = l, q, l.at
	l.used += w.most()
	l.running++
	if q != nil {
		l.last = Moment{Progress: l.progress, Start: q.next(l.now())}
		q.seats += w.most()
		q.running++
		q.phase(w.Seats, l.now())
		q.paid += w.after()
	}
	w.Tally.began(w.most())
	l.crowd.add(l.at, w.Writes, 1, 0)
	l.observe()
}

// dispatch lets requests begin while there are seats: each time the oldest of the queue
// in which it would end first if the queues worked in parallel, or of equal ones the queue
// that has waited longest for its turn. The order changes with the time, so all are
// compared: 1 us for 500 queues.
func (l *Level) dispatch() {
	for len(l.due) > 0 && (l.used < l.seats || l.used == 0) {
		now := l.now()
		q := slices.MinFunc(l.due, func(a, b *queue) int {
			return cmp.Or(cmp.Compare(a.end(now), b.end(now)), cmp.Compare(a.turn, b.turn))
		})
		a := q.oldest()
		w := &a.ticket.work
		if !l.fits(w.most()) {
			w.Tally.Unaccommodated++
			return
		}
		l.unline(a)
		l.turns++
		q.turn = l.turns
		a.ticket.wait = l.at.Sub(a.arrived)
		w.Tally.Waits[executed].observe(a.ticket.wait.Seconds())
		l.begin(a.ticket, q)
		close(a.admitted)
	}
}

// settle keeps F5 for a queue whose next or oldest request has changed.
func (l *Level) settle(q *queue) {
	if q.waiting.Len() > 0 {
		q.raise(q.oldest().progress, l.now())
	}
}
