// Package measured is for tests that bound the cost of something.
package measured

import (
	"syscall"
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
