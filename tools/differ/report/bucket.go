// Package report groups differences, makes their examples small and writes them down.
package report

import (
	"sort"
	"sync"

	"github.com/capstan-dev/capstan/tools/differ/compare"
	"github.com/capstan-dev/capstan/tools/differ/exec"
	"github.com/capstan-dev/capstan/tools/differ/scenario"
)

// Bucket is a set of equal differences with its smallest example.
type Bucket struct {
	Signature string             `json:"signature"`
	Count     int                `json:"count"`     // differences
	Scenarios int                `json:"scenarios"` // scenarios with at least one of them
	Diff      compare.Diff       `json:"diff"`
	Example   *scenario.Scenario `json:"-"`
	Accepted  string             `json:"accepted,omitempty"` // the reason, when the difference is meant
	File      string             `json:"file,omitempty"`
	Members   []string           `json:"members,omitempty"` // the requests that a general difference was seen in
	Stable    bool               `json:"stable"`            // the example showed the difference again when it was made smaller
	Flaky     bool               `json:"flaky,omitempty"`   // it did not
}

// Collection gathers buckets from scenarios that run at the same time.
type Collection struct {
	mu        sync.Mutex
	buckets   map[string]*Bucket
	Scenarios int
	Failed    []string // scenarios that could not be run, with the reason
	Bases     int      // valid objects sent
	BasesOK   int      // those that the reference answered with 201
	Refused   map[string]int
	Skipped   int // steps not compared, since the sides held different states of an object
	Partly    int // lists and watches compared without such objects
	accepted  *Accepted
}

// NewCollection is empty; accepted may be nil.
func NewCollection(accepted *Accepted) *Collection {
	return &Collection{buckets: map[string]*Bucket{}, Refused: map[string]int{}, accepted: accepted}
}

// Add counts a scenario's differences and keeps it as an example where it is smaller than the one there was. It
// reports whether all of them are meant.
func (c *Collection) Add(sc *scenario.Scenario, out *exec.Outcome) (meant bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Scenarios++
	c.Skipped += out.Skipped
	c.Partly += out.Partly
	for i, st := range sc.Steps {
		if len(st.Name) > 5 && st.Name[:5] == "base " && out.Want[i] != nil {
			c.Bases++
			if out.Want[i].Status == 201 {
				c.BasesOK++
			} else {
				c.Refused[compare.TargetOf(st).Resource]++
			}
		}
	}
	seen := map[string]bool{}
	meant = true
	for _, d := range out.Diffs {
		reason := c.accepted.Reason(d, sc.Steps[d.Step])
		meant = meant && reason != ""
		key := d.Signature + reason
		b := c.buckets[key]
		if b == nil {
			b = &Bucket{Signature: d.Signature, Accepted: reason}
			c.buckets[key] = b
		}
		b.Count++
		if !seen[key] {
			b.Scenarios++
			seen[key] = true
		}
		if b.Example == nil || d.Step+1 < len(b.Example.Steps) {
			ex := sc.Clone()
			ex.Steps = ex.Steps[:d.Step+1]
			b.Example, b.Diff = ex, d
		}
	}
	return meant
}

// Fail notes a scenario that could not be run.
func (c *Collection) Fail(name string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Failed = append(c.Failed, name+": "+err.Error())
}

// Sorted lists the buckets, the most frequent first.
func (c *Collection) Sorted() []*Bucket {
	c.mu.Lock()
	defer c.mu.Unlock()
	return sorted(c.buckets)
}

func sorted(m map[string]*Bucket) []*Bucket {
	out := make([]*Bucket, 0, len(m))
	for _, b := range m {
		out = append(out, b)
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Scenarios != out[j].Scenarios {
			return out[i].Scenarios > out[j].Scenarios
		}
		return out[i].Signature < out[j].Signature
	})
	return out
}

// Regroup merges buckets whose shrunk examples show the same difference.
func Regroup(in []*Bucket) []*Bucket {
	m := map[string]*Bucket{}
	for _, b := range in {
		sig := b.Diff.Signature
		if len(b.Members) > 0 {
			// A general difference keeps its signature's path, with the present
			// difference of its example.
			verb, resource, _ := split(b.Signature)
			_, _, what := split(sig)
			sig = verb + " " + resource + " | " + what
		}
		o := m[sig+b.Accepted]
		if o == nil {
			c := *b
			c.Signature = sig
			m[sig+b.Accepted] = &c
			continue
		}
		o.Count += b.Count
		o.Scenarios += b.Scenarios
		o.Members = append(o.Members, b.Members...)
		if better(b, o) {
			o.Example, o.Diff, o.Stable, o.Flaky = b.Example, b.Diff, b.Stable, b.Flaky
		}
	}
	return sorted(m)
}

// size is the amount of text in a scenario.
func size(s *scenario.Scenario) int {
	n := 0
	for _, st := range s.Steps {
		n += 100 + len(st.Path) + len(st.Payload(nil))
	}
	return n
}
