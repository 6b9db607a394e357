package fairness

import (
	"container/list"
	"math"
	"time"
)

// queue is the requests of some flows that wait, or have seats.
type queue struct {
	index   int
	seats   int // taken by its requests
	running int
	waiting *list.List // of *applicant, in the order of their arrival
	work    float64    // of those that wait, in seat-seconds
	wanted  int        // seats of those that wait
	paid    float64    // work of those that have ended, in seat-seconds, or the progress that it missed
	width   int        // seats of the first phases of those that run
	begins  float64    // when they began, in seconds, the sum over width
	place   int        // in due
	turn    uint64     // the last time that a request left it
}

func (q *queue) oldest() *applicant { return q.waiting.Front().Value.(*applicant) }

// next is the progress at which its next request begins. Those that run count with the
// work that they have done by now and some more, so that slow ones are not free until
// they end, nor many free that begin at once.
func (q *queue) next(now float64) float64 {
	return q.paid + float64(q.width)*(now+assumedTime) - q.begins
}

// end is the progress at which its oldest request would end.
func (q *queue) end(now float64) float64 { return q.next(now) + q.oldest().ticket.work.total() }

// raise makes next no less than the progress.
func (q *queue) raise(progress, now float64) { q.paid += max(0, progress-q.next(now)) }

// phase notes that a first phase of so many seats begins, or of -seats that it has ended.
func (q *queue) phase(seats int, began float64) {
	q.width += seats
	q.begins += float64(seats) * began
	if q.width == 0 {
		q.begins = 0 // without rounding errors
	}
}

// applicant is a request that waits.
type applicant struct {
	ticket   *Ticket
	queue    *queue
	place    *list.Element // nil when it does not wait any more
	arrived  time.Time
	progress float64 // Level.start at that time
	admitted chan struct{}
}

// line appends a request to its queue.
func (l *Level) line(a *applicant) {
	q, w := a.queue, &a.ticket.work
	a.place = q.waiting.PushBack(a)
	q.work += w.total()
	q.wanted += w.most()
	l.wanted += w.most()
	l.waiting++
	w.Tally.Waiting++
	l.crowd.add(l.at, w.Writes, 0, 1)
	if q.waiting.Len() == 1 {
		q.raise(a.progress, l.now())
		q.place = len(l.due)
		l.due = append(l.due, q)
	}
	l.observe()
}

// unline removes a request from its queue.
func (l *Level) unline(a *applicant) {
	q, w := a.queue, &a.ticket.work
	q.waiting.Remove(a.place)
	a.place = nil
	q.work -= w.total()
	q.wanted -= w.most()
	l.wanted -= w.most()
	l.waiting--
	w.Tally.Waiting--
	l.crowd.add(l.at, w.Writes, 0, -1)
	if q.waiting.Len() > 0 {
		l.settle(q)
	} else {
		q.work = 0 // without rounding errors
		last := len(l.due) - 1
		l.due[q.place] = l.due[last]
		l.due[q.place].place = q.place
		l.due[last] = nil
		l.due = l.due[:last]
	}
	l.observe()
}

// choose deals a flow its hand, and returns the queue with the least waiting work. The
// caller uses or releases it.
func (l *Level) choose(flow uint64) *queue {
	var cards [MaxHand]int
	hand := deal(&cards, flow, l.rules.Queues, l.rules.Hand)
	l.dealt++
	first := int(l.dealt % uint64(len(hand)))
	best := hand[first]
	if l.waiting > 0 {
		least := math.Inf(1)
		for i := range hand {
			index, work := hand[(first+i)%len(hand)], 0.0
			if q := l.queues[index]; q != nil {
				work = q.work
			}
			if work < least {
				best, least = index, work
			}
		}
	}
	q := l.queues[best]
	if q == nil {
		if n := len(l.free); n > 0 {
			q, l.free = l.free[n-1], l.free[:n-1]
		} else {
			q = &queue{waiting: list.New()}
		}
		q.index, q.paid = best, 0 // raised when its request begins or waits
		l.queues[best] = q
	}
	return q
}

// mostFree bounds the queues that are kept for reuse.
const mostFree = 256

// release drops a queue that is not used.
func (l *Level) release(q *queue) {
	if q == nil || q.seats > 0 || q.waiting.Len() > 0 {
		return
	}
	delete(l.queues, q.index)
	if len(l.free) < mostFree {
		l.free = append(l.free, q)
	}
}

// MaxHand is the largest hand: a hash has 64 bits, 4 of which are left over to be fair.
const MaxHand = 15

// deal returns different queues, any hand of which is equally likely for a random hash.
func deal(into *[MaxHand]int, flow uint64, queues, hand int) []int {
	hand = max(min(hand, queues, MaxHand), 1)
	var sorted [MaxHand]int
	for i := range hand {
		left := uint64(queues - i)
		card := int(flow % left)
		flow /= left
		at := 0
		for at < i && sorted[at] <= card { // the card is one of those left
			card++
			at++
		}
		copy(sorted[at+1:i+1], sorted[at:i])
		sorted[at] = card
		into[i] = card
	}
	return into[:hand]
}
