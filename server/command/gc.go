package command

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// The garbage collector runs when the heap has grown by its headroom since the last run.
const (
	// minHeadroom keeps the collector from running many times a second in a small heap,
	// which costs a fifth of the CPU of a busy server.
	minHeadroom = 64 << 20
	// headroomPercent is the headroom of a large heap. It is half of Go's default, so
	// that a large store needs half as much memory beyond its content.
	headroomPercent = 50
)

// paceGC sets the collector's pace now and after each of its runs, for the whole process,
// unless GOGC or GOMEMLIMIT is set.
func paceGC() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	(&gcPacer{sample: []metrics.Sample{{Name: "/gc/heap/live:bytes"}}}).afterRun()
}

// gcPacer is unreachable, so every run of the collector calls its finalizer, which sets
// the pace for the next run.
type gcPacer struct {
	sample  []metrics.Sample
	percent int
}

func (p *gcPacer) afterRun() {
	metrics.Read(p.sample)
	if percent := gcPercent(p.sample[0].Value.Uint64()); percent != p.percent {
		p.percent = percent
		debug.SetGCPercent(percent)
	}
	runtime.SetFinalizer(p, (*gcPacer).afterRun)
}

// gcPercent is the growth that gives a heap of live bytes its headroom.
func gcPercent(live uint64) int {
	percent := minHeadroom * 100 / max(live, 1<<20)
	return int(min(max(percent, headroomPercent), math.MaxInt32))
}
