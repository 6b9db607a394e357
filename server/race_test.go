//go:build race

package server

// raceEnabled reports whether the race detector is on; with it pools forget some of their
// content.
const raceEnabled = true
