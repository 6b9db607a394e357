//go:build race

package measured

// Race reports whether the race detector is on: it multiplies costs, and pools forget some of
// their content.
const Race = true
