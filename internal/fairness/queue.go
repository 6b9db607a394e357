package fairness

import (
	"container/heap"
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
	next    float64    // the progress at which its next request begins
	place   int        // in due
	turn    uint64     // the last time that a request left it
}

func (q *queue) oldest() *applicant { return q.waiting.Front().Value.(*applicant) }

// applicant is a request that waits.
type applicant struct {
	ticket   *Ticket
	queue    *queue
	place    *list.Element // nil when it does not wait any more
	arrived  time.Time
	progress float64 // at that time
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
		q.next = max(q.next, a.progress)
		heap.Push(&l.due, q)
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
		heap.Remove(&l.due, q.place)
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
		q.index, q.next = best, l.progress
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

// dueQueues is a heap of queues by the end of their oldest request; of equal ones the
// queue that has waited longest for its turn is the first.
type dueQueues []*queue

func (d dueQueues) end(i int) float64 { return d[i].next + d[i].oldest().ticket.work.total() }

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (d dueQueues) Len() int { return len(d) }
func (d dueQueues) Less(i, j int) bool {
	if a, b := d.end(i), d.end(j); a != b {
		return a < b
	}
	return d[i].turn < d[j].turn
}
func (d dueQueues) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].place, d[j].place = i, j
}
func (d *dueQueues) Push(x any) {
	q := x.(*queue)
	q.place = len(*d)
	*d = append(*d, q)
}
func (d *dueQueues) Pop() any {
	last := len(*d) - 1
	q := (*d)[last]
	(*d)[last] = nil
	*d = (*d)[:last]
	return q
}
