package command

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// The garbage collector runs when the heap has grown by its headroom since the last run.
const (
	// minHeadroom keeps the collector from running many times a second in a small heap,
	// which costs a fifth of the CPU of a busy server.
	minHeadroom = 64 << 20
	// headroomPercent is the headroom of a large heap. It is half of Go's default, so
	// that a large store needs half as much memory beyond its content.
	headroomPercent = 50
	// leastHeap is the size that Go assumes for a smaller heap.
	leastHeap = 4 << 20
)

// paceGC sets the collector's pace now and after each of its runs, for the whole process,
// unless GOGC or GOMEMLIMIT is set.
func paceGC() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	newGCPacer().afterRun()
	go giveBack()
}

// gcPacer is unreachable, so every run of the collector calls its finalizer, which sets
// the pace for the next run.
type gcPacer struct {
	sample  []metrics.Sample
	percent int
}

func newGCPacer() *gcPacer {
	return &gcPacer{sample: []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/globals:bytes"}, {Name: "/gc/scan/stack:bytes"}}}
}

func (p *gcPacer) afterRun() {
	metrics.Read(p.sample)
	base := uint64(0) // of the percentage: tables of types are megabytes of globals
	for _, s := range p.sample {
		base += s.Value.Uint64()
	}
	if percent := gcPercent(base); percent != p.percent {
		p.percent = percent
		debug.SetGCPercent(percent)
	}
	runtime.SetFinalizer(p, (*gcPacer).afterRun)
}

// gcPercent is the growth that gives a heap of live bytes its headroom.
func gcPercent(live uint64) int {
	percent := minHeadroom * 100 / max(live, leastHeap)
	return int(min(max(percent, headroomPercent), math.MaxInt32))
}

// Memory is given back when a burst is over: the last period has allocated little, and
// those before, since the last time, a good part of the heap.
const (
	restPeriod = 2 * time.Second
	restBytes  = 2 << 20
	burstBytes = 16 << 20
)

// giveBack returns memory to the machine after bursts, as of connecting clients. Without it
// the garbage and the grown stacks of a burst stay until the heap has grown by its
// headroom, or for two minutes, and the free memory for some more.
func giveBack() {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}}
	var last, given uint64
	for range time.Tick(restPeriod) {
		metrics.Read(sample)
		allocated, live := sample[0].Value.Uint64(), sample[1].Value.Uint64()
		if allocated-last < restBytes && allocated-given > max(burstBytes, live/8) {
			runtime.GC() // the pools keep what they have for one more run
			debug.FreeOSMemory()
			given = allocated
		}
		last = allocated
	}
}
