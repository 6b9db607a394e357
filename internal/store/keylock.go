package store

import (
	"context"

	"github.com/capstan-dev/capstan/internal/ranks"
)

// keyLocks is a lock per key. A key costs memory only while its lock is held or waited
// for.
//
// Invariant: refs of a lock in the map is the number of holders and waiters, and is not
// 0.
type keyLocks struct {
	mu   ranks.Mutex[ranks.Leaf]
	held map[string]*keyLock
	free []*keyLock // a few unused locks
}

type keyLock struct {
	token chan struct{} // full while the lock is held
	refs  int
}

const maxFreeLocks = 64

// acquire takes the lock of a key, or returns ctx's error.
func (l *keyLocks) acquire(ctx context.Context, key string) (k *keyLock, err error) {
	ranks.Enter[ranks.Key]()
	defer func() {
		if err != nil {
			ranks.Leave[ranks.Key]()
		}
	}()
	return l.wait(ctx, key)
}

func (l *keyLocks) wait(ctx context.Context, key string) (*keyLock, error) {
	l.mu.Lock()
	k := l.held[key]
	if k == nil {
		if n := len(l.free); n > 0 {
			k, l.free = l.free[n-1], l.free[:n-1]
		} else {
			k = &keyLock{token: make(chan struct{}, 1)}
		}
		if l.held == nil {
			l.held = make(map[string]*keyLock)
		}
		l.held[key] = k
	}
	k.refs++
	l.mu.Unlock()
	select {
	case k.token <- struct{}{}:
		return k, nil
	default:
	}
	select {
	case k.token <- struct{}{}:
		return k, nil
	case <-ctx.Done():
		l.drop(key, k)
		return nil, ctx.Err()
	}
}

func (l *keyLocks) release(key string, k *keyLock) {
	<-k.token
	ranks.Leave[ranks.Key]()
	l.drop(key, k)
}

func (l *keyLocks) drop(key string, k *keyLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.refs--; k.refs == 0 {
		delete(l.held, key)
		if len(l.free) < maxFreeLocks {
			l.free = append(l.free, k)
		}
	}
}
