package compat

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/capstan-dev/capstan/generator/internal/foreign"
)

var (
	mutations    = flag.Int("mutations", 400, "number of random edits that TestMutations tries")
	mutationSeed = flag.Uint64("mutation-seed", 1, "the first seed of TestMutations; 0 for one of the clock")
	mutationTime = flag.Duration("mutation-time", 10*time.Second, "after which TestMutations ends")
)

// TestMutations compares schemas with random edits of them. Values that the old schema
// accepts and the new one refuses prove a break; edits that are safe by their making may not
// be called one.
func TestMutations(t *testing.T) {
	tryEdits(t, func(seed uint64) randomEdit {
		if m := mutated(seed); m != nil {
			return m
		}
		return nil
	})
}

// randomEdit is a random edit of a document.
type randomEdit interface {
	fmt.Stringer
	// proven is the proof of a break, "" for none, and says whether the edit is safe by its making.
	proven() (broken string, safe bool)
	// compared is the report of the gate.
	compared() (*Report, error)
}

// tryEdits judges the verdicts of the gate about the edits of seeds; nil for a seed without one.
func tryEdits(t *testing.T, edited func(seed uint64) randomEdit) {
	first, end := *mutationSeed, time.Now().Add(*mutationTime)
	if first == 0 {
		first = uint64(time.Now().UnixNano())
	}
	tried, safe, misses, alarms := 0, 0, 0, 0
	for seed := first; tried < *mutations && time.Now().Before(end); seed++ {
		m := edited(seed)
		if m == nil {
			continue
		}
		broken, isSafe := m.proven()
		if tried++; isSafe {
			safe++
		}
		report, err := m.compared()
		switch {
		case err != nil:
			t.Errorf("seed %d: %v\n%s", seed, err, m)
		case broken != "" && isSafe:
			t.Errorf("seed %d: the edit is called safe, and %s\n%s", seed, broken, m)
		case broken != "" && !report.Breaking():
			misses++
			if long, ok := m.(interface{ shrink() }); ok {
				long.shrink()
				broken, _ = m.proven()
			}
			t.Errorf("seed %d: a miss: %s\n%s\n%v", seed, broken, m, report.Findings)
		case isSafe && report.Breaking():
			if alarms++; testing.Verbose() {
				t.Logf("seed %d: an alarm\n%s\n%v", seed, m, report.Findings)
			}
		}
	}
	t.Logf("seeds from %d: %d edits, %d safe ones, %d misses, %d alarms", first, tried, safe, misses, alarms)
	if alarms*100 > tried {
		t.Errorf("%d alarms at %d edits; want less than one of a hundred", alarms, tried)
	}
}

// mutant is a schema and an edit of it.
type mutant struct {
	seed     uint64
	old, now node
	edits    []string
	safe     bool   // by their making
	broken   string // the value that proves a break; "" for none
}

func (m *mutant) String() string {
	old, _ := json.Marshal(m.old)
	now, _ := json.Marshal(m.now)
	return fmt.Sprintf("%s\nold %s\nnew %s", strings.Join(m.edits, ", "), old, now)
}

// mutated is the mutant of a seed; nil where nothing changed, or no value was accepted.
func mutated(seed uint64) *mutant {
	d := &drawing{Rand: rand.New(rand.NewPCG(seed, 2))}
	m := &mutant{seed: seed, old: clone(d.schema(0)), safe: true}
	m.now = clone(m.old)
	for range 1 + d.IntN(3) {
		what, safe := d.edit(m.now)
		m.now = clone(m.now)
		m.edits, m.safe = append(m.edits, what), m.safe && safe
	}
	accepted := 0
	if m.broken, accepted = m.proof(300); accepted == 0 {
		return nil
	}
	return m
}

// proof looks for a value that the old schema accepts and the new one refuses.
func (m *mutant) proof(values int) (value string, accepted int) {
	old, now := compiled(m.old), compiled(m.now)
	if old == nil || now == nil {
		return "", 0
	}
	d := &drawing{Rand: rand.New(rand.NewPCG(m.seed, 3)), numbers: []any{0.0, 1.0, 12.0, 0.25, -9.0}, texts: []string{"", "a", "b", "ab", "zz", "x", "x1", "x9", "7", "A",
		"abc", "abcd", "abcdef", "xab", "zzzzzzzzz", "b b", "ö"}}
	d.collect(m.old)
	d.collect(m.now)
	for range values {
		v := d.value(m.old)
		if old.Validate(v) != nil {
			continue
		}
		accepted++
		if now.Validate(v) != nil {
			text, _ := json.Marshal(v)
			return string(text), accepted
		}
	}
	return "", accepted
}

func compiled(s node) *jsonschema.Schema {
	text, _ := json.Marshal(s)
	c, err := jsonschema.CompileString("schema.json", string(text))
	if err != nil {
		return nil
	}
	return c
}

func (m *mutant) proven() (string, bool) { return m.broken, m.safe }

// compared is the report of the gate about requests with the schemas.
func (m *mutant) compared() (*Report, error) {
	sides := [2]*Surface{}
	for i, s := range []node{m.old, m.now} {
		schema, _ := json.Marshal(s)
		text := strings.Replace(harbour, "name: {type: string, maxLength: 9}", "name: {type: string}, more: "+string(schema), 1)
		var err error
		if sides[i], err = fileSurface(foreign.Parse("mutant.yaml", []byte(text))); err != nil {
			return nil, err
		}
	}
	return Compare(sides[0], sides[1], Options{Now: day}), nil
}

// shrink takes keywords away, from both sides or one, as long as the gate misses the break.
func (m *mutant) shrink() {
	for again := true; again; {
		again = false
		for _, path := range append(paths(m.old, nil), paths(m.now, nil)...) {
			for _, sides := range [][2]bool{{true, true}, {true, false}, {false, true}} {
				small := &mutant{seed: m.seed, old: clone(m.old), now: clone(m.now), edits: m.edits}
				removed := false
				if sides[0] {
					removed = remove(small.old, path)
				}
				if sides[1] {
					removed = remove(small.now, path) || removed
				}
				if !removed {
					continue
				}
				if small.broken, _ = small.proof(300); small.broken == "" {
					continue
				}
				if report, err := small.compared(); err == nil && !report.Breaking() {
					*m, again = *small, true
				}
			}
		}
	}
}

// paths are the keywords of a schema and of those in it.
func paths(v any, at []string) (all [][]string) {
	switch v := v.(type) {
	case node:
		for _, key := range sorted(v) {
			below := append(append([]string{}, at...), key)
			if !slices.Contains([]string{"type", "items", "properties", "additionalProperties"}, key) {
				all = append(all, below)
			}
			all = append(all, paths(v[key], below)...)
		}
	case []any:
		for i := range v {
			all = append(all, paths(v[i], append(append([]string{}, at...), fmt.Sprint(i)))...)
		}
	}
	return all
}

func remove(v any, path []string) bool {
	switch v := v.(type) {
	case node:
		if len(path) > 1 {
			return remove(v[path[0]], path[1:])
		}
		_, has := v[path[0]]
		delete(v, path[0])
		return has
	case []any:
		var i int
		if _, err := fmt.Sscan(path[0], &i); err == nil && i < len(v) && len(path) > 1 {
			return remove(v[i], path[1:])
		}
	}
	return false
}
