package area

import (
	"reflect"
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
