package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/tools/storm/area"
	"github.com/capstan-dev/capstan/tools/storm/mutant"
)

// mutantLimit bounds the time in which the storm must find a mutant.
const mutantLimit = 5 * time.Minute

// TestMutants plants mistakes into the server, one at a time. Each is found in time by a promise
// that it breaks. CAPSTAN_SEED is the seed of the first round.
func TestMutants(t *testing.T) {
	if os.Getenv("CAPSTAN_STRESS") == "" {
		t.Skip("takes minutes; CAPSTAN_STRESS=1 runs it")
	}
	seed := uint64(1)
	if given := os.Getenv("CAPSTAN_SEED"); given != "" {
		var err error
		if seed, err = strconv.ParseUint(given, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	all, err := mutant.Read(filepath.Join("testdata", "mutants"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		t.Run(m.Name, func(t *testing.T) {
			binary, err := m.Build(t.Context(), root, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			seek(t, m, binary, seed)
		})
	}
}

// seek runs rounds until a promise finds the mutant.
func seek(t *testing.T, m mutant.Mutant, binary string, seed uint64) {
	o := options{binary: binary, where: m.Where, areas: m.Areas, size: area.Size{Clients: 12, Steps: 150}}
	if m.Clients > 0 {
		o.size.Clients = m.Clients
	}
	if m.Steps > 0 {
		o.size.Steps = m.Steps
	}
	for began := time.Now(); time.Since(began) < mutantLimit; seed++ {
		p := area.Draw(seed, o.size, o.areas, false)
		p.Memory = o.where == "memory"
		found, summary, err := o.judge(t.Context(), p, filepath.Join(t.TempDir(), fmt.Sprint(seed)))
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		took := time.Since(began).Round(100 * time.Millisecond)
		t.Logf("%s: %s, %d findings after %s", p, summary, len(found), took)
		for _, v := range found {
			if !slices.Contains(m.Promises, v.Promise) {
				t.Logf("also %v", v)
				continue
			}
			if took > mutantLimit {
				t.Errorf("found after %s", took)
			}
			t.Logf("found by seed %d after %s: %v", seed, took, v)
			return
		}
	}
	t.Errorf("%s Not found within %s by any of %v", m.Planted, mutantLimit, m.Promises)
}
