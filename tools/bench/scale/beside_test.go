package scale

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// besideBound is how often the slowest writes may take as long while a client lists as without it.
const besideBound = 2.0

// TestWritesBesideLists measures how long writes take while another client lists 100,000 pods over and over, each
// time all of them, next to the same writes without it, in turn. OBJECTS is another number of pods.
func TestWritesBesideLists(t *testing.T) {
	count, s := objects, start(t)
	_, _ = fmt.Sscan(os.Getenv("OBJECTS"), &count)
	s.send("POST", "/api/v1/namespaces/default/serviceaccounts", "application/json", `{"metadata":{"name":"measured"}}`)
	s.createPods(count)
	s.create()
	var ratios []float64
	for range 3 {
		middle, slow := s.writeTimes()
		listed, end := s.listOver()
		middleBeside, slowBeside := s.writeTimes()
		end()
		ratios = append(ratios, float64(slowBeside)/float64(slow))
		t.Logf("writes take %.1f ms, 99 of 100 at most %.1f ms; beside %d lists %.1f and %.1f ms", ms(middle), ms(slow), listed(), ms(middleBeside), ms(slowBeside))
	}
	if worse := median(ratios); worse > besideBound {
		t.Errorf("the slowest writes take %.1f times as long beside a client that lists all pods, the bound is %.1f", worse, besideBound)
	}
}

// writeTimes are the median and the 99th percentile of the times of 1,000 writes, 100 a second by four clients.
func (s *instance) writeTimes() (middle, slow time.Duration) {
	const clients, each = 4, 250
	var mu sync.Mutex
	var times []time.Duration
	var writers sync.WaitGroup
	for client := range clients {
		writers.Go(func() {
			next := time.Now()
			for i := range each {
				time.Sleep(time.Until(next))
				next = next.Add(clients * 10 * time.Millisecond)
				begin := time.Now()
				body := fmt.Sprintf(`{"metadata":{"name":"w-%d-%d-%d"},"data":{"filler":%q}}`, begin.UnixNano(), client, i, filler)
				if err := s.try("POST", collection, body); err != nil {
					s.t.Error(err)
					return
				}
				mu.Lock()
				times = append(times, time.Since(begin))
				mu.Unlock()
			}
		})
	}
	writers.Wait()
	if s.t.Failed() {
		s.t.FailNow()
	}
	slices.Sort(times)
	return times[len(times)/2], times[len(times)*99/100]
}

// listOver lists all pods over and over until end is called. listed is the number of lists that were read whole.
func (s *instance) listOver() (listed func() int64, end func()) {
	var n atomic.Int64
	ending := make(chan struct{})
	var lister sync.WaitGroup
	lister.Go(func() {
		for {
			select {
			case <-ending:
				return
			default:
			}
			var connected sync.WaitGroup
			connected.Add(1)
			if _, _, err := s.listAll("application/json", &connected); err != nil {
				s.t.Error(err)
				return
			}
			n.Add(1)
		}
	})
	return n.Load, func() {
		close(ending)
		lister.Wait()
	}
}
