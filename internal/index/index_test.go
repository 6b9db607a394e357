package index

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/store"
)

// TestBitsSettle: Scan visits the headers with the bits and no others, also where only
// settled ones follow to the end of the prefix; and the number of passed headers is right
// up to a stride.
func TestBitsSettle(t *testing.T) {
	f := open(t, Config{}, nil)
	const each = 3 * stride
	for _, space := range []string{"a", "b", "c"} {
		for i := range each {
			f.put(fmt.Sprintf("core/pods/%s/x-%02d", space, i), "no")
		}
	}
	f.put("core/pods/b/x-20", "1")
	f.put("core/pods/c/x-00", "1")
	f.check("core/pods/b/", "")
	v, _ := f.View(context.Background(), "core/pods/b/")
	var keys []string
	seen := v.Scan("core/pods/b/", "", bitPerByte([]byte("1")), func(key string, _ []byte) bool {
		keys = append(keys, key)
		return true
	})
	if !slices.Equal(keys, []string{"core/pods/b/x-20"}) || seen < each || seen > each+stride {
		t.Errorf("visited %q, went by %d of %d", keys, seen, each)
	}
}

// TestAgreesWithStore: under concurrent writes every view is a state of the store.
func TestAgreesWithStore(t *testing.T) {
	for _, bytes := range []int64{0, 10_000} { // the second is too small for both resources
		t.Run(fmt.Sprint(bytes), func(t *testing.T) {
			f := open(t, Config{Bytes: bytes}, nil)
			var writers, readers sync.WaitGroup
			var over atomic.Bool
			var views, refused atomic.Int64
			for w := range 4 {
				writers.Go(func() {
					random := rand.New(rand.NewPCG(uint64(w), 1))
					for n := 0; n < 250 || views.Load() < 20 && n < 100_000; n++ {
						key := fmt.Sprintf("%s/ns-%d/name-%02d", []string{"core/pods", "apps/sets"}[random.IntN(2)], random.IntN(2), random.IntN(30))
						if random.IntN(4) == 0 {
							f.remove(key)
						} else {
							f.put(key, fmt.Sprint("meta ", random.IntN(3)))
						}
					}
				})
			}
			for range 2 {
				readers.Go(func() {
					for i := 0; !over.Load(); i++ {
						prefix := []string{"core/pods/", "apps/sets/", "core/pods/ns-1/"}[i%3]
						from := []string{"", "core/pods/ns-1/name-11"}[i/3%2]
						if !f.check(prefix, from) {
							refused.Add(1)
						} else if views.Add(1)%10 == 0 {
							f.sweep(f.now.Add(time.Hour)) // the next view builds while others write
						}
						f.within()
					}
				})
			}
			writers.Wait()
			over.Store(true)
			readers.Wait()
			f.bound()
			if views.Load() == 0 {
				t.Errorf("no views, %d refused", refused.Load())
			}
		})
	}
}

// TestChanges takes one resource through all changes of an object.
func TestChanges(t *testing.T) {
	f := open(t, Config{}, nil)
	f.put("core/pods/b/x", "1")
	f.put("core/podsets/b/x", "another resource")
	if !f.check("core/pods/", "") {
		t.Fatal("no view")
	}
	old, _ := f.View(context.Background(), "core/pods/")
	before := headers(old, "core/pods/", "", [2]uint64{})
	for _, step := range []func(){
		func() { f.put("core/pods/a/y", "2") },
		func() { f.put("core/pods/b/x", "1") }, // the header stays, the object changes
		func() { f.put("core/pods/b/x", "3") },
		func() { f.put("core/podsets/b/x", "4") },
		func() { f.remove("core/pods/b/x") },
		func() { f.put("core/pods/b/x", "5") },
		func() { f.put("core/pods/b/z", "") },
	} {
		step()
		for _, prefix := range []string{"core/pods/", "core/pods/a/", "core/pods/b/", "core/pods/c/", "core/podsets/"} {
			for _, from := range []string{"", "core/pods/b/", "core/pods/b/y", "core/pods/c"} {
				if !f.check(prefix, from) {
					t.Fatal("no view of", prefix)
				}
			}
		}
		f.bound()
	}
	if after := headers(old, "core/pods/", "", [2]uint64{}); !slices.Equal(before, after) {
		t.Errorf("a view has changed from %q to %q", before, after)
	}
	same, _ := f.View(context.Background(), "core/pods/")
	f.put("core/pods/b/x", "5")
	again, _ := f.View(context.Background(), "core/pods/")
	if same.tree != again.tree || same.Revision() == again.Revision() {
		t.Error("an update that keeps the header copies the tree, or keeps the revision")
	}
}

// TestBound: a resource that does not fit is dropped, and returns when it has shrunk.
func TestBound(t *testing.T) {
	var d *during
	f := open(t, Config{Bytes: 100 * cost("core/pods/n/000", []byte("meta"))}, func(s store.Store) store.Store { d = &during{Store: s}; return d })
	fill := func(resource string, n int) {
		for i := range n {
			f.put(fmt.Sprintf("%s/n/%03d", resource, i), "meta")
		}
	}
	clear := func(resource string, from, to int) {
		for i := from; i < to; i++ {
			f.remove(fmt.Sprintf("%s/n/%03d", resource, i))
		}
	}
	want := func(prefix string, want bool) {
		t.Helper()
		if f.check(prefix, "") != want {
			t.Errorf("view of %s: %v, want %v", prefix, !want, want)
		}
		f.bound()
	}
	fill("core/pods", 150)
	want("core/pods/", false)
	clear("core/pods", 90, 150)
	d.at = func() { t.Error("read although it is known not to fit") }
	want("core/pods/", false) // fits, but without anything to spare
	d.at = nil
	clear("core/pods", 60, 90)
	want("core/pods/", true)

	fill("core/nets", 60)
	want("core/nets/", false) // pods were requested a moment ago
	d.at = func() { t.Error("read although pods are not given up") }
	want("core/nets/", false)
	d.at = nil
	want("core/pods/", true)
	f.now = f.now.Add(protected)
	want("core/nets/", true)
	want("core/pods/", false) // dropped for nets
	f.now = f.now.Add(protected)
	want("core/pods/", true)
	want("core/nets/", false)

	clear("core/nets", 20, 60)
	want("core/nets/", true) // 60 and 20 fit together
	f.now = f.now.Add(time.Second)
	want("core/pods/", true)
	fill("core/pods", 85) // grows over the bound: nets, requested earlier, is dropped
	want("core/pods/", true)
	want("core/nets/", false)
	fill("core/pods", 120)
	want("core/pods/", false)
	if f.held != 0 {
		t.Errorf("%d bytes are held after everything was dropped", f.held)
	}
}

// TestIdle: trees that are not requested are dropped.
func TestIdle(t *testing.T) {
	f := open(t, Config{Idle: time.Minute}, nil)
	f.put("core/pods/n/a", "1")
	f.put("core/nodes/a", "1")
	f.check("core/pods/", "")
	f.now = f.now.Add(40 * time.Second)
	f.check("core/nodes/", "")
	f.now = f.now.Add(30 * time.Second)
	f.sweep(f.now)
	f.bound()
	if f.resources["core/pods/"] != nil || f.resources["core/nodes/"] == nil {
		t.Error("the wrong tree was dropped")
	}
	if !f.check("core/pods/", "") {
		t.Error("no view after a tree was dropped")
	}
}

func TestClose(t *testing.T) {
	f := open(t, Config{}, nil)
	f.put("core/pods/n/a", "1")
	v, ok := f.View(context.Background(), "core/pods/")
	f.Close()
	f.Close()
	f.put("core/pods/n/a", "2")
	if got := headers(v, "core/pods/", "", [2]uint64{}); !ok || !slices.Equal(got, []string{"core/pods/n/a=1"}) {
		t.Errorf("a view from before reads %q", got)
	}
	if _, ok := f.View(context.Background(), "core/pods/"); ok {
		t.Error("a closed index gives views")
	}
}
