package command

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

func TestGCPercent(t *testing.T) {
	for _, c := range []struct {
		live uint64
		want int
	}{
		{0, 1600},
		{8 << 20, 800},
		{64 << 20, 100},
		{128 << 20, 50},
		{4 << 30, 50},
	} {
		if got := gcPercent(c.live); got != c.want {
			t.Errorf("gcPercent(%d) = %d, want %d", c.live, got, c.want)
		}
	}
}

// The pace follows the heap: it is set anew after a run of the collector.
func TestGCPaceFollowsTheHeap(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	paceGC()
	held := make([]byte, 256<<20)
	for range 100 { // the finalizer runs some time after the collector
		if runtime.GC(); current() == headroomPercent {
			runtime.KeepAlive(held)
			return
		}
		runtime.Gosched()
	}
	t.Errorf("with %d MiB in use the percentage is %d, want %d", len(held)>>20, current(), headroomPercent)
}

// Memory is given back once after a burst, when it has been quiet long enough for all
// connections to rest, and not for what an idle server allocates.
func TestBurstOver(t *testing.T) {
	const mib = 1 << 20
	var b burst
	allocated, over := uint64(0), ""
	for _, period := range []uint64{10 * mib, 30 * mib, 10, 20, 0, 2 * mib, 10, 10, 10, 10, 10, 10, 10, 10, 10, 8 * mib, 7 * mib, 10, 10, 10, 10} {
		if allocated += period; b.over(allocated, 10*mib) {
			over += "x"
		} else {
			over += "."
		}
	}
	if want := ".........x..........."; over != want {
		t.Errorf("over: %s, want %s", over, want)
	}
}

// The start is a burst, however little it allocates, but only once.
func TestStartIsABurst(t *testing.T) {
	var b burst
	allocated, over := uint64(0), ""
	for _, period := range []uint64{3 << 20, 10, 10, 10, 10, 10, 3 << 20, 10, 10, 10, 10, 10} {
		if allocated += period; b.over(allocated, 1<<20) {
			over += "x"
		} else {
			over += "."
		}
	}
	if want := "....x......."; over != want {
		t.Errorf("over: %s, want %s", over, want)
	}
}

// current reads the collector's percentage.
func current() uint64 {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
