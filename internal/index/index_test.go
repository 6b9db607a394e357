package index

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/capstan-dev/capstan/internal/store"
)

// fixture is a store in memory, an index of it, and a clock that tests set.
type fixture struct {
	testing.TB
	*Index
	store store.Store
	now   time.Time
}

func open(tb testing.TB, cfg Config, wrap func(store.Store) store.Store) *fixture {
	tb.Helper()
	s, err := store.Open(store.Config{Dir: "data", FS: vfs.NewMem()})
	if err != nil {
		tb.Fatal(err)
	}
	f := &fixture{TB: tb, store: s, now: time.Unix(1e9, 0)}
	cfg.Clock = func() time.Time { return f.now }
	if cfg.Bits == nil {
		cfg.Bits = bitPerByte
	}
	given := f.store
	if wrap != nil {
		given = wrap(s)
	}
	f.Index = New(given, cfg)
	tb.Cleanup(func() {
		f.Index.Close()
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return f
}

func bitPerByte(meta []byte) (bits [2]uint64) {
	for _, c := range meta {
		bits[c%2] |= 1 << (c / 2 % 64)
	}
	return bits
}

func (f *fixture) put(key, meta string) uint64 {
	f.Helper()
	e, err := f.store.Update(context.Background(), key, func(current *store.Entry) (store.Write, error) {
		w := store.Write{Op: store.OpUpdate, Value: store.Value{Meta: []byte(meta), Body: []byte("the object"), RevisionAt: -1}}
		if current == nil {
			w.Op = store.OpCreate
		}
		return w, nil
	})
	if err != nil {
		f.Fatal(err)
	}
	return e.Revision
}

func (f *fixture) remove(key string) uint64 {
	f.Helper()
	e, err := f.store.Update(context.Background(), key, func(current *store.Entry) (store.Write, error) {
		if current == nil {
			return store.Write{}, nil
		}
		return store.Write{Op: store.OpDelete, Value: store.Value{Meta: current.Meta, Body: current.Body, RevisionAt: -1}}, nil
	})
	if err != nil {
		f.Fatal(err)
	}
	return e.Revision
}

// check takes a view and compares it with a scan of the store at its revision.
// It reports whether there was a view.
func (f *fixture) check(prefix, from string) bool {
	f.Helper()
	acknowledged := f.store.Current()
	v, ok := f.View(context.Background(), prefix)
	if !ok {
		return false
	}
	if v.Revision() < acknowledged {
		f.Errorf("the view is at %d, %d was acknowledged before", v.Revision(), acknowledged)
	}
	for _, need := range [][2]uint64{{}, f.cfg.Bits([]byte("1")), f.cfg.Bits([]byte("no"))} {
		got, want := headers(v, prefix, from, need), f.scan(v.Revision(), prefix, from, need)
		if !slices.Equal(got, want) {
			f.Errorf("%q from %q at %d with bits %b:\n got %q\nwant %q", prefix, from, v.Revision(), need, got, want)
		}
	}
	return true
}

func headers(v View, prefix, from string, need [2]uint64) (list []string) {
	v.Scan(prefix, from, need, func(key string, meta []byte) bool {
		list = append(list, key+"="+string(meta))
		return true
	})
	return list
}

func (f *fixture) scan(revision uint64, prefix, from string, need [2]uint64) (list []string) {
	r, err := f.store.At(context.Background(), revision)
	if err != nil {
		f.Error(err)
		return nil
	}
	defer r.Close()
	err = r.Scan(context.Background(), prefix, from, func(e *store.Entry) bool {
		if h := f.header(e.Meta); h.has(need) {
			list = append(list, e.Key+"="+string(e.Meta))
		}
		return true
	})
	if err != nil {
		f.Error(err)
	}
	return list
}

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

// bound checks that the accounts are right and within the bound, while no build is
// running.
func (f *fixture) bound() {
	f.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	total := int64(0)
	for _, r := range f.resources {
		total += r.waiting
		if r.tree == nil {
			continue
		}
		size := int64(0)
		r.tree.Scan(func(key string, h header) bool {
			size += cost(key, h.meta)
			if [2]uint64{h.low, h.high} != f.cfg.Bits(h.bytes()) {
				f.Errorf("%s has the bits %b %b beside %q", key, h.low, h.high, h.meta)
			}
			return true
		})
		if size != r.size {
			f.Errorf("%s takes %d bytes, its account says %d", r.prefix, size, r.size)
		}
		total += size
	}
	if total != f.held || f.held > f.cfg.Bytes {
		f.Errorf("%d bytes are in use, the account says %d, the bound is %d", total, f.held, f.cfg.Bytes)
	}
}

// within checks the bound while builders may hold a part.
func (f *fixture) within() {
	f.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held > f.cfg.Bytes {
		f.Errorf("%d bytes are held, the bound is %d", f.held, f.cfg.Bytes)
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

// during is a store that calls hooks before a view is opened and while it is
// scanned, and that can keep its announcements back.
type during struct {
	store.Store
	at, scan func()
	fail     error

	mu   sync.Mutex
	fn   func([]*store.Change)
	held [][]*store.Change
	hold bool
}

func (d *during) At(ctx context.Context, at uint64) (store.Reader, error) {
	if do := d.at; do != nil {
		d.at = nil
		do()
	}
	if d.fail != nil {
		return nil, d.fail
	}
	r, err := d.Store.At(ctx, at)
	return &duringReader{r, d}, err
}

func (d *during) Subscribe(fn func([]*store.Change)) (uint64, func()) {
	d.fn = fn
	return d.Store.Subscribe(func(batch []*store.Change) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.held = append(d.held, batch); !d.hold {
			d.release()
		}
	})
}

func (d *during) release() {
	for _, batch := range d.held {
		d.fn(batch)
	}
	d.held = nil
}

type duringReader struct {
	store.Reader
	d *during
}

func (r *duringReader) Scan(ctx context.Context, prefix, from string, visit func(*store.Entry) bool) error {
	return r.Reader.Scan(ctx, prefix, from, func(e *store.Entry) bool {
		if do := r.d.scan; do != nil {
			r.d.scan = nil
			do()
		}
		return visit(e)
	})
}

// TestBuildDuringWrites: a change before, during or after the scan of a build is in the
// tree once.
func TestBuildDuringWrites(t *testing.T) {
	var d *during
	f := open(t, Config{}, func(s store.Store) store.Store { d = &during{Store: s}; return d })
	for _, name := range []string{"a", "b", "c", "d"} {
		f.put("core/pods/n/"+name, "old")
	}
	d.at = func() { // seen by the scan and among the pending changes
		f.put("core/pods/n/a", "at")
		f.remove("core/pods/n/d")
		f.put("core/pods/n/e", "at")
	}
	d.scan = func() { // only among the pending changes
		f.put("core/pods/n/b", "scan")
		f.put("core/pods/n/a0", "scan")
		f.remove("core/pods/n/c")
		f.put("core/pods/n/d", "scan")
		f.remove("core/pods/n/e")
		if _, ok := f.View(context.Background(), "core/pods/"); ok {
			t.Error("a view of a resource that is being built")
		}
	}
	if !f.check("core/pods/", "") {
		t.Fatal("no view")
	}
	f.bound()
}

// TestWaitsForAnnouncement: a write that readers of the store can see is in the next view
// although it is announced late.
func TestWaitsForAnnouncement(t *testing.T) {
	var d *during
	f := open(t, Config{}, func(s store.Store) store.Store { d = &during{Store: s}; return d })
	f.put("core/pods/n/a", "1")
	if !f.check("core/pods/", "") {
		t.Fatal("no view")
	}
	d.hold = true
	revision := f.put("core/pods/n/a", "2")
	go func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.hold = false
		d.release()
	}()
	v, _ := f.View(context.Background(), "core/pods/") // returns before the goroutine announces
	if v.Revision() != revision || !slices.Equal(headers(v, "core/pods/", "", [2]uint64{}), []string{"core/pods/n/a=2"}) {
		t.Errorf("the view is at %d, want %d: %q", v.Revision(), revision, headers(v, "core/pods/", "", [2]uint64{}))
	}
	// A scan that sees more than was announced: the announcement changes nothing.
	f.sweep(f.now.Add(time.Hour))
	d.at = func() {
		d.hold = true
		f.put("core/pods/n/a", "3")
	}
	if !f.check("core/pods/", "") {
		t.Fatal("no view")
	}
	d.mu.Lock()
	d.hold = false
	d.release()
	d.mu.Unlock()
	f.check("core/pods/", "")
	f.bound()
}

// TestFailedBuild: a failed build is tried again, and a build ends when its changes do
// not fit.
func TestFailedBuild(t *testing.T) {
	var d *during
	f := open(t, Config{Bytes: 5000}, func(s store.Store) store.Store { d = &during{Store: s}; return d })
	f.put("core/pods/n/a", "1")
	d.fail = errors.New("the disk is gone")
	if f.check("core/pods/", "") {
		t.Error("a view without having read")
	}
	d.fail = nil
	d.scan = func() {
		for i := range 100 {
			f.put("core/pods/n/a", fmt.Sprint(i))
		}
		f.within()
	}
	if f.check("core/pods/", "") {
		t.Error("a view although the changes did not fit")
	}
	f.bound()
	if !f.check("core/pods/", "") {
		t.Error("no view once there is room")
	}
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, ok := f.View(canceled, "core/nodes/"); ok {
		t.Error("a view was built for somebody who has left")
	}
	f.bound()
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
