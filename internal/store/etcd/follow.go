package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/capstan-dev/capstan/internal/store"
)

// Pauses between attempts to follow etcd.
const (
	firstPause   = 50 * time.Millisecond
	longestPause = time.Second
)

// silence is the time for which a member of several may say nothing on a watch that is asked.
const silence = 2 * soon

// errSilent: the member that the watch is at may hang.
var errSilent = errors.New("etcd: a member does not answer; the watch goes on at another one")

// errCompacted: etcd no longer has the changes that the replica lacks.
var errCompacted = errors.New("etcd: the changes since the replica's revision are compacted")

// follow writes etcd's changes into the replica until ctx ends.
func (e *Engine) follow(ctx context.Context) {
	defer close(e.stopped)
	said := "" // the last warning, which is not repeated
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, longestPause) {
		before := e.replica.Current()
		err := e.watch(ctx)
		if errors.Is(err, errCompacted) {
			err = e.catchUp(ctx)
		}
		if ctx.Err() != nil {
			return
		}
		if err == nil { // the replica has caught up
			e.health.follows()
			continue
		}
		e.health.fail(err)
		if e.replica.Current() > before {
			pause, said = firstPause, ""
		}
		if reason := err.Error(); reason != said {
			e.cfg.Logger.Warn("etcd: the replica does not follow, and tries again", "revision", e.replica.Current(), "error", err)
			said = reason
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// watch follows one watch of etcd to its end. The watch has no revision twice and none in parts.
func (e *Engine) watch(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(clientv3.WithRequireLeader(ctx))
	defer cancel(nil)
	select {
	case <-e.renewals: // this watch is the new one
	default:
	}
	s, err := e.openStream(ctx, e.replica.Current()+1)
	if err != nil {
		return err
	}
	go e.askForProgress(ctx, s, cancel)
	for {
		shown, err := s.next()
		if err != nil {
			return cmp.Or(context.Cause(ctx), err)
		}
		if shown.revision == 0 && e.health.awaitsKey() {
			continue // at the value at which the last watch ended
		}
		if err := e.apply(shown.events, false); err != nil {
			return err
		}
		e.replica.Advance(shown.revision) // the last change may be of a key that the replica does not follow
		e.health.follows()
	}
}

// askForProgress has etcd tell, when a read waits, the revision up to which the watch has all
// changes. It ends with the watch, which it ends when etcd is silent.
func (e *Engine) askForProgress(ctx context.Context, s *stream, end context.CancelCauseFunc) {
	var asked time.Time // for the first time since something was heard
	for last := int64(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-e.renewals:
			end(errSilent)
			return
		case <-e.nudges:
		}
		switch now := s.heard.Load(); {
		case asked.IsZero() || now != last:
			asked, last = time.Now(), now
		case e.several() && time.Since(asked) > silence:
			e.suspect()
			end(errSilent)
			return
		}
		s.ask() // the read asks again
	}
}

// apply writes events into the replica. gap says that they replace others. At a value for which the replica waits
// apply returns its error; the events before its revision are written.
func (e *Engine) apply(events []*mvccpb.Event, gap bool) error {
	if len(events) == 0 {
		return nil
	}
	all := make([]store.Followed, 0, len(events))
	latest := map[string]int{} // by key: the number of changes up to its last one
	kvs := make([]*mvccpb.KeyValue, len(events))
	for i, event := range events {
		kvs[i] = event.Kv
	}
	page := e.keyed(kvs)
	values := e.decode(page, events)
	for i, event := range events {
		key := page[i].key
		if key == "" {
			continue
		}
		f := store.Followed{Key: key, Revision: uint64(event.Kv.ModRevision), Delete: event.Type == mvccpb.DELETE}
		var err error
		note := store.Followed{Key: notes + key, Revision: f.Revision, Delete: true}
		if !f.Delete {
			f.Value, f.Encoded = values[i].value, values[i].own
			if err = values[i].err; e.waits(err) {
				before := slices.IndexFunc(all, func(other store.Followed) bool { return other.Revision == f.Revision })
				if before < 0 {
					before = len(all)
				}
				return errors.Join(err, e.replica.Replicate(all[:before], gap))
			}
			if err != nil {
				e.unreadable(event.Kv.Key, f.Revision, err)
				f.Delete = true // the state before is not shown either
				note.Delete, note.Value = false, noteOf(err)
			}
		}
		if e.unreadables.some.Load() {
			all = append(all, note)
		}
		if f.Delete {
			var known bool
			if f.Value, known, err = e.last(key, all, latest[key]); err != nil {
				return err
			}
			if !known {
				continue // its value could not be read, so it was never there
			}
		}
		all = append(all, f)
		latest[key] = len(all)
	}
	return e.replica.Replicate(all, gap)
}

// last is the final state of a key that is deleted; ok is false when there is none. The changes that are
// not in the replica yet are given; the n-th one is the last of the key, if n is not 0.
func (e *Engine) last(key string, changes []store.Followed, n int) (v store.Value, ok bool, err error) {
	var entry store.Entry
	if n == 0 {
		entry, err = e.replica.Get(context.Background(), key)
	} else if f := &changes[n-1]; f.Delete {
		err = store.ErrNotFound
	} else {
		entry = f.Entry()
	}
	if errors.Is(err, store.ErrNotFound) {
		return v, false, nil
	}
	if err != nil {
		return v, false, err
	}
	v, err = e.cfg.Form.Last(entry)
	return v, true, err
}

// load fills an empty replica with the state of etcd at a revision. For values whose keys cannot be had
// it waits as long as Patience in all.
func (e *Engine) load(ctx context.Context, at greeting) error {
	patience := time.Now().Add(e.cfg.Patience)
	return e.replica.Load(at.source, func(into *store.Loading) (uint64, error) {
		return at.revision, e.list(ctx, at.revision, false, func(page []keyValue) error {
			values := make([]decoded, len(page))
			var known []int
			for i := range page {
				if page[i].key != "" {
					known = append(known, i)
				}
			}
			decodeEach(values, known, func(i int) (store.Value, error) {
				kv := &page[i]
				return patiently(ctx, patience, func() (store.Value, error) { return e.cfg.Form.Decode(kv.key, kv.Value) })
			})
			for i, kv := range page {
				key, value := kv.key, values[i].value
				if key == "" {
					continue
				}
				if err := values[i].err; err != nil {
					e.unreadable(kv.Key, uint64(kv.ModRevision), err)
					key, value = notes+key, noteOf(err)
				}
				if err := into.Put(key, uint64(kv.ModRevision), value); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// The number of keys that one question of a list asks for: of keys alone, and with their values, of which
// etcd accepts 1.5 MiB each.
const (
	keysAtOnce   = 50_000
	valuesAtOnce = 500
)

// list visits the keys of the form at a revision in pages, in the order of their places. A key of others
// has no key in the store. For each question etcd counts all keys of its range, so values are asked for in
// the ranges of keys that are known: pages of one long range cost the square of the number of keys.
func (e *Engine) list(ctx context.Context, revision uint64, keysOnly bool, visit func(page []keyValue) error) error {
	work := "reading etcd"
	if keysOnly {
		work = "reading the keys of etcd"
	}
	from, end := e.cfg.Prefix+"/", clientv3.GetPrefixRangeEnd(e.cfg.Prefix+"/")
	for done, total := int64(0), int64(0); ; {
		keys, err := e.rangeAt(ctx, revision, from, end, clientv3.WithKeysOnly(), clientv3.WithLimit(keysAtOnce))
		if err != nil {
			return err
		}
		if total == 0 {
			total = keys.Count // of all pages that follow
		}
		for part := range slices.Chunk(keys.Kvs, valuesAtOnce) {
			if report := e.cfg.Replica.Progress; report != nil {
				report(work, "keys", done, total)
			}
			done += int64(len(part))
			from = string(part[len(part)-1].Key) + "\x00"
			if !keysOnly {
				values, err := e.rangeAt(ctx, revision, string(part[0].Key), from)
				if err != nil {
					return err
				}
				part = values.Kvs
			}
			if err := visit(e.keyed(part)); err != nil {
				return err
			}
		}
		if !keys.More {
			return nil
		}
	}
}

// rangeAt reads a range of etcd at a revision.
func (e *Engine) rangeAt(ctx context.Context, revision uint64, from, end string, options ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	answer, err := e.client.Get(ctx, from, append(options, clientv3.WithRange(end), clientv3.WithRev(int64(revision)))...)
	if err != nil {
		return nil, fmt.Errorf("etcd: the state at revision %d cannot be read: %w", revision, err)
	}
	return answer, nil
}

// keyed are keys of etcd with their keys in the store.
func (e *Engine) keyed(all []*mvccpb.KeyValue) []keyValue {
	page := make([]keyValue, len(all))
	for i, kv := range all {
		key, _ := e.key(kv.Key)
		page[i] = keyValue{kv, key}
	}
	return page
}

// health is how well the replica follows. It is safe for concurrent use.
type health struct {
	mu     sync.Mutex
	failed error // why the replica does not follow; nil while it does
}

func (h *health) follows() { h.fail(nil) }

func (h *health) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed = err
}

// awaitsKey reports whether the replica waits for the key of a value.
func (h *health) awaitsKey() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return errors.As(h.failed, new(*store.KeyError))
}

func (h *health) failure() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failed == nil {
		return nil
	}
	return fmt.Errorf("etcd: the replica does not follow: %w", h.failed)
}
