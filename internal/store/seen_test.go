package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// TestCollectionsWithOneHash: creations in a collection whose hash is that of another one in a read set
// make the write fail with ErrChanged, as they may. The failure waits until they are visible: else
// tries would be used up while the disk is slow.
func TestCollectionsWithOneHash(t *testing.T) {
	syncs := make(chan struct{})
	var slow atomic.Bool
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if slow.Load() && isLog(op.Path) && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo) {
			<-syncs
		}
		return nil
	}))
	e, err := Open(Config{Dir: "data", FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	release := sync.OnceFunc(func() {
		slow.Store(false)
		close(syncs)
	})
	defer release() // before Close, which waits for the disk
	put(t, e, "quotas/a", object(100))
	twin := ""
	for i := 0; twin == ""; i++ {
		if key := fmt.Sprintf("twin%d/", i); e.write.latest.of(&Seen{Key: key, Collection: true}) == e.write.latest.of(&Seen{Key: "quotas/", Collection: true}) {
			twin = key
		}
	}
	create := func(key string, seen ...Seen) error {
		_, err := e.Update(context.Background(), key, func(*Entry) (Write, error) {
			return Write{Op: OpCreate, Value: object(100), Seen: seen}, nil
		})
		return err
	}
	slow.Store(true)
	created, refused := make(chan error, 1), make(chan error, 1)
	go func() { created <- create(twin + "x") }()
	eventually(t, "the creation waits for the disk", func() bool {
		e.write.Lock()
		defer e.write.Unlock()
		return e.write.next > e.Current()+1
	})
	before := e.Current()
	go func() { refused <- create("pods/a", Seen{Key: "quotas/", Collection: true, Revision: before}) }()
	select {
	case err := <-refused:
		t.Fatalf("the write fails while the other one is not visible: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	release()
	if err := <-created; err != nil {
		t.Error(err)
	}
	if err := <-refused; !errors.Is(err, ErrChanged) || e.Current() == before {
		t.Errorf("%v at %d", err, e.Current())
	}
	if err := create("pods/a", Seen{Key: "quotas/", Collection: true, Revision: e.Current()}); err != nil {
		t.Errorf("the next try: %v", err)
	}
}
