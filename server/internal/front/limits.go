package front

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
)

// Limits bounds what requests in flight take, for all users together and for each
// of them. Long-running requests (watches) are not counted: they hold next to
// nothing. A request that writes has its place when its body has arrived.
type Limits struct {
	Reading, Mutating Pool // requests
	bodies, answers   Pool // bytes of large ones
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

// NewLimits bounds requests that read and that write, and the bodies of largest bytes at
// most. A number that is not positive is no bound.
func NewLimits(reading, mutating int, largest int64) *Limits {
	l := &Limits{}
	l.Reading.Set(int64(reading))
	l.Mutating.Set(int64(mutating))
	l.bodies.Set(largeBodies * largest)
	l.answers.Set(answerBytes)
	return l
}

// Pool is something that requests take from while they are handled. Nobody gets
// more than a share of it but the administrators, who are neither bounded nor in
// the way of others: they must be able to help when nobody else can.
type Pool struct {
	most, share int64 // 0 or less for no bound
	InUse       atomic.Int64

	mu    sync.Mutex
	taken int64            // by those who are bounded
	users map[string]int64 // the same, by name
}

// usersOfPool is how many users it takes to use up a pool.
const usersOfPool = 4

func (p *Pool) Set(most int64) {
	p.most, p.share = most, max(most/usersOfPool, 1)
	p.users = make(map[string]int64)
}

// Place is what a request has taken of a pool; the zero place is nothing.
type Place struct {
	pool *Pool
	user string // "" for one who is not bounded
	size int64
}

// Take adds to a place, which may be the zero place, or answers 429 when there is
// not enough. The place is to be left in any case.
func (p *Pool) Take(have *Place, user *authn.User, size int64) error {
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
	p.InUse.Add(size)
	return nil
}

func (p *Pool) admit(user string, size int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken+size > p.most || p.users[user]+size > p.share {
		return false
	}
	p.taken += size
	p.users[user] += size
	return true
}

// Leave gives back what the place has.
func (h *Place) Leave() {
	if h.size == 0 {
		return
	}
	p := h.pool
	p.InUse.Add(-h.size)
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
func (l *Limits) enter(r *Request, at *Place) error {
	switch {
	case r.Target.Open || r.longRunning():
		return nil
	case r.mutating():
		return l.Mutating.Take(at, r.User, 1)
	}
	return l.Reading.Take(at, r.User, 1)
}
