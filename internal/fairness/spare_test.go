package fairness

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestSpareSeats: while one flow has all seats and more requests wait, the only request of
// another flow begins at once, as long as there are spare seats. The flow that has all seats
// gets none of them, and the next free seat only when no more are used than there are.
func TestSpareSeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const busy, quiet, third = 1, 1 << 20, 1 << 40
		l, tally := newTestLevel(Rules{Queues: 64, Hand: 2, Length: 50, Wait: time.Hour, Spare: 1}, 4), NewTally()
		var all sync.WaitGroup
		var tickets []*Ticket
		enter := func(flow uint64, seats int) *Ticket {
			k := new(Ticket)
			all.Go(func() {
				if err := l.Enter(t.Context(), k, &Work{Flow: flow, Seats: seats, Tally: tally}); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
			tickets = append(tickets, k)
			return k
		}
		for i := range 8 {
			if entered := enter(busy, 1).Entered(); entered != (i < 4) {
				t.Errorf("request %d of the busy flow: entered %v", i, entered)
			}
		}
		wide, only, second := enter(third, 2), enter(quiet, 1), enter(quiet, 1)
		if wide.Entered() || !only.Entered() || second.Entered() {
			t.Errorf("entered: a wide request %v, the only one of a flow %v, its second one %v", wide.Entered(), only.Entered(), second.Entered())
		}
		l.check(t)
		leave := func(k *Ticket, running int) {
			k.Leave()
			if synctest.Wait(); tally.Running != running {
				t.Errorf("%d requests run, not %d", tally.Running, running)
			}
		}
		leave(tickets[0], 4)
		leave(only, 4) // the next one begins
		for range tickets {
			for _, k := range tickets {
				k.Leave()
			}
			synctest.Wait()
		}
		all.Wait()
		l.idle(t, tally)
	})
}
