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

// Memory is given back when a burst is over: the last periods have each allocated little,
// and those before, since the last time, a good part of the heap. The start of the process
// is a burst, whatever it has allocated. A burst is over later than
// connections rest (server/internal/conns), which some do up to 4 s after their request:
// until then net/http has buffers and a goroutine for each.
const (
	restPeriod  = time.Second
	restPeriods = 4
	restBytes   = 2 << 20 // in a period; 5,000 connections that rest allocate 1 MB
	burstBytes  = 16 << 20
)

// giveBack returns memory to the machine after bursts, as of connecting clients. Without it
// the garbage and the grown stacks of a burst stay until the heap has grown by its
// headroom, or for two minutes, and the free memory for some more. After the start the
// pages of the program go too.
func giveBack() {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}}
	var b burst
	for range time.Tick(restPeriod) {
		start := b.given == 0
		metrics.Read(sample)
		if b.over(sample[0].Value.Uint64(), sample[1].Value.Uint64()) {
			runtime.GC() // the pools keep what they have for one more run
			debug.FreeOSMemory()
			if start {
				dropProgram()
			}
		}
	}
}

// burst finds the end of bursts.
type burst struct {
	last, given uint64 // allocated at the last period, and when memory was given back; given is 0 before the first time
	quiet       int    // periods that allocated little
}

// over reports whether a burst has ended, at the end of a period.
func (b *burst) over(allocated, live uint64) bool {
	if b.quiet++; allocated-b.last >= restBytes {
		b.quiet = 0
	}
	b.last = allocated
	if b.quiet < restPeriods || b.given > 0 && allocated-b.given <= max(burstBytes, live/8) {
		return false
	}
	b.given = allocated
	return true
}
