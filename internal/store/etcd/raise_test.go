package etcd_test

import (
	"context"
	"errors"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/capstan-dev/capstan/internal/etcdtest"
	"github.com/capstan-dev/capstan/internal/store/etcd"
)

// TestRaise: etcd's revision becomes at least the one that is asked for, and no more. Nothing is left but a history that
// is compacted up to there. It may be called twice, and be ended before its time.
func TestRaise(t *testing.T) {
	url := etcdtest.Start(t)
	c := etcdtest.Client(t, url)
	if _, err := c.Put(t.Context(), "/other", "kept"); err != nil {
		t.Fatal(err)
	}
	to, err := etcd.OpenCopy(t.Context(), etcd.Config{Endpoints: []string{url}, Prefix: "/registry", Form: raw{}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = to.Close() }()
	revision := func() int64 {
		t.Helper()
		all, err := c.Get(t.Context(), "", clientv3.WithPrefix())
		if err != nil || len(all.Kvs) != 1 || string(all.Kvs[0].Key) != "/other" {
			t.Fatalf("etcd has %v, %v", all, err)
		}
		return all.Header.Revision
	}
	const least = 15_000
	var last int64
	report := func(done, total int64) {
		if done < last || done > total || total >= least {
			t.Errorf("%d of %d revisions after %d", done, total, last)
		}
		last = done
	}
	few, stop := context.WithCancel(t.Context())
	if err := to.Raise(few, least, func(done, total int64) {
		if report(done, total); done > 1000 {
			stop()
		}
	}); !errors.Is(err, context.Canceled) {
		t.Errorf("Raise was stopped and returned %v", err)
	}
	if at := revision(); at < 1000 || at > least/2 {
		t.Errorf("a Raise that was stopped ends at %d", at)
	}
	last = 0
	if err := to.Advance(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := to.Raise(t.Context(), least, report); err != nil {
			t.Fatal(err)
		}
	}
	if at := revision(); at < least || at > least+500 {
		t.Errorf("etcd is at revision %d, at least %d was asked for", at, least)
	}
	for _, from := range []int64{2, least - 1} {
		answer, ok := <-c.Watch(t.Context(), "/", clientv3.WithPrefix(), clientv3.WithRev(from))
		if !ok || !errors.Is(answer.Err(), rpctypes.ErrCompacted) {
			t.Errorf("a watch from %d gets %v", from, answer)
		}
	}
}
