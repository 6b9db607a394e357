package main

import (
	"context"
	"fmt"
	"time"

	"github.com/capstan-dev/capstan/tools/storm/program"
	"github.com/capstan-dev/capstan/tools/storm/promise"
)

// tries is how often a smaller program runs before it counts as one without the finding:
// what happens at once is another thing each time.
const tries = 3

// smaller looks for a program with less to do that breaks the same promise, the first that
// was found, and shows it.
func (o *options) smaller(ctx context.Context, p program.Program, found []promise.Violation, dir string) {
	wanted, end := found[0].Promise, time.Now().Add(o.shrink)
	last, best := found, p
	for progress := true; progress; {
		progress = false
		for _, q := range best.Smaller() {
			if again := o.again(ctx, q, wanted, dir+"-smaller", end); again != nil {
				best, last, progress = q, again, true
				break
			}
			if ctx.Err() != nil || time.Now().After(end) {
				progress = false
				break
			}
		}
	}
	if best.Steps() == p.Steps() {
		return
	}
	fmt.Printf("  a smaller program does it too: %s\n", best)
	show(last)
	for i, steps := range best.Clients {
		if best.Steps() <= 60 {
			fmt.Printf("    client %d: %v\n", i, steps)
		}
	}
}

// again runs a program some times and returns its findings once it breaks the
// promise.
func (o *options) again(ctx context.Context, p program.Program, wanted string, dir string, end time.Time) []promise.Violation {
	for range tries {
		if ctx.Err() != nil || time.Now().After(end) {
			return nil
		}
		found, _, err := o.judge(ctx, p, dir)
		if err != nil {
			return nil
		}
		for _, v := range found {
			if v.Promise == wanted {
				return found
			}
		}
	}
	return nil
}
