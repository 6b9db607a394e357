package scale

import (
	"net/http"
	"slices"
	"testing"
	"time"
)

// The bounds of a start, relative to a floor that begins to listen, and of the memory of a server at rest: almost twice
// the measured ones.
const (
	startBound = 10.0
	restBound  = 100 * 1024 // KiB
)

// TestStart measures the time from the start of the process until the server is ready, in a new directory and in one that
// was used before, and in turn the time in which a floor listens. It ends with the memory of a server at rest.
func TestStart(t *testing.T) {
	const rounds = 20
	var fresh, used, floors []float64
	for range rounds {
		dir := t.TempDir()
		for _, times := range []*[]float64{&fresh, &used} {
			s := startOn(t, dir)
			*times = append(*times, ms(s.untilReady()))
			s.stop()
		}
		f := startFloor(t, t.TempDir())
		floors = append(floors, ms(time.Since(f.started)))
		f.kill()
	}
	t.Logf("ms until ready, best and median: new directory %.1f, %.1f; used %.1f, %.1f; a floor listens after %.1f, %.1f; medians ÷ the floor's: %.2f, %.2f",
		slices.Min(fresh), median(fresh), slices.Min(used), median(used), slices.Min(floors), median(floors), median(fresh)/median(floors), median(used)/median(floors))
	if ratio := median(fresh) / median(floors); ratio > startBound {
		t.Errorf("a start in a new directory takes %.2f times as long as a floor, the bound is %.1f", ratio, startBound)
	}
	s := start(t)
	s.untilReady()
	memory := settled(s)
	t.Logf("%.1f MiB at rest", memory/1024)
	if memory > restBound {
		t.Errorf("%.0f KiB at rest, the bound is %d", memory, restBound)
	}
}

// untilReady waits until the server is ready, and returns the time since its process was started.
func (s *instance) untilReady() time.Duration {
	s.t.Helper()
	for s.code("/readyz") != http.StatusOK {
		if time.Since(s.started) > time.Minute {
			s.t.Fatal("the server does not become ready")
		}
		time.Sleep(time.Millisecond)
	}
	return time.Since(s.started)
}
