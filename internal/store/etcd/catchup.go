package etcd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/capstan-dev/capstan/internal/store"
)

// keyValue is a key of etcd, with its key in the store.
type keyValue struct {
	*mvccpb.KeyValue
	key string
}

// difference is a key in which the replica differs from etcd's state.
type difference struct {
	key      string
	revision uint64 // at which the replica shows it
	deleted  bool
}

// changesAtOnce is the number of values that catchUp asks for together, below the most operations
// of a transaction of etcd.
const changesAtOnce = 100

// catchUp brings the replica to the state of now without the changes in between. A key that was
// deleted is shown as deleted at the last revision at which that can have been: before a new
// object has its key, else at the revision of the state. History before that revision is trimmed.
func (e *Engine) catchUp(ctx context.Context) error {
	now, err := e.revision()
	if err != nil {
		return err
	}
	e.cfg.Logger.Warn("etcd: changes were compacted that the replica lacks; it compares its state with etcd's", "replica", e.replica.Current(), "etcd", now)
	differences, err := e.compare(ctx, now)
	if err != nil {
		return err
	}
	for len(differences) > 0 {
		n := min(changesAtOnce, len(differences))
		for n < len(differences) && differences[n].revision == differences[n-1].revision {
			n++ // the changes at one revision go together
		}
		if err := e.show(ctx, now, differences[:n]); err != nil {
			return err
		}
		differences = differences[n:]
	}
	e.replica.Advance(now)
	return e.replica.Trim(ctx, now)
}

// compare finds the differences between the replica and etcd's state at a revision, in the order
// in which they are shown. It keeps the keys of both in memory.
func (e *Engine) compare(ctx context.Context, now uint64) (all []difference, err error) {
	view, err := e.replica.At(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = view.Close() }()
	had := map[string]uint64{}
	if err := view.ScanMeta(ctx, "", "", func(entry *store.Entry) bool {
		had[strings.Clone(strings.TrimPrefix(entry.Key, notes))] = entry.Revision
		return true
	}); err != nil {
		return nil, err
	}
	if err := e.list(ctx, now, true, func(page []keyValue) error {
		for _, kv := range page {
			if kv.key == "" {
				continue
			}
			before, known := had[kv.key]
			delete(had, kv.key)
			switch created := uint64(kv.CreateRevision); {
			case before == uint64(kv.ModRevision):
				continue
			case before > uint64(kv.ModRevision):
				return fmt.Errorf("etcd: the replica has %s at revision %d, etcd at %d; stop the server and remove the replica", kv.Key, before, kv.ModRevision)
			case known && created > view.Revision():
				all = append(all, difference{kv.key, created - 1, true})
			}
			all = append(all, difference{kv.key, uint64(kv.ModRevision), false})
		}
		return nil
	}); err != nil {
		return nil, err
	}
	for key := range had {
		all = append(all, difference{key, now, true})
	}
	slices.SortFunc(all, func(a, b difference) int {
		return cmp.Or(cmp.Compare(a.revision, b.revision), cmp.Compare(a.key, b.key))
	})
	return all, nil
}

// show reads the values of differences at a revision, and writes them into the replica.
func (e *Engine) show(ctx context.Context, now uint64, differences []difference) error {
	values := make(map[string][]byte, len(differences))
	for part := range slices.Chunk(differences, changesAtOnce) {
		var gets []clientv3.Op
		for _, d := range part {
			if !d.deleted {
				gets = append(gets, clientv3.OpGet(e.place(d.key), clientv3.WithRev(int64(now))))
			}
		}
		if len(gets) == 0 {
			continue
		}
		answer, err := e.client.Txn(ctx).Then(gets...).Commit()
		if err != nil {
			return fmt.Errorf("etcd: the state at revision %d cannot be read: %w", now, err)
		}
		for _, r := range answer.Responses {
			for _, kv := range r.GetResponseRange().Kvs {
				if key, ok := e.key(kv.Key); ok {
					values[key] = kv.Value
				}
			}
		}
	}
	events := make([]*mvccpb.Event, 0, len(differences))
	for _, d := range differences {
		event := &mvccpb.Event{Type: mvccpb.DELETE, Kv: &mvccpb.KeyValue{Key: []byte(e.place(d.key)), ModRevision: int64(d.revision)}}
		if !d.deleted {
			event.Type, event.Kv.Value = mvccpb.PUT, values[d.key]
		}
		events = append(events, event)
	}
	return e.apply(events, true)
}
