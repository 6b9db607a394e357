package promise

import (
	"fmt"

	"github.com/capstan-dev/capstan/tools/storm/record"
)

// The growth that is allowed to a server that rests: connections that are about to be
// closed, a few more kinds, caches.
const (
	moreGoroutines  = 40
	moreDescriptors = 20
	moreHeap        = 48 << 20
	moreViews       = 0
)

// Grown tells by what the figures of a server at rest are above earlier ones.
func Grown(before, after record.Figures) (wrong []string) {
	for _, f := range []struct {
		name               string
		before, after, may float64
	}{
		{"goroutines", before.Goroutines, after.Goroutines, moreGoroutines},
		{"open files", before.Descriptors, after.Descriptors, moreDescriptors},
		{"open views", before.Views, after.Views, moreViews},
		{"bytes of the heap", before.Heap, after.Heap, moreHeap},
	} {
		if f.after > f.before+f.may {
			wrong = append(wrong, fmt.Sprintf("%.0f %s at rest, before the storm %.0f, %.0f more are allowed", f.after, f.name, f.before, f.may))
		}
	}
	return wrong
}

// returned compares the figures of one process before and after.
func returned(r *record.Record) []string {
	if r.Restarted || r.After.Goroutines == 0 {
		return nil
	}
	return Grown(r.Before, r.After)
}
