package fairness

import (
	"maps"
	"slices"
	"time"
)

// Moment is the last time that a request began.
type Moment struct {
	Progress float64
	Start    float64 // of the request, in its queue
}

// State is a level at one moment.
type State struct {
	Seats, Used, Waiting, Running int
	Progress                      float64
	Last                          Moment
	Due                           []float64 // the progress at which the next requests of queues begin
	Discounted                    []float64 // the same, less the assumed rest of those that run
	SeatUse, RunningUse, WaitUse  Histogram
	Queues                        []QueueState // those in use, by index
}

// QueueState is a queue at one moment.
type QueueState struct {
	Index, Seats, Waiting int
	Running               int
	Wanted                int // seats of waiting requests
	Initial               int // the same, of their first phases
	Next, Work            float64
}

// Inspect reads the level, and lets visit read tallies of its requests meanwhile.
func (l *Level) Inspect(visit func()) State {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance()
	l.observe()
	s := State{Seats: l.seats, Used: l.used, Waiting: l.waiting, Running: l.running, Progress: l.progress, Last: l.last,
		SeatUse: l.seatUse.clone(), RunningUse: l.runningUse.clone(), WaitUse: l.waitingUse.clone()}
	for _, index := range slices.Sorted(maps.Keys(l.queues)) {
		q := l.queues[index]
		state := QueueState{Index: index, Seats: q.seats, Waiting: q.waiting.Len(), Running: q.running, Wanted: q.wanted, Next: q.next(l.now()), Work: q.work}
		for e := q.waiting.Front(); e != nil; e = e.Next() {
			state.Initial += e.Value.(*applicant).ticket.work.Seats
		}
		s.Queues = append(s.Queues, state)
		if state.Waiting > 0 {
			s.Due = append(s.Due, state.Next)
			s.Discounted = append(s.Discounted, state.Next-float64(q.seats)*assumedTime)
		}
	}
	if visit != nil {
		visit()
	}
	return s
}

// Visit calls visit with every waiting request, by queue and arrival. Its level is locked
// meanwhile.
func (l *Level) Visit(visit func(queue, place int, arrived time.Time, w *Work)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, index := range slices.Sorted(maps.Keys(l.queues)) {
		place := 0
		for e := l.queues[index].waiting.Front(); e != nil; e = e.Next() {
			a := e.Value.(*applicant)
			visit(index, place, a.arrived, &a.ticket.work)
			place++
		}
	}
}

// Idle reports whether no request is under way.
func (l *Level) Idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.used == 0 && l.waiting == 0 && l.running == 0
}
