package store

import (
	"context"

	"github.com/capstan-dev/capstan/internal/ranks"
)

// KeyLocks is a lock per key, for engines. A key costs memory only while its lock is held or waited
// for.
//
// Invariant: refs of a lock in the map is the number of holders and waiters, and is not
// 0.
type KeyLocks struct {
	mu   ranks.Mutex[ranks.Leaf]
	held map[string]*KeyLock
	free []*KeyLock // a few unused locks
}

// KeyLock is the lock of a key that is held or waited for.
type KeyLock struct {
	token chan struct{} // full while the lock is held
	refs  int
}

const maxFreeLocks = 64

// Acquire takes the lock of a key, or returns ctx's error.
func (l *KeyLocks) Acquire(ctx context.Context, key string) (k *KeyLock, err error) {
	ranks.Enter[ranks.Key]()
	defer func() {
		if err != nil {
			ranks.Leave[ranks.Key]()
		}
	}()
	return l.wait(ctx, key)
}

func (l *KeyLocks) wait(ctx context.Context, key string) (*KeyLock, error) {
	l.mu.Lock()
	k := l.held[key]
	if k == nil {
		if n := len(l.free); n > 0 {
			k, l.free = l.free[n-1], l.free[:n-1]
		} else {
			k = &KeyLock{token: make(chan struct{}, 1)}
		}
		if l.held == nil {
			l.held = make(map[string]*KeyLock)
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

// Release gives the lock of a key back.
func (l *KeyLocks) Release(key string, k *KeyLock) {
	<-k.token
	ranks.Leave[ranks.Key]()
	l.drop(key, k)
}

func (l *KeyLocks) drop(key string, k *KeyLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.refs--; k.refs == 0 {
		delete(l.held, key)
		if len(l.free) < maxFreeLocks {
			l.free = append(l.free, k)
		}
	}
}
