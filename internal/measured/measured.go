// Package measured is for tests that bound the cost of something.
package measured

import (
	"syscall"
	"testing"
	"time"
)

// CPU is the processor time of this process so far.
func CPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Report begins to measure the processor time of a benchmark's loop, over all threads, and returns a
// function that reports it by operation. Other load on the machine does not change it.
func Report(b *testing.B) func() {
	start := CPU()
	return func() { b.ReportMetric(float64((CPU()-start).Nanoseconds())/float64(b.N), "cpu-ns/op") }
}
