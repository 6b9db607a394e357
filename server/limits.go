package server

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
)

// limits bounds what requests in flight take, for all users together and for each
// of them. Long-running requests (watches) are not counted: they hold next to
// nothing. A request that writes has its place when its body has arrived.
type limits struct {
	reading, mutating pool // requests
	bodies, answers   pool // bytes of large ones
}

const (
	// largeBodies is how many bodies of the largest size are in memory at once.
	largeBodies = 40
	// answerBytes is what large answers that are on their way have in memory at once.
	answerBytes = 256 << 20
	// small is what a body or an answer may have in memory without asking: about
	// what its connection has.
	small = 64 << 10
)

func (l *limits) set(reading, mutating int, largest int64) {
	l.reading.set(int64(reading))
	l.mutating.set(int64(mutating))
	l.bodies.set(largeBodies * largest)
	l.answers.set(answerBytes)
}

// pool is something that requests take from while they are handled. Nobody gets
// more than a share of it but the administrators, who are neither bounded nor in
// the way of others: they must be able to help when nobody else can.
type pool struct {
	most, share int64 // 0 or less for no bound
	inUse       atomic.Int64

	mu    sync.Mutex
	taken int64            // by those who are bounded
	users map[string]int64 // the same, by name
}

// usersOfPool is how many users it takes to use up a pool.
const usersOfPool = 4

func (p *pool) set(most int64) {
	p.most, p.share = most, max(most/usersOfPool, 1)
	p.users = make(map[string]int64)
}

// place is what a request has taken of a pool; the zero place is nothing.
type place struct {
	pool *pool
	user string // "" for one who is not bounded
	size int64
}

// take adds to a place, which may be the zero place, or answers 429 when there is
// not enough. The place is to be left in any case.
func (p *pool) take(have *place, user *authn.User, size int64) error {
	if have.pool == nil {
		have.pool = p
		if p.most > 0 && !slices.Contains(user.Groups, authn.GroupMasters) {
			have.user = user.Name
		}
	}
	if have.user != "" && !p.admit(have.user, size) {
		return api.TooManyRequests(1)
	}
	have.size += size
	p.inUse.Add(size)
	return nil
}

func (p *pool) admit(user string, size int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken+size > p.most || p.users[user]+size > p.share {
		return false
	}
	p.taken += size
	p.users[user] += size
	return true
}

// leave gives back what the place has.
func (h *place) leave() {
	if h.size == 0 {
		return
	}
	p := h.pool
	p.inUse.Add(-h.size)
	if h.user != "" {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.taken -= h.size
		if p.users[h.user] -= h.size; p.users[h.user] == 0 {
			delete(p.users, h.user)
		}
	}
	h.size = 0
}

// enter takes the place of a request, or answers 429 when there is none.
func (l *limits) enter(r *request, at *place) error {
	switch {
	case r.target.open || r.longRunning():
		return nil
	case r.mutating():
		return l.mutating.take(at, r.user, 1)
	}
	return l.reading.take(at, r.user, 1)
}
