package index

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/measured"
	"github.com/capstan-dev/capstan/internal/selector"
)

// TestCost: the accounted memory agrees with the heap, for headers that were read in
// order and for headers in any order.
func TestCost(t *testing.T) {
	const n = 20000
	for _, sorted := range []bool{true, false} {
		f := open(t, Config{}, nil)
		f.put("core/pods/default/first", "")
		f.check("core/pods/", "")
		r := f.resources["core/pods/"]
		order := rand.New(rand.NewPCG(1, 1)).Perm(n)
		before := heap()
		for i := range n {
			if !sorted {
				i = order[i]
			}
			key := fmt.Sprintf("core/pods/default/web-5d4f8c7b9-%06d", i)
			meta := make([]byte, 40+i%50)
			if sorted {
				r.tree.Load(key, header{meta: string(meta)})
			} else {
				r.tree.Set(key, header{meta: string(meta)})
			}
			r.size += cost(key, meta)
		}
		used := int64(heap() - before)
		t.Logf("in order: %v; %d bytes each, believed %d", sorted, used/n, r.size/n)
		if used > r.size*11/10 || used < r.size/2 {
			t.Errorf("in order: %v; %d headers take %d bytes, the index believes %d", sorted, n, used, r.size)
		}
		runtime.KeepAlive(r)
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// pods fills a fixture with the headers of n pods.
func pods(b *testing.B, n int) (*fixture, *api.Resource) {
	r := &api.Resource{Namespaced: true, Selectable: []api.Selectable{
		{Name: "spec.nodeName", Path: []string{"spec", "nodeName"}}, {Name: "status.phase", Path: []string{"status", "phase"}}}}
	f := open(b, Config{Bits: selector.HeaderBits}, nil)
	for i := range n {
		d, err := document.DecodeAny(fmt.Appendf(nil, `{"metadata":{"labels":{"app":"web-%d","app.kubernetes.io/name":"web","pod-template-hash":"5d4f8c7b9","shard":"s%d"}},
			"spec":{"nodeName":"node-%d"},"status":{"phase":"Running"}}`, i%50, i%100, i%100), document.Limits{})
		if err != nil {
			b.Fatal(err)
		}
		f.put(fmt.Sprintf("core/pods/default/pod-%05d", i), string(selector.AppendMeta(nil, d.Root(), r.Selectable)))
		d.Release()
	}
	return f, r
}

// BenchmarkScan finds 50 of 5,000 pods.
func BenchmarkScan(b *testing.B) {
	f, r := pods(b, 5000)
	for _, bench := range []struct{ name, labels, fields string }{{"label", "shard=s7", ""}, {"field", "", "spec.nodeName=node-7"}} {
		q, err := selector.Parse(bench.labels, bench.fields)
		if err != nil {
			b.Fatal(err)
		}
		s, err := q.For(r)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(bench.name, func(b *testing.B) {
			f.check("core/pods/", "")
			b.ReportAllocs()
			defer measured.Report(b)()
			for b.Loop() {
				v, ok := f.View(context.Background(), "core/pods/")
				n := 0
				v.Scan("core/pods/", "", s.Bits(), func(key string, meta []byte) bool {
					if s.Matches(key, meta) {
						n++
					}
					return true
				})
				if !ok || n != 50 {
					b.Fatal(ok, n)
				}
			}
		})
	}
}

// BenchmarkWrite measures the cost of an indexed resource per write, with a view taken
// after each.
func BenchmarkWrite(b *testing.B) {
	f, _ := pods(b, 5000)
	f.check("core/pods/", "")
	r := f.resources["core/pods/"]
	b.ReportAllocs()
	defer measured.Report(b)()
	for i := 0; b.Loop(); i++ {
		f.mu.Lock()
		f.apply(r, delta{key: fmt.Sprintf("core/pods/default/pod-%05d", i*7%5000), revision: 1 << 40, header: header{meta: "meta"}})
		r.share()
		f.mu.Unlock()
	}
}
