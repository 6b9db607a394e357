package fairness

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func newTestLevel(r Rules, seats int) *Level {
	l := NewLevel(NewCrowd())
	l.Configure(r, seats)
	return l
}

// check fails unless F1 and F2 hold.
func (l *Level) check(t testing.TB) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	seats, wanted, waiting, due := 0, 0, 0, 0
	for i, q := range l.queues {
		seats, wanted, waiting = seats+q.seats, wanted+q.wanted, waiting+q.waiting.Len()
		if q.waiting.Len() > 0 {
			due++
			if l.due[q.place] != q {
				t.Errorf("queue %d is not at its place", i)
			}
		} else if q.seats == 0 {
			t.Errorf("queue %d is not used", i)
		}
	}
	if l.rules.Queues == 0 {
		return
	}
	if seats != l.used || wanted != l.wanted || waiting != l.waiting || due != len(l.due) {
		t.Errorf("the queues have %d seats, %d wanted, %d waiting, %d due; the level %d %d %d %d", seats, wanted, waiting, due, l.used, l.wanted, l.waiting, len(l.due))
	}
}

// idle fails unless nothing is left of all requests.
func (l *Level) idle(t testing.TB, tally *Tally) {
	t.Helper()
	l.check(t)
	if !l.Idle() || len(l.queues) > 0 || len(l.flows) > 0 || tally.Waiting+tally.Running+tally.Seats > 0 {
		t.Errorf("something is left: %+v %+v", l.Inspect(nil), tally)
	}
}

// TestNoisyFlow: 200 clients of one flow have a request under way all the time, while ten
// others use a quarter of the seats. Their latency at most doubles, whether requests
// take less time than is assumed or much more.
func TestNoisyFlow(t *testing.T) {
	for _, took := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, 10 * time.Second} {
		alone, noisy := quietLatency(t, took, 0), quietLatency(t, took, 200)
		t.Logf("requests of about %v: p99 alone %v, with a noisy flow %v", took, alone, noisy)
		if noisy > 2*alone {
			t.Errorf("requests of about %v: p99 is %v alone and %v with a noisy flow", took, alone, noisy)
		}
	}
}

// quietLatency is the p99 of requests of ten flows, each between half of a time and one
// and a half, with some clients of another flow.
func quietLatency(t *testing.T, usual time.Duration, noise int) (p99 time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		l, tally := newTestLevel(Rules{Queues: 64, Hand: 6, Length: 50, Wait: time.Hour}, 8), NewTally()
		send := func(flow uint64, random *rand.Rand) time.Duration {
			begin := time.Now()
			var k Ticket
			if err := l.Enter(t.Context(), &k, &Work{Flow: flow, Seats: 1, Tally: tally}); err != nil {
				t.Error(err)
			}
			time.Sleep(usual/2 + time.Duration(random.Int64N(int64(usual))))
			k.Leave()
			return time.Since(begin)
		}
		var over atomic.Bool
		var noisy, quiet sync.WaitGroup
		for i := range noise {
			noisy.Go(func() {
				for random := rand.New(rand.NewPCG(1, uint64(i))); !over.Load(); {
					send(12345678901234567, random)
				}
			})
		}
		var mu sync.Mutex
		var latencies []time.Duration
		for flow := range uint64(10) {
			quiet.Go(func() {
				random := rand.New(rand.NewPCG(2, flow))
				for range 100 {
					time.Sleep(3*usual + time.Duration(random.Int64N(int64(2*usual))))
					took := send(flow*0x9E3779B97F4A7C15, random)
					mu.Lock()
					latencies = append(latencies, took)
					mu.Unlock()
				}
			})
		}
		quiet.Wait()
		l.check(t)
		over.Store(true)
		noisy.Wait()
		l.idle(t, tally)
		slices.Sort(latencies)
		p99 = latencies[len(latencies)*99/100]
	})
	return p99
}

// TestRefusals: seats, places in queues and waiting times are bounded, and a refused,
// cancelled or ended request leaves nothing.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name  string
		rules Rules
		enter []uint64 // flows, after the first request has taken the only seat
		want  []error  // of those, before the first request leaves
	}{
		{"no queues", Rules{}, []uint64{1}, []error{ErrSeats}},
		{"one queue", Rules{Queues: 1, Hand: 1, Length: 2, Wait: time.Second}, []uint64{1, 2, 3}, []error{ErrLate, ErrLate, ErrFull}},
		{"two queues", Rules{Queues: 2, Hand: 1, Length: 1, Wait: time.Second}, []uint64{0, 1, 1}, []error{ErrLate, ErrLate, ErrFull}},
		{"ten million queues", Rules{Queues: 10_000_000, Hand: 2, Length: 1, Wait: time.Second}, []uint64{0, 1, 1 << 40}, []error{ErrLate, ErrLate, ErrLate}},
		{"exempt", Rules{Exempt: true}, []uint64{1, 2}, []error{nil, nil}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, tally := newTestLevel(c.rules, 1), NewTally()
				var first Ticket
				if err := l.Enter(t.Context(), &first, &Work{Seats: 1, Tally: tally}); err != nil {
					t.Fatal(err)
				}
				got := make([]error, len(c.enter))
				var all sync.WaitGroup
				for i, flow := range c.enter {
					all.Go(func() {
						var k Ticket
						got[i] = l.Enter(t.Context(), &k, &Work{Flow: flow, Seats: 1, Tally: tally})
						if waited := k.Waited() >= time.Second; waited != (got[i] == ErrLate) {
							t.Errorf("%v after %s", got[i], k.Waited())
						}
						k.Leave()
					})
					synctest.Wait()
					l.check(t)
				}
				all.Wait()
				if !slices.Equal(got, c.want) {
					t.Errorf("got %v, want %v", got, c.want)
				}
				first.Leave()
				first.Leave()
				l.idle(t, tally)
			})
		})
	}
}

// TestCancellation: requests whose clients have gone free their places, whenever that is.
func TestCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, tally := newTestLevel(Rules{Queues: 4, Hand: 2, Length: 100, Wait: time.Minute}, 2), NewTally()
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%7)*time.Millisecond)
				defer cancel()
				var k Ticket
				if err := l.Enter(ctx, &k, &Work{Flow: uint64(i), Seats: 1 + i%3, Tally: tally}); err != nil {
					if !errors.Is(err, ErrGone) {
						t.Error(err)
					}
					return
				}
				time.Sleep(time.Millisecond)
				k.Leave()
			})
		}
		all.Wait()
		l.idle(t, tally)
		if n := tally.Dispatched + tally.Refused[ErrGone]; n != 200 || tally.Refused[ErrGone] == 0 {
			t.Errorf("%d of 200 requests: %+v", n, tally)
		}
	})
}

// TestWideRequests: a wide request waits for its seats and is not overtaken for ever; one
// that is wider than the level gets all of it; lingering seats come back after their time.
func TestWideRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, tally := newTestLevel(Rules{Queues: 8, Hand: 1, Length: 100, Wait: time.Minute}, 4), NewTally()
		begin := time.Now()
		var order []string
		var all sync.WaitGroup
		send := func(name string, w Work) {
			w.Tally = tally
			all.Go(func() {
				var k Ticket
				if err := l.Enter(t.Context(), &k, &w); err != nil {
					t.Error(err)
				}
				order = append(order, fmt.Sprint(name, " at ", time.Since(begin)))
				time.Sleep(10 * time.Millisecond)
				k.Leave()
			})
			synctest.Wait()
		}
		send("narrow", Work{Flow: 1, Seats: 1})
		send("wide", Work{Flow: 2, Seats: 10})
		send("late", Work{Flow: 3, Seats: 1, Final: 8, Lingering: 5 * time.Millisecond})
		all.Wait()
		send("last", Work{Flow: 4, Seats: 2})
		all.Wait()
		// The late one ends sooner in virtual time, but has as many seats at its end as
		// the level: 4, for twice the time.
		want := []string{"narrow at 0s", "wide at 10ms", "late at 20ms", "last at 40ms"}
		if !slices.Equal(order, want) {
			t.Errorf("got %v, want %v", order, want)
		}
		l.idle(t, tally)
	})
}

// TestLending: unused seats are lent up to the limits, and come back when they are needed.
func TestLending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := 50
		shares := []*Share{
			{Level: newTestLevel(Rules{}, 0), Shares: 50, Lendable: 80},
			{Level: newTestLevel(Rules{}, 0), Shares: 30},
			{Level: newTestLevel(Rules{}, 0), Shares: 20, Borrowing: &limit},
			{Level: newTestLevel(Rules{Exempt: true}, 0), Exempt: true},
		}
		Divide(100, shares)
		ask := func(demands ...int) string {
			for _, s := range shares {
				s.Level.Resize(1000)
			}
			var all sync.WaitGroup
			for i, n := range demands {
				tally := NewTally() // each belongs to one level
				for range n {
					all.Go(func() {
						var k Ticket
						if err := shares[i].Level.Enter(t.Context(), &k, &Work{Seats: 1, Tally: tally}); err == nil {
							time.Sleep(9 * time.Second)
							k.Leave()
						}
					})
				}
			}
			time.Sleep(8 * time.Second)
			Lend(shares)
			all.Wait()
			var got []int
			for _, s := range shares {
				got = append(got, s.Current)
				s.Level.endPeriod()
				s.Level.demand.smoothed = 0
			}
			return fmt.Sprint(got)
		}
		for _, c := range []struct {
			demands []int
			want    string
		}{
			{[]int{0, 90, 10}, "[10 70 20 0]"}, // the first lends
			{[]int{0, 0, 90}, "[18 53 30 0]"},  // what nobody needs goes to all
			{[]int{60, 60, 60}, "[50 30 20 0]"},
			{[]int{0, 0, 0}, "[18 53 30 0]"},
			{[]int{0, 0, 0, 95}, "[10 30 20 95]"}, // never below the least,
		} {
			if got := ask(c.demands...); got != c.want {
				t.Errorf("demands %v: %s, want %s", c.demands, got, c.want)
			}
		}
	})
}

// TestCrowd: the reading and the writing requests of all levels are counted for themselves,
// each nanosecond.
func TestCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		crowd := NewCrowd()
		crowd.Bound(10, 20)
		one, other := NewLevel(crowd), NewLevel(crowd)
		one.Configure(Rules{Queues: 1, Hand: 1, Length: 50, Wait: time.Minute}, 1)
		other.Configure(Rules{}, 5)
		var all sync.WaitGroup
		use := func(l *Level, writes bool) {
			tally := NewTally()
			all.Go(func() {
				var k Ticket
				if err := l.Enter(t.Context(), &k, &Work{Seats: 1, Writes: writes, Tally: tally}); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Second)
				k.Leave()
			})
			synctest.Wait()
		}
		use(one, true)
		use(one, true) // waits for a second
		use(other, true)
		use(other, false)
		all.Wait()
		for _, writes := range []bool{false, true} {
			running, waiting := crowd.Histograms(writes)
			sum := func(h Histogram) (n uint64) {
				for _, c := range h.Counts {
					n += c
				}
				return n
			}
			wantRuns, wantWaits := 0.1e9, 0.0 // parts of the bounds, in nanoseconds
			if writes {
				wantRuns, wantWaits = 0.3e9, 0.05e9
			}
			if sum(running) != 2e9 || sum(waiting) != 2e9 || math.Abs(running.Sum-wantRuns) > 1 || math.Abs(waiting.Sum-wantWaits) > 1 {
				t.Errorf("writes %v: %v and %v", writes, running, waiting)
			}
		}
	})
}

// TestHands: every queue is dealt equally often, and no hand has one twice.
func TestHands(t *testing.T) {
	var counts [16]int
	for flow := range uint64(16 * 15 * 14 * 13) {
		var cards [MaxHand]int
		hand := slices.Clone(deal(&cards, flow, 16, 4))
		for _, c := range hand {
			counts[c]++
		}
		slices.Sort(hand)
		if len(slices.Compact(hand)) != 4 {
			t.Fatalf("the hand of %d is %v", flow, cards)
		}
	}
	for i, n := range counts {
		if n != 15*14*13*4 {
			t.Errorf("queue %d was dealt %d times", i, n)
		}
	}
}

// BenchmarkUncontended is the cost of a request that need not wait.
func BenchmarkUncontended(b *testing.B) {
	l, tally := newTestLevel(Rules{Queues: 128, Hand: 6, Length: 50, Wait: time.Second}, 49), NewTally()
	b.ReportAllocs()
	for i := range b.N {
		var k Ticket
		if err := l.Enter(b.Context(), &k, &Work{Flow: uint64(i) * 0x9E3779B97F4A7C15, Seats: 1, Tally: tally}); err != nil {
			b.Fatal(err)
		}
		k.Leave()
	}
}

// BenchmarkContended is the cost of a request while all seats are taken.
func BenchmarkContended(b *testing.B) {
	l, tally := newTestLevel(Rules{Queues: 128, Hand: 6, Length: 5000, Wait: time.Minute}, 4), NewTally()
	b.ReportAllocs()
	b.SetParallelism(100)
	b.RunParallel(func(pb *testing.PB) {
		flow := uint64(time.Now().UnixNano())
		for pb.Next() {
			var k Ticket
			if err := l.Enter(b.Context(), &k, &Work{Flow: flow, Seats: 1, Tally: tally}); err != nil {
				b.Fatal(err)
			}
			runtime.Gosched()
			k.Leave()
		}
	})
}
