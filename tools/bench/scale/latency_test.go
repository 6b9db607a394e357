package scale

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// TestAnnounceLatency measures how long after the acknowledgement of a write each of 100
// watchers has read the event, at several rates of writing.
func TestAnnounceLatency(t *testing.T) {
	const watchers = 100
	s := start(t)
	first := s.create()
	type seen struct {
		revision uint64
		at       time.Time
	}
	read := make([][]seen, watchers)
	var mu sync.Mutex
	closed := false
	var opened, ended sync.WaitGroup
	for i := range watchers {
		lines, conn, err := s.dial(fmt.Sprintf("&resourceVersion=%d", first))
		if err != nil {
			t.Fatal(err)
		}
		opened.Add(1)
		ended.Go(func() {
			once := sync.OnceFunc(opened.Done)
			for {
				line, err := lines.ReadSlice('\n')
				if err != nil {
					mu.Lock()
					defer mu.Unlock()
					if !closed {
						t.Errorf("watcher %d: %v", i, err)
						once()
					}
					return
				}
				once() // the head of the answer
				if bytes.HasPrefix(line, []byte(`{"type":"MODIFIED"`)) {
					mu.Lock()
					read[i] = append(read[i], seen{revisionOf(line), time.Now()})
					mu.Unlock()
				}
			}
		})
		t.Cleanup(func() { _ = conn.Close() })
	}
	opened.Wait()

	n := 0
	for _, every := range []time.Duration{50 * time.Millisecond, 10 * time.Millisecond, 3 * time.Millisecond, 0} {
		acknowledged := map[uint64]time.Time{}
		mu.Lock()
		clear(read)
		mu.Unlock()
		const writes = 200
		cpu, begin := s.cpu(), time.Now()
		for next := begin; len(acknowledged) < writes; next = next.Add(every) {
			time.Sleep(time.Until(next))
			n++
			rev := s.update(n)
			acknowledged[rev] = time.Now()
		}
		rate := float64(writes) / time.Since(begin).Seconds()
		var latencies []time.Duration
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			latencies = latencies[:0]
			mu.Lock()
			for _, list := range read {
				for _, e := range list {
					if ack, ok := acknowledged[e.revision]; ok {
						latencies = append(latencies, max(0, e.at.Sub(ack)))
					}
				}
			}
			mu.Unlock()
			if len(latencies) == writes*watchers {
				break
			}
		}
		if len(latencies) != writes*watchers {
			t.Fatalf("%d events of %d were read", len(latencies), writes*watchers)
		}
		slices.Sort(latencies)
		median := latencies[len(latencies)/2]
		t.Logf("%4.0f writes/s, %d watchers: median %.2f ms, p90 %.2f ms, p99 %.2f ms; server CPU %.1f us per event", rate, watchers,
			ms(median), ms(latencies[len(latencies)*9/10]), ms(latencies[len(latencies)*99/100]), float64((s.cpu()-cpu).Microseconds())/float64(len(latencies)))
		if median > 2*time.Millisecond {
			t.Errorf("the median is %v, the bound 2 ms", median)
		}
	}
	mu.Lock()
	closed = true
	mu.Unlock()
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
