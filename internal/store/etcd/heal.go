package etcd

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/capstan-dev/capstan/internal/store"
)

// A value whose key a key management service guards can be read when the service answers. Two things
// keep a service that is away for a time from changing what clients see.
//
// The replica waits: it does not go on behind such a value, is not healthy meanwhile, and so shows
// nothing of before as the newest state. A service that answers with an error of its own is asked again
// for Patience; after that the value gets a note like any other that cannot be read, since one value
// that nobody can read must not stop all others.
//
// Values with notes are tried again, and one that can be read by then is touched: etcd gets the same
// bytes under the same key once more. The new revision shows the value to views and watches of all
// servers, as a write would, and a write meanwhile takes the place of the touch.

// waits reports whether the replica waits for a value that cannot be read. It is for follow alone.
func (e *Engine) waits(err error) bool {
	var key *store.KeyError
	switch {
	case !errors.As(err, &key):
		return false
	case !key.Refused:
		return true
	}
	if time.Since(e.refused) > 10*e.cfg.Patience {
		e.refused = time.Now()
	}
	return time.Since(e.refused) < e.cfg.Patience
}

// patiently calls decode again while the service of a value's key gives none, until a time.
func patiently(ctx context.Context, until time.Time, decode func() (store.Value, error)) (store.Value, error) {
	for {
		v, err := decode()
		if key := new(store.KeyError); !errors.As(err, &key) || !time.Now().Before(until) {
			return v, err
		}
		select {
		case <-ctx.Done():
			return v, err
		case <-time.After(min(firstRetry, time.Until(until))):
		}
	}
}

// Pauses between attempts to read values with notes.
const (
	firstRetry   = time.Second
	longestRetry = 5 * time.Minute
)

// retry tries values with notes again until ctx ends. A new note is tried soon.
func (e *Engine) retry(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.unreadables.noted:
		}
		for pause := firstRetry; ; {
			select {
			case <-ctx.Done():
				return
			case <-e.unreadables.noted:
				pause = firstRetry
				continue
			case <-time.After(pause):
				pause = min(2*pause, longestRetry)
			}
			left, err := e.retryAll(ctx)
			if err != nil && ctx.Err() == nil {
				e.cfg.Logger.Warn("etcd: values that could not be read are not tried again yet", "error", err)
			}
			if left == 0 && err == nil {
				break
			}
		}
	}
}

// retryAll tries all values with notes once. left is the number of those that still cannot be read.
func (e *Engine) retryAll(ctx context.Context) (left int, err error) {
	for from := ""; ; {
		all, err := e.notesFrom(ctx, from)
		if err != nil || len(all) == 0 {
			return left, err
		}
		for _, note := range all {
			readable, err := e.touch(ctx, strings.TrimPrefix(note.key, notes), note.revision)
			if err != nil {
				return left, err
			}
			if !readable {
				left++
			}
			from = note.key + "\x00"
		}
	}
}

// notesAtOnce is the number of notes that are read together.
const notesAtOnce = 1000

// notesFrom reads the keys of notes from a key on.
func (e *Engine) notesFrom(ctx context.Context, from string) (all []difference, err error) {
	view, err := e.replica.At(ctx, 0)
	if err != nil {
		return nil, err
	}
	err = view.ScanMeta(ctx, notes, from, func(note *store.Entry) bool {
		all = append(all, difference{key: strings.Clone(note.Key), revision: note.Revision})
		return len(all) < notesAtOnce
	})
	return all, errors.Join(err, view.Close())
}

// touch writes a value once more if it can be read by now. readable says that the note of the revision
// is one of the past, or soon will be.
func (e *Engine) touch(ctx context.Context, key string, revision uint64) (readable bool, err error) {
	place := e.place(key)
	answer, err := e.ask(ctx, place)
	if err != nil {
		return false, e.plain(err)
	}
	if len(answer.Kvs) == 0 || uint64(answer.Kvs[0].ModRevision) != revision {
		return true, nil // the watch shows it
	}
	if _, err := e.cfg.Form.Decode(key, answer.Kvs[0].Value); err != nil {
		return false, nil
	}
	if !e.writing.enter() {
		return false, store.ErrClosed
	}
	defer e.writing.leave()
	ctx, cancel := context.WithTimeout(ctx, e.writeTimeout())
	defer cancel()
	_, err = e.client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(place), "=", int64(revision))).
		Then(clientv3.OpPut(place, "", clientv3.WithIgnoreValue(), clientv3.WithIgnoreLease())).Commit()
	if err != nil {
		return false, e.plain(err)
	}
	e.cfg.Logger.Info("etcd: a value can be read again", "key", place, "revision", revision)
	return true, nil
}

// decoded is a value of etcd, or why it cannot be read.
type decoded struct {
	value store.Value
	own   *store.Encoded // instead of value, for what this server wrote
	err   error
}

// decodersAtOnce bounds the values that are decoded at once: each may wait for a key management service.
const decodersAtOnce = 16

// decodeEach calls decode for some values at once: those of all with the numbers in which.
func decodeEach(all []decoded, which []int, decode func(i int) (store.Value, error)) {
	var next atomic.Int64
	work := func() {
		for n := int(next.Add(1)); n <= len(which); n = int(next.Add(1)) {
			i := which[n-1]
			all[i].value, all[i].err = decode(i)
		}
	}
	var others sync.WaitGroup
	for range min(len(which), decodersAtOnce) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
}
