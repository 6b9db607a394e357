// Package invariants switches internal checks on. A build with the tag invariants checks,
// while it runs, the promises in the comments on types, and panics when one is broken; so
// do the parts of Pebble that know the tag. Without the tag the checks are not in the
// program.
//
//	if invariants.Enabled && !sorted(keys) {
//		invariants.Failf("the keys %q are not in order", keys)
//	}
package invariants

import "fmt"

// Failf ends the program, or the test, with a broken promise.
func Failf(format string, args ...any) {
	panic("broken invariant: " + fmt.Sprintf(format, args...))
}
