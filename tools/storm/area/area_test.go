package area

import (
	"reflect"
	"slices"
	"testing"
)

// TestDraw: a seed is a program, and the programs that are smaller have less to do.
func TestDraw(t *testing.T) {
	used := make(map[string]bool)
	for seed := range uint64(200) {
		p := Draw(seed, Size{Clients: 3, Steps: 10}, nil, false)
		if again := Draw(seed, Size{Clients: 3, Steps: 10}, nil, false); !reflect.DeepEqual(p, again) {
			t.Fatalf("seed %d: %v and %v", seed, p, again)
		}
		if p.Steps() != 30 {
			t.Errorf("seed %d: %d steps", seed, p.Steps())
		}
		for _, a := range p.Areas {
			used[a] = true
		}
		for _, q := range p.Smaller() {
			if q.Steps() > p.Steps() || q.Steps() == p.Steps() && len(q.Areas) == len(p.Areas) {
				t.Errorf("seed %d: %v is not smaller than %v", seed, q, p)
			}
		}
	}
	if len(used) != len(All()) {
		t.Errorf("only %v are drawn", used)
	}
}

// TestEverySeed: every seed makes a program, and servers that share an etcd get no work for an operator of a store.
func TestEverySeed(t *testing.T) {
	for seed := range uint64(3000) {
		for _, shared := range []bool{false, true} {
			p := Draw(seed, Size{Clients: 1, Steps: 1}, nil, shared)
			if len(p.Areas) == 0 || len(p.Clients[0]) != 1 || shared && (p.Memory || slices.Contains(p.Areas, "operate")) {
				t.Fatalf("seed %d: %v", seed, p.Areas)
			}
			if p = Draw(seed, Size{Clients: 1, Steps: 1}, []string{"maps", "operate"}, shared); slices.Contains(p.Areas, "operate") == shared {
				t.Fatalf("seed %d of named areas: %v", seed, p.Areas)
			}
		}
	}
}
