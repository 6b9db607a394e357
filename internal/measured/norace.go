//go:build !race

package measured

// Race reports whether the race detector is on.
const Race = false
