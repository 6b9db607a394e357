package main

import "testing"

// TestGateRow: a gate that is locked off is not on.
func TestGateRow(t *testing.T) {
	for spec, want := range map[string]string{
		"{Default: true, PreRelease: featuregate.GA, LockToDefault: true}":                      "stable\ty\ty",
		"{Version: v, Default: false, PreRelease: featuregate.Deprecated, LockToDefault: true}": "deprecated\tn\ty",
		"{Default: true, PreRelease: featuregate.Beta}":                                         "beta\ty\tn",
		"{PreRelease: featuregate.Alpha}":                                                       "alpha\tn\tn",
	} {
		if got := gateRow(spec); got != want {
			t.Errorf("%s: %q", spec, got)
		}
	}
}
