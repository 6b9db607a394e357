package controller

import (
	"testing"
	"time"
)

// TestStrategies: the newest program decides, and lists of strategies have a common order with one beginning.
func TestStrategies(t *testing.T) {
	by := func(binary, strategy string, lists ...string) *candidate {
		c := &candidate{}
		c.Spec.BinaryVersion, c.Spec.Strategy, c.Spec.PreferredStrategies = binary, strategy, lists
		return c
	}
	for _, c := range []struct {
		candidates []*candidate
		want       string // "" for an error
	}{
		{[]*candidate{by("1.35.0", "a"), by("1.36.0", "b"), by("1.34.0", "c")}, "b"},
		{[]*candidate{by("1.36.0", "a"), by("1.36.0", "a")}, "a"},
		{[]*candidate{by("1.36.0", "a"), by("1.36.0", "b")}, ""},
		{[]*candidate{by("", "a"), by("1.0.0", "b")}, "b"},
		{[]*candidate{by("1.31.0", "", "a", "b"), by("1.31.0", "", "b", "c")}, "a"},
		{[]*candidate{by("1.31.0", "", "a"), by("1.31.0", "", "b")}, ""},
		{[]*candidate{by("1.31.0", "", "a", "b"), by("1.31.0", "", "b", "a")}, ""},
		{[]*candidate{by("1.31.0", "", "c", "a", "b"), by("1.31.0", "", "b", "a")}, ""},
	} {
		if got, err := strategyOf(c.candidates); got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%+v: %q %v, want %q", c.candidates, got, err, c.want)
		}
	}
}

// TestOldest: the oldest emulated version counts first, then the oldest program, then the older candidate.
func TestOldest(t *testing.T) {
	made := func(name, emulation, binary string, second int) *candidate {
		c := &candidate{}
		c.Metadata.Name, c.Metadata.CreationTimestamp = name, time.Unix(int64(second), 0)
		c.Spec.EmulationVersion, c.Spec.BinaryVersion = emulation, binary
		return c
	}
	for want, all := range map[string][]*candidate{
		"a": {made("b", "1.36.0", "1.36.0", 1), made("a", "1.35.0", "1.36.0", 2), made("c", "", "1.30.0", 0)},
		"b": {made("b", "1.35.0", "1.35.9", 2), made("a", "1.35.0", "1.36.0", 1)},
		"c": {made("b", "1.35.0", "1.36.0", 2), made("c", "1.35.0", "1.36.0", 1)},
		"d": {made("e", "1.35.10", "1.36.0", 1), made("d", "1.35.9", "1.36.0", 1)},
	} {
		if got := oldest(all); got == nil || got.Metadata.Name != want {
			t.Errorf("the best is %+v, want %s", got, want)
		}
	}
	if got := oldest([]*candidate{made("a", "new", "1.36.0", 1)}); got != nil {
		t.Errorf("a candidate without a version is the best: %+v", got)
	}
}
