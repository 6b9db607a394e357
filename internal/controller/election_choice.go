package controller

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/version"
)

// oldestEmulation is the strategy that takes the candidate that behaves as the oldest version.
const oldestEmulation = "OldestEmulationVersion"

// candidate is the part of a candidate for a lease that elections read.
type candidate struct {
	Metadata struct {
		Namespace, Name, UID, ResourceVersion string
		CreationTimestamp                     time.Time
	}
	Spec struct {
		LeaseName                       string
		PingTime, RenewTime             *time.Time
		BinaryVersion, EmulationVersion string
		Strategy                        string
		PreferredStrategies             []string // of v1alpha1, in place of Strategy
	}
}

func readCandidate(body []byte) (*candidate, error) {
	c := &candidate{}
	return c, json.Unmarshal(body, c)
}

// asked reports whether a candidate has been asked and not answered yet.
func (c *candidate) asked() bool {
	return c.Spec.PingTime != nil && c.Spec.RenewTime != nil && c.Spec.RenewTime.Before(*c.Spec.PingTime)
}

// expired reports whether a candidate does not count any more.
func (c *candidate) expired(now time.Time) bool {
	return c.Spec.RenewTime == nil || c.Spec.RenewTime.Add(candidateLife).Before(now)
}

// leaseSpec is the part of a lease that elections read.
type leaseSpec struct {
	HolderIdentity       string
	LeaseDurationSeconds *int64
	RenewTime            *time.Time
}

// expired reports whether the holder of a lease has lost it.
func (l *leaseSpec) expired(now time.Time) bool {
	return l.RenewTime == nil || l.LeaseDurationSeconds == nil || l.RenewTime.Add(time.Duration(*l.LeaseDurationSeconds)*time.Second).Before(now)
}

// within reports whether less than a time has passed since at; nil was never.
func within(at *time.Time, d time.Duration, now time.Time) bool {
	return at != nil && at.Add(d).After(now)
}

// electionDue reports whether a lease, nil for a missing one, needs an election: it has no holder, there is a better one, or some candidates have
// not answered for long.
func electionDue(candidates []*candidate, lease *leaseSpec, now time.Time) (bool, error) {
	if lease == nil || lease.HolderIdentity == "" || lease.expired(now) {
		return true, nil
	}
	for _, c := range candidates {
		if c.Spec.RenewTime != nil && c.Spec.RenewTime.Add(candidateLife/2).Before(now) {
			return true, nil
		}
	}
	strategy, err := strategyOf(candidates)
	if err != nil || strategy != oldestEmulation {
		return false, err
	}
	best := oldest(candidates)
	return best != nil && best.Metadata.Name != lease.HolderIdentity, nil
}

// strategyOf is the strategy of the candidates: that of the newest program, on which all such programs must agree. Candidates of v1alpha1
// have lists, and the strategy is the one that comes first in all of them together.
func strategyOf(candidates []*candidate) (string, error) {
	if slices.ContainsFunc(candidates, func(c *candidate) bool { return len(c.Spec.PreferredStrategies) > 0 }) {
		return firstStrategy(candidates)
	}
	newest := candidates[0]
	for _, c := range candidates[1:] {
		switch order := compareVersions(c.Spec.BinaryVersion, newest.Spec.BinaryVersion); {
		case order > 0:
			newest = c
		case order == 0 && c.Spec.Strategy != newest.Spec.Strategy:
			return "", fmt.Errorf("the candidates %s and %s have the same version, and the strategies %s and %s",
				newest.Metadata.Name, c.Metadata.Name, newest.Spec.Strategy, c.Spec.Strategy)
		}
	}
	return newest.Spec.Strategy, nil
}

// errStrategies means that lists of strategies contradict each other.
var errStrategies = errors.New("the candidates do not agree on a first strategy")

// firstStrategy is the first strategy of an order that all lists of the candidates follow. Only one may have no other one before it.
func firstStrategy(candidates []*candidate) (string, error) {
	after, before := map[string][]string{}, map[string]int{} // the strategies after each, and the number of those before each
	for _, c := range candidates {
		for i, s := range c.Spec.PreferredStrategies {
			before[s] += min(i, 1)
			if i > 0 {
				previous := c.Spec.PreferredStrategies[i-1]
				after[previous] = append(after[previous], s)
			}
		}
	}
	var ready []string
	for s, n := range before {
		if n == 0 {
			ready = append(ready, s)
		}
	}
	if len(ready) != 1 {
		return "", errStrategies
	}
	first, done := ready[0], 0
	for ; len(ready) > 0; done++ {
		s := ready[0]
		ready = ready[1:]
		for _, next := range after[s] {
			if before[next]--; before[next] == 0 {
				ready = append(ready, next)
			}
		}
	}
	if done != len(before) { // a circle
		return "", errStrategies
	}
	return first, nil
}

// oldest is the candidate with the oldest emulated version, then the oldest program, then the one that came first; nil if none has versions.
func oldest(candidates []*candidate) (best *candidate) {
	for _, c := range candidates {
		if parseVersion(c.Spec.EmulationVersion) == nil || parseVersion(c.Spec.BinaryVersion) == nil {
			continue
		}
		if best == nil || c.better(best) {
			best = c
		}
	}
	return best
}

// better reports whether a candidate is a better choice than another one.
func (c *candidate) better(other *candidate) bool {
	if order := compareVersions(c.Spec.EmulationVersion, other.Spec.EmulationVersion); order != 0 {
		return order < 0
	}
	if order := compareVersions(c.Spec.BinaryVersion, other.Spec.BinaryVersion); order != 0 {
		return order < 0
	}
	return c.Metadata.CreationTimestamp.Before(other.Metadata.CreationTimestamp)
}

// parseVersion reads a semantic version; nil for another text.
func parseVersion(text string) *version.Version {
	v, err := version.ParseSemantic(text)
	if err != nil {
		return nil
	}
	return v
}

// compareVersions compares semantic versions. Another text is the oldest version.
func compareVersions(a, b string) int {
	x, y := parseVersion(a), parseVersion(b)
	switch {
	case x == nil && y == nil:
		return 0
	case x == nil:
		return -1
	case y == nil:
		return 1
	case x.LessThan(y):
		return -1
	case y.LessThan(x):
		return 1
	}
	return 0
}
