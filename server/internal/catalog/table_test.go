package catalog

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestTableCopies: every copy of a table keeps its keys while others change, whether they
// are fixed or not.
func TestTableCopies(t *testing.T) {
	var now table[int, int]
	model := map[int]int{}
	var copies []table[int, int]
	var models []map[int]int
	for n := range 3000 {
		switch key := rand.IntN(600); {
		case n == 499:
			now.fix()
		case rand.IntN(3) == 0:
			now.remove(key)
			delete(model, key)
		default:
			now.set(key, n+1)
			model[key] = n + 1
		}
		if n%100 == 99 {
			copies, models = append(copies, now), append(models, maps.Clone(model))
		}
	}
	for i := range copies {
		got := map[int]int{}
		for key := range 600 {
			if value := copies[i].get(key); value > 0 {
				got[key] = value
			}
		}
		values, want := slices.Sorted(copies[i].values()), slices.Sorted(maps.Values(models[i]))
		if !maps.Equal(got, models[i]) || !slices.Equal(values, want) || copies[i].len() != len(want) {
			t.Errorf("copy %d: %v, want %v", i, got, models[i])
		}
	}
}
