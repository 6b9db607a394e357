package etcd

import (
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/capstan-dev/capstan/internal/store"
)

// locked are values whose keys a service has not given, those of keys that end with "locked".
type locked struct{ Form }

func (locked) Key(place string) (string, bool) { return strings.TrimPrefix(place, "/"), true }

func (locked) Decode(key string, data []byte) (store.Value, error) {
	if strings.HasSuffix(key, "locked") {
		return store.Value{}, &store.KeyError{Err: errors.New("no key")}
	}
	return store.Value{Body: data, RevisionAt: -1}, nil
}

// TestWaitingValue: of changes that come together, those before the revision of a value for which the replica waits are
// shown; those of its revision are not, in whatever order they come.
func TestWaitingValue(t *testing.T) {
	for _, keys := range [][]string{{"/c", "/locked"}, {"/locked", "/c"}} {
		replica, err := store.Open(store.Config{Dir: "replica", FS: vfs.NewMem(), Replica: true})
		if err != nil {
			t.Fatal(err)
		}
		e := &Engine{cfg: Config{Form: locked{}}, replica: replica}
		var shown progress
		for _, r := range []*etcdserverpb.WatchResponse{at(3, "/a"), at(4, "/b"), at(5, keys...), at(6, "/d")} {
			shown.add(r)
		}
		if err := e.apply(shown.events, false); !errors.As(err, new(*store.KeyError)) {
			t.Errorf("%q: the error is %v", keys, err)
		}
		if replica.Current() != 4 {
			t.Errorf("%q: the replica is at %d", keys, replica.Current())
		}
		if err := replica.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
