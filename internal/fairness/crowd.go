package fairness

import (
	"time"

	"github.com/capstan-dev/capstan/internal/ranks"
)

// Crowd observes how many requests of all levels run and wait, the reading ones and the
// writing ones each for themselves. It is safe for concurrent use; nil observes nothing.
type Crowd struct {
	mu             ranks.Mutex[ranks.Leaf]
	running, queue [2]*Utilization // by Work.Writes
}

// NewCrowd makes a crowd of nobody.
func NewCrowd() *Crowd {
	c, now := &Crowd{}, time.Now()
	for i := range c.running {
		c.running[i], c.queue[i] = newUtilization(crowdBounds, now), newUtilization(crowdBounds, now)
	}
	return c
}

// Bound sets the numbers of requests that may run and wait.
func (c *Crowd) Bound(running, waiting int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for i := range c.running {
		c.running[i].change(now, 0)
		c.queue[i].change(now, 0)
		c.running[i].of, c.queue[i].of = float64(running), float64(waiting)
	}
}

// Histograms returns how many requests have run at once so far and how many have waited,
// of those that write or of those that read.
func (c *Crowd) Histograms(writes bool) (running, waiting Histogram) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, i := time.Now(), kindOf(writes)
	c.running[i].change(now, 0)
	c.queue[i].change(now, 0)
	return c.running[i].clone(), c.queue[i].clone()
}

// add notes that more requests, or fewer, run and wait from now on.
func (c *Crowd) add(now time.Time, writes bool, running, waiting int) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	i := kindOf(writes)
	if running != 0 {
		c.running[i].change(now, running)
	}
	if waiting != 0 {
		c.queue[i].change(now, waiting)
	}
}

func kindOf(writes bool) int {
	if writes {
		return 1
	}
	return 0
}
