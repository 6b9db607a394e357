package fairness

import "time"

// Ticket is the place of a request in a level. The zero ticket is none.
type Ticket struct {
	level *Level
	queue *queue // nil when it was not dealt one
	work  Work
	began time.Time
	wait  time.Duration
}

// Entered reports whether the ticket has to leave.
func (t *Ticket) Entered() bool { return t.level != nil }

// Waited is the time that a ticket has waited for its seats, or until it was refused, when Enter
// has returned.
func (t *Ticket) Waited() time.Duration { return t.wait }

// Leave ends the use of the seats, those of the lingering part after its time. It does
// nothing for a ticket that has not entered, or has left.
func (t *Ticket) Leave() {
	l := t.level
	if l == nil {
		return
	}
	t.level = nil
	l.mu.Lock()
	defer l.mu.Unlock()
	took := l.advance().Sub(t.began)
	l.running--
	w := &t.work
	w.Tally.ended(took, w.Initial)
	l.crowd.add(l.at, w.Writes, -1, 0)
	if q := t.queue; q != nil {
		q.running--
		l.count(w.Flow, -1)
		q.phase(-w.Seats, t.began.Sub(l.made).Seconds())
		q.paid += float64(w.Seats) * took.Seconds()
		l.settle(q)
	}
	if w.Lingering > 0 && w.Final > 0 {
		held := heldSeats{l, t.queue, w.most(), w.Tally}
		time.AfterFunc(w.Lingering, held.free)
		l.observe()
		return
	}
	heldSeats{l, t.queue, w.most(), w.Tally}.vacate()
}

// heldSeats are seats of a request that has ended.
type heldSeats struct {
	level *Level
	queue *queue
	seats int
	tally *Tally
}

func (h heldSeats) free() {
	h.level.mu.Lock()
	defer h.level.mu.Unlock()
	h.level.advance()
	h.vacate()
}

func (h heldSeats) vacate() {
	l := h.level
	l.used -= h.seats
	h.tally.Seats -= h.seats
	if h.queue != nil {
		h.queue.seats -= h.seats
		l.release(h.queue)
	}
	l.observe()
	l.dispatch()
}
