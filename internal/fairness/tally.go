package fairness

import (
	"maps"
	"math"
	"slices"
	"time"
)

// Tally counts the requests of one origin within a level. The level's lock guards it:
// Level.Inspect reads it.
type Tally struct {
	Waiting, Running, Seats    int // now
	Dispatched, Unaccommodated uint64
	Refused                    map[error]uint64
	Waits                      [2]Histogram // in seconds, of the refused and the executed
	Runs                       [2]Histogram // in seconds, of whole requests and of the begin of long ones
	Lengths                    Histogram    // of queues, with the new request
	Widths                     Histogram    // in seats
	Watchers                   Histogram    // of the objects that are written
}

// The indices of Waits.
const (
	refusedWait = iota
	executed
)

var (
	timeBounds    = []float64{0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30}
	lengthBounds  = []float64{0, 10, 25, 50, 100, 250, 500, 1000}
	widthBounds   = []float64{1, 2, 4, 10}
	watcherBounds = []float64{0, 1, 10, 100, 1000, 10000}
	seatBounds    = []float64{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1}
	crowdBounds   = []float64{0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1}
	requestBounds = []float64{0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1}
)

// NewTally makes a tally of nothing.
func NewTally() *Tally {
	t := &Tally{Refused: map[error]uint64{}, Lengths: newHistogram(lengthBounds), Widths: newHistogram(widthBounds), Watchers: newHistogram(watcherBounds)}
	for i := range t.Waits {
		t.Waits[i], t.Runs[i] = newHistogram(timeBounds), newHistogram(timeBounds)
	}
	return t
}

func (t *Tally) began(seats int) {
	t.Dispatched++
	t.Running++
	t.Seats += seats
}

func (t *Tally) ended(took time.Duration, initial bool) {
	t.Running--
	kind := 0
	if initial {
		kind = 1
	}
	t.Runs[kind].observe(took.Seconds())
}

// estimated notes the width of a request, and the watchers of a write.
func (t *Tally) estimated(w *Work) {
	t.Widths.observe(float64(w.most()))
	if w.Writes {
		t.Watchers.observe(float64(w.Watchers))
	}
}

// Histogram counts values by their size.
type Histogram struct {
	Bounds []float64
	Counts []uint64 // up to each bound and above the one before, at the end those above all
	Sum    float64
}

func newHistogram(bounds []float64) Histogram {
	return Histogram{Bounds: bounds, Counts: make([]uint64, len(bounds)+1)}
}

func (h *Histogram) observe(v float64) { h.add(v, 1) }

func (h *Histogram) add(v float64, times uint64) {
	i := 0
	for i < len(h.Bounds) && v > h.Bounds[i] {
		i++
	}
	h.Counts[i] += times
	h.Sum += v * float64(times)
}

func (h *Histogram) clone() Histogram {
	return Histogram{h.Bounds, slices.Clone(h.Counts), h.Sum}
}

// Utilization is a histogram over time of a number as a part of another: each nanosecond
// is an observation.
type Utilization struct {
	Histogram
	of, value float64
	since     time.Time
}

func newUtilization(bounds []float64, now time.Time) *Utilization {
	return &Utilization{Histogram: newHistogram(bounds), of: 1, since: now}
}

// observe notes the number from now on.
func (u *Utilization) observe(now time.Time, value int) {
	if past := now.Sub(u.since); past > 0 {
		u.add(u.value/max(u.of, 1), uint64(past))
	}
	u.value, u.since = float64(value), now
}

// change notes a change of the number, at a time that may be a little before the last
// one.
func (u *Utilization) change(now time.Time, by int) {
	if now.Before(u.since) {
		now = u.since
	}
	u.observe(now, int(u.value)+by)
}

// demand is the number of seats that requests have or wait for, over a period.
type demand struct {
	since, at    time.Time
	value        float64
	sum, squares float64 // integrals over the seconds
	highest      float64
	smoothed     float64
}

func (d *demand) observe(now time.Time, seats int) {
	past := now.Sub(d.at).Seconds()
	d.sum += d.value * past
	d.squares += d.value * d.value * past
	d.value, d.at = float64(seats), now
	d.highest = max(d.highest, d.value)
}

// slowness is the weight of the past in the smoothed demand.
const slowness = 0.977

// end ends a period: its highest demand, and the smoothed one, which falls slowly.
func (d *demand) end(now time.Time) (highest, smoothed float64) {
	d.observe(now, int(d.value))
	if seconds := now.Sub(d.since).Seconds(); seconds > 0 {
		mean := d.sum / seconds
		usual := mean + math.Sqrt(max(d.squares/seconds-mean*mean, 0))
		d.smoothed = max(usual, slowness*d.smoothed+(1-slowness)*usual)
	}
	highest = d.highest
	d.since, d.sum, d.squares, d.highest = now, 0, 0, d.value
	return highest, d.smoothed
}

// Clone copies the tally.
func (t *Tally) Clone() Tally {
	c := *t
	c.Refused = maps.Clone(t.Refused)
	c.Lengths, c.Widths, c.Watchers = t.Lengths.clone(), t.Widths.clone(), t.Watchers.clone()
	for i := range t.Waits {
		c.Waits[i], c.Runs[i] = t.Waits[i].clone(), t.Runs[i].clone()
	}
	return c
}
