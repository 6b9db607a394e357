package index

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/store"
)

// during is a store that calls hooks before a view is opened and while it is
// scanned, and that can keep its announcements back.
type during struct {
	store.Store
	at, scan func()
	fail     error

	mu   sync.Mutex
	fn   func(store.Batch)
	held []store.Batch
	hold bool
}

type duringReader struct {
	store.Reader
	d *during
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
		gone, leave := context.WithCancel(context.Background())
		leave()
		if _, ok := f.View(gone, "core/pods/"); ok {
			t.Error("a view of a resource that is being built")
		}
	}
	if !f.check("core/pods/", "") {
		t.Fatal("no view")
	}
	f.bound()
}

// TestOneBuild: those that come while the headers are read in get a view of what the first
// has read.
func TestOneBuild(t *testing.T) {
	var d *during
	f := open(t, Config{}, func(s store.Store) store.Store { d = &during{Store: s}; return d })
	f.put("core/pods/n/a", "1")
	var all sync.WaitGroup
	d.scan = func() {
		d.scan = func() { t.Error("read in twice") }
		entered := make(chan struct{})
		f.told = func() { entered <- struct{}{} } // with the lock that the end of the build needs
		for range 8 {
			all.Go(func() {
				v, ok := f.View(context.Background(), "core/pods/")
				if !ok {
					t.Error("no view")
				} else if list := headers(v, "core/pods/", "", [2]uint64{}); !slices.Equal(list, []string{"core/pods/n/a=1"}) {
					t.Errorf("a view of %q", list)
				}
			})
			<-entered
		}
		f.told = nil
	}
	if !f.check("core/pods/", "") {
		t.Error("no view")
	}
	all.Wait()
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

func (d *during) Subscribe(turn store.Turn, fn func(store.Batch)) (uint64, func()) {
	d.fn = fn
	return d.Store.Subscribe(turn, func(batch store.Batch) {
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

func (r *duringReader) ScanMeta(ctx context.Context, prefix, from string, visit func(*store.Entry) bool) error {
	return r.Reader.ScanMeta(ctx, prefix, from, func(e *store.Entry) bool {
		if do := r.d.scan; do != nil {
			r.d.scan = nil
			do()
		}
		return visit(e)
	})
}
