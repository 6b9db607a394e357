package request

import (
	"net/http"
	"sync/atomic"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/ranks"
	"github.com/capstan-dev/capstan/server/internal/flowcontrol"
)

// Limits bounds the requests in flight, for all users together and for each of them.
// Long-running requests (watches) are not counted: they hold next to nothing. A write
// takes its slot when its body has arrived. With priority and fairness the number of
// requests is bounded by priority level instead, and only counted here.
type Limits struct {
	Reading, Mutating Pool // requests
	bodies, answers   Pool // bytes of large ones
	values            Pool // in large bodies
	unread            *unread
}

const (
	// largeBodies is the number of bodies of the largest size that may be in memory at
	// once.
	largeBodies = 40
	// fullBodies is the number of bodies of the largest size, full of the smallest values,
	// that may be in memory at once. A value of two bytes takes some hundred when it is read.
	fullBodies = 4
	// answerBytes bounds the memory of large answers on their way.
	answerBytes = 256 << 20
	// small is the memory that a body or an answer may have without a slot: about that
	// of its connection.
	small = 64 << 10
)

// NewLimits bounds reads and writes, and the bodies of at most largest bytes. A number
// that is not positive means no bound.
func NewLimits(reading, mutating int, largest int64) *Limits {
	l := &Limits{unread: newUnread()}
	l.Reading.Set(int64(reading))
	l.Mutating.Set(int64(mutating))
	l.bodies.Set(largeBodies * largest)
	l.values.Set(fullBodies * (largest/2 + 1))
	l.answers.Set(answerBytes)
	return l
}

// Pool is a resource that requests take from while they are handled. No user gets more
// than a share of it except administrators, whose use is unbounded and not counted: they
// must be able to repair an overloaded server.
type Pool struct {
	most, share int64 // 0 or less for no bound
	InUse       atomic.Int64

	mu    ranks.Mutex[ranks.Leaf]
	taken int64            // by bounded users
	users map[string]int64 // the same, by name
}

// usersOfPool is the number of users that can use up a pool.
const usersOfPool = 4

// Set sets the size of an unused pool; 0 or less is no bound.
func (p *Pool) Set(most int64) {
	p.most, p.share = most, max(most/usersOfPool, 1)
	p.users = make(map[string]int64)
}

// Slot is the part of a pool that a request has taken; the zero slot is nothing.
type Slot struct {
	pool *Pool
	user string // "" for an unbounded user
	size int64
}

// Take adds to a slot, which may be the zero slot, or answers 429 when there is not
// enough. The caller leaves the slot in any case.
func (p *Pool) Take(have *Slot, user *authn.User, size int64) error {
	if have.pool == nil {
		have.pool = p
		if p.most > 0 && !isMaster(user) {
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

// Leave returns the slot to its pool.
func (h *Slot) Leave() {
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

// BodyRoom is the room of a large body: its bytes, and the values in them.
type BodyRoom struct{ bytes, values Slot }

// Leave returns both.
func (b *BodyRoom) Leave() {
	b.bytes.Leave()
	b.values.Leave()
}

// count adds to a slot of the pool that is not bounded.
func (p *Pool) count(have *Slot) {
	have.pool, have.size = p, 1
	p.InUse.Add(1)
}

// Enter waits for the place of a request among those that run, or answers 429 when there
// is none: at its priority level, or among all.
func (env *Env) Enter(r *Request) error {
	watches := r.watches() || r.Target.streams()
	if r.Target.AlwaysServed || r.Target.Remote != nil || r.LongRunning() && !watches { // extension servers have limits of their own
		return nil
	}
	s := r.seat
	s.take(r.User, env.limits.unread)
	if err := env.limits.unread.check(r.User); err != nil {
		return err
	}
	pool := &env.limits.Reading
	if r.Mutating() {
		pool = &env.limits.Mutating
	}
	switch flow := env.cfg.Flow; {
	case flow != nil:
		begin := r.begin()
		err := flow.Enter(r.Context, &s.place, r.extent())
		r.queued = s.place.Waited()
		r.stage("priorityandfairness", begin)
		if err != nil {
			return api.TooManyRequests(1)
		}
		if err := env.limits.unread.check(r.User); err != nil { // it may have waited
			return err
		}
	case !watches:
		return pool.Take(&s.slot, r.User, 1)
	}
	if !watches {
		pool.count(&s.slot)
	}
	return nil
}

// NewPlace makes the place of the request among those that run, which Enter waits for. It
// has the attributes of the request.
func (r *Request) NewPlace() *flowcontrol.Place {
	r.seat = &seat{place: flowcontrol.Place{Attributes: r.Attributes()}}
	return &r.seat.place
}

// watches reports whether the request is a watch of this server. It has a place until it
// is initialized (Leave).
func (r *Request) watches() bool {
	t := &r.Target
	return t.Row != nil && r.Method() == http.MethodGet && (t.WatchPath || t.collection() && r.Query.IsWatch())
}

// extent is the part of the objects that the request is about.
func (r *Request) extent() (e flowcontrol.Extent) {
	if t := &r.Target; t.Row != nil && t.Row.Stored {
		e.Prefix = t.Row.Prefix("")
		e.Acts = t.Action() != nil && t.Action().Writes
		switch {
		case r.watches():
			version := r.Query.Get("resourceVersion")
			e.Initial = version == "" || version == "0" || r.Query.Flag("sendInitialEvents")
			e.Prefix = t.Row.Prefix(t.Namespace)
		case t.Name == "" && !r.Mutating():
			e.Prefix = t.Row.Prefix(t.Namespace)
			if limit, err := r.Query.Integer("limit"); err == nil && limit != nil {
				e.Limit = *limit
			}
		}
	}
	return e
}

// Sized notes the number of objects in the collection of a list.
func (env *Env) Sized(r *Request, objects int64) {
	if env.cfg.Flow != nil {
		env.cfg.Flow.Sized(r.Target.Row.Prefix(r.Target.Namespace), objects)
	}
}

// Leave gives up the place of a request before its end. The rest of an answer has to call
// it.
func (r *Request) Leave() {
	if r.seat != nil {
		r.seat.leave()
		r.seat = nil
	}
}

// Sending writes a part of the answer that may have to wait for the client.
func (r *Request) Sending(write func() error) error {
	if r.seat.begin() {
		defer r.seat.end()
	}
	return write()
}
