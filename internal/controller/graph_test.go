package controller

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
)

func id(n int) uid { return uid{byte(n >> 16), byte(n >> 8), byte(n)} }

// check checks the invariants of a graph.
func (g *graph) check(t *testing.T) {
	t.Helper()
	for key, n := range g.nodes {
		if n.uid != key {
			t.Fatalf("node %v is filed under %v", n.uid, key)
		}
		if len(n.owners) == 0 && len(n.dependents) == 0 {
			t.Fatalf("node %v has nobody", n.uid)
		}
		seen := map[*node]bool{}
		for _, r := range n.owners {
			if seen[r.owner] {
				t.Fatalf("node %v has an owner twice", n.uid)
			}
			seen[r.owner] = true
			if g.nodes[r.owner.uid] != r.owner {
				t.Fatalf("node %v has the owner %v, which is not in the graph", n.uid, r.owner.uid)
			}
			if _, ok := r.owner.dependents[n]; !ok {
				t.Fatalf("node %v is not among the dependents of its owner", n.uid)
			}
		}
		blockers := int32(0)
		for d := range n.dependents {
			found := false
			for _, r := range d.owners {
				if r.owner == n {
					found = true
					if r.blocks {
						blockers++
					}
				}
			}
			if !found {
				t.Fatalf("node %v has a dependent that does not name it", n.uid)
			}
		}
		if blockers != n.blockers {
			t.Fatalf("node %v counts %d blockers, has %d", n.uid, n.blockers, blockers)
		}
	}
}

// Random changes keep the invariants, circles and objects that own themselves
// included, and leave nothing when everything is gone.
func TestGraphKeepsItsInvariants(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		g := newGraph()
		for range 300 {
			n := random.IntN(8)
			if random.IntN(4) == 0 {
				dependents, _ := g.remove(id(n))
				for _, d := range dependents {
					for _, r := range d.owners {
						if r.owner.uid == id(n) {
							t.Fatalf("%v still has the owner that is gone", d.uid)
						}
					}
				}
			} else {
				var owners []reference
				for range random.IntN(4) {
					o := random.IntN(8)
					owners = append(owners, reference{g.node(id(o), fmt.Sprint(o)), random.IntN(2) == 0})
				}
				if g.nodes[id(n)] == nil && len(owners) == 0 {
					continue
				}
				free := g.setOwners(g.node(id(n), fmt.Sprint(n)), owners)
				for _, f := range free {
					if f.blockers != 0 {
						t.Fatalf("%v is said to be free with %d blockers", f.uid, f.blockers)
					}
				}
			}
			g.check(t)
		}
		for n := range 8 {
			g.remove(id(n))
		}
		if len(g.nodes) != 0 {
			t.Fatalf("seed %d: %d nodes are left of nothing", seed, len(g.nodes))
		}
	}
}

// BenchmarkGraph measures the memory of 100,000 pods that 1,000 replica sets own.
func BenchmarkGraph(b *testing.B) {
	const pods, sets = 100_000, 1000
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		g := newGraph()
		for i := range pods {
			set := g.node(id(i%sets), "")
			if set.key == "" {
				set.key = fmt.Sprintf("apps/replicasets/default/web-%d", i%sets)
			}
			pod := g.node(id(1<<20+i), fmt.Sprintf("core/pods/default/web-%d-%05d", i%sets, i))
			g.setOwners(pod, append(make([]reference, 0, 1), reference{set, true}))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/pods, "B/pod")
		runtime.KeepAlive(g)
	}
}
