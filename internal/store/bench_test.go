package store

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/capstan-dev/capstan/internal/invariants"
	"github.com/capstan-dev/capstan/internal/measured"
)

// openMem opens a store in memory, so that a benchmark measures the processor only.
func openMem(tb testing.TB) *Engine {
	tb.Helper()
	e, err := Open(Config{Dir: "data", FS: vfs.NewMem()})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := e.Close(); err != nil {
			tb.Error(err)
		}
	})
	return e
}

func object(size int) Value {
	line := []byte(`{"name":"container","image":"registry/example:1.2.3","ready":true},`)
	return Value{Meta: []byte("app=web,node=n1"), Body: bytes.Repeat(line, size/len(line)+1)[:size], RevisionAt: 40}
}

func put(tb testing.TB, e *Engine, key string, v Value) Entry {
	tb.Helper()
	entry, err := e.Update(context.Background(), key, func(current *Entry) (Write, error) {
		if current == nil {
			return Write{Op: OpCreate, Value: v}, nil
		}
		return Write{Op: OpUpdate, Value: v}, nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return entry
}

func podKey(i int) string { return fmt.Sprintf("core/pods/default/pod-%06d", i) }

func fill(tb testing.TB, e *Engine, n, size int) {
	tb.Helper()
	for i := range n {
		put(tb, e, podKey(i), object(size))
	}
	if err := e.db.Flush(); err != nil {
		tb.Fatal(err)
	}
	if err := e.db.Compact(context.Background(), []byte{0}, []byte{0xff}, true); err != nil {
		tb.Fatal(err)
	}
}

// TestUpdateAllocations bounds the allocations of a write, all goroutines together.
func TestUpdateAllocations(t *testing.T) {
	if invariants.Enabled {
		t.Skip("the checks of this build allocate")
	}
	e, v := openMem(t), object(2<<10)
	fill(t, e, 300, 2<<10)
	n := testing.AllocsPerRun(200, func() { put(t, e, podKey(7), v) })
	t.Logf("an update makes %.0f allocations", n)
	if n > 14 {
		t.Errorf("an update makes %.0f allocations, the bound is %d", n, 14)
	}
}

func BenchmarkCreate(b *testing.B) {
	e, v := openMem(b), object(2<<10)
	b.ReportAllocs()
	defer measured.Report(b)()
	for i := 0; b.Loop(); i++ {
		put(b, e, podKey(i), v)
	}
}

func BenchmarkUpdate(b *testing.B) {
	e, v := openMem(b), object(7<<10)
	fill(b, e, 1000, 7<<10)
	b.ReportAllocs()
	defer measured.Report(b)()
	for i := 0; b.Loop(); i++ {
		put(b, e, podKey(i%1000), v)
	}
}

func BenchmarkUpdateParallel(b *testing.B) {
	e, v := openMem(b), object(2<<10)
	b.ReportAllocs()
	defer measured.Report(b)()
	b.SetParallelism(16)
	var n atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		key := podKey(int(n.Add(1)))
		for pb.Next() {
			put(b, e, key, v)
		}
	})
}

// noCache makes the cache refuse everything, so that the tree answers every read.
func noCache(e *Engine) { e.cache.init(0, 0) }

func podKeys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = podKey(i)
	}
	return keys
}

// BenchmarkGet gets 3,000 objects of 7 KB in turn, from the cache and, as "tree", without
// it.
func BenchmarkGet(b *testing.B) {
	for _, from := range []string{"cache", "tree"} {
		b.Run(from, func(b *testing.B) {
			e, keys := openMem(b), podKeys(3000)
			fill(b, e, len(keys), 7<<10)
			if from == "tree" {
				noCache(e)
			}
			b.ReportAllocs()
			defer measured.Report(b)()
			for i := 0; b.Loop(); i++ {
				if _, err := e.Get(context.Background(), keys[i*7%len(keys)]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkGetEach gets 50 of 3,000 objects with one call.
func BenchmarkGetEach(b *testing.B) {
	for _, from := range []string{"cache", "tree"} {
		b.Run(from, func(b *testing.B) {
			e := openMem(b)
			fill(b, e, 3000, 7<<10)
			if from == "tree" {
				noCache(e)
			}
			var keys []string
			for i := range 50 {
				keys = append(keys, podKey(60*i))
			}
			r, err := e.At(context.Background(), 0)
			if err != nil {
				b.Fatal(err)
			}
			defer r.Close()
			b.ReportAllocs()
			defer measured.Report(b)()
			for b.Loop() {
				n := 0
				err := r.GetEach(context.Background(), keys, func(*Entry) bool { n++; return true })
				if err != nil || n != len(keys) {
					b.Fatal(n, err)
				}
			}
		})
	}
}

// BenchmarkGetMissing measures the look-up with which a create begins.
func BenchmarkGetMissing(b *testing.B) {
	for _, from := range []string{"counts", "tree"} {
		b.Run(from, func(b *testing.B) {
			e := openMem(b)
			fill(b, e, 5000, 7<<10)
			for e.presence.state.Load() != presenceReady {
				runtime.Gosched()
			}
			if from == "tree" {
				e.presence.state.Store(presenceCounting)
			}
			b.ReportAllocs()
			defer measured.Report(b)()
			for b.Loop() {
				if _, err := e.Get(context.Background(), "core/pods/default/pod-000500-not"); err != ErrNotFound {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkScan reads 5,000 objects of 7 KB.
func BenchmarkScan(b *testing.B) {
	e := openMem(b)
	fill(b, e, 5000, 7<<10)
	b.ReportAllocs()
	defer measured.Report(b)()
	for b.Loop() {
		scanAll(b, e, 5000)
	}
}

func scanAll(b *testing.B, e *Engine, want int) {
	r, err := e.At(context.Background(), 0)
	if err != nil {
		b.Fatal(err)
	}
	n, size := 0, 0
	err = r.Scan(context.Background(), "core/pods/", "", func(entry *Entry) bool {
		n++
		size += len(entry.Meta)
		return true
	})
	if err != nil || n != want {
		b.Fatal(n, err)
	}
	if err := r.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkScanUpdated reads the same objects with three more versions each.
func BenchmarkScanUpdated(b *testing.B) {
	e := openMem(b)
	for range 4 {
		fill(b, e, 5000, 7<<10)
	}
	b.ReportAllocs()
	defer measured.Report(b)()
	for b.Loop() {
		scanAll(b, e, 5000)
	}
}

// BenchmarkScanMeta measures the scan of a list with a selector.
func BenchmarkScanMeta(b *testing.B) {
	e := openMem(b)
	fill(b, e, 5000, 7<<10)
	r, err := e.At(context.Background(), 0)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	b.ReportAllocs()
	defer measured.Report(b)()
	for b.Loop() {
		n := 0
		if err := r.ScanMeta(context.Background(), "core/pods/", "", func(*Entry) bool { n++; return true }); n != 5000 || err != nil {
			b.Fatal(n, err)
		}
	}
}

func BenchmarkCount(b *testing.B) {
	e := openMem(b)
	fill(b, e, 5000, 7<<10)
	r, err := e.At(context.Background(), 0)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	b.ReportAllocs()
	defer measured.Report(b)()
	for b.Loop() {
		if n, err := r.Count(context.Background(), "core/pods/", ""); n != 5000 || err != nil {
			b.Fatal(n, err)
		}
	}
}

func BenchmarkChanges(b *testing.B) {
	e := openMem(b)
	for range 2 {
		fill(b, e, 1000, 7<<10)
	}
	b.ReportAllocs()
	defer measured.Report(b)()
	for b.Loop() {
		n := 0
		_, err := e.Changes(context.Background(), "", 1000, func(*Change) bool { n++; return true })
		if n != 1000 || err != nil {
			b.Fatal(n, err)
		}
	}
}
