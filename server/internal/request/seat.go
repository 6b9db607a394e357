package request

import (
	"slices"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/ranks"
	"github.com/capstan-dev/capstan/server/internal/flowcontrol"
)

// seat is the place of a request among those that run: at its priority level, and among
// all. A request needs it to compute, not to wait for its client. So a seat is given back
// when a write of the answer takes longer than patience, and the answer goes on as an
// unread one.
//
// Invariants:
//
//	S1. A request that runs has its place, is counted as unread, or is a watch that has begun.
//	S2. A seat that was given back is not taken again: the rest of the answer is bounded by
//	    the speed of its client.
//	S3. mu is held by the handler and by the timer for a moment only, never while something
//	    is written.
type seat struct {
	place  flowcontrol.Place // of priority and fairness, if there is
	slot   Slot              // of the requests in flight
	user   *authn.User
	unread *unread

	mu      ranks.Mutex[ranks.Request]
	taken   bool        // the request has its place
	counted bool        // it is one of unread
	begun   time.Time   // the present write
	writing bool        // there is one
	watched bool        // the timer runs
	timer   *time.Timer // nil before the first write
}

// patience is the time that a write may take before the request gives its place back. The
// buffers of a connection take most answers in less.
const patience = 5 * time.Millisecond

// take notes that the request is about to take its place.
func (s *seat) take(user *authn.User, u *unread) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.user, s.unread, s.taken = user, u, true
}

// begin notes that a write begins. It reports whether end has to be called. nil is the seat
// of a request that needs none.
func (s *seat) begin() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.taken || s.writing {
		return false
	}
	s.writing, s.begun = true, time.Now()
	switch {
	case s.watched:
	case s.timer == nil:
		s.timer = time.AfterFunc(patience, s.look)
	default:
		s.timer.Reset(patience)
	}
	s.watched = true
	return true
}

// end notes that a write has ended.
func (s *seat) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writing = false
}

// look gives the place back if the present write takes too long. One timer is enough for
// many short writes.
func (s *seat) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watched = false
	if !s.taken || !s.writing {
		return
	}
	if left := patience - time.Since(s.begun); left > 0 {
		s.watched = true
		s.timer.Reset(left)
		return
	}
	s.counted = true
	s.unread.add(s.user)
	s.giveBack()
}

func (s *seat) giveBack() {
	s.taken = false
	s.place.Leave()
	s.slot.Leave()
}

// leave is the end of the request, or of a watch's begin.
func (s *seat) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	if s.counted {
		s.counted = false
		s.unread.remove(s.user)
	}
	s.giveBack()
}

// unread counts the answers that go on without a place, since their clients do not read
// them. Each has a view of the store and some buffers, for as long as an answer may take.
//
// A user has a share of them. While it is used up the user gets no further place, so it
// never has more unread answers than its share and the places of one moment. When the
// whole is used up, only users without an unread answer get places. Administrators are not
// counted, as in Pool.
type unread struct {
	most, share int

	mu    ranks.Mutex[ranks.Leaf]
	all   int
	users map[string]int
}

const (
	mostUnread  = 400
	unreadShare = mostUnread / usersOfPool
)

func newUnread() *unread {
	return &unread{most: mostUnread, share: unreadShare, users: map[string]int{}}
}

func (u *unread) add(user *authn.User) { u.change(user, 1) }

func (u *unread) remove(user *authn.User) { u.change(user, -1) }

func (u *unread) change(user *authn.User, by int) {
	if isMaster(user) {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.all += by
	if u.users[user.Name] += by; u.users[user.Name] == 0 {
		delete(u.users, user.Name)
	}
}

// check refuses a place to a user with too many unread answers: 429.
func (u *unread) check(user *authn.User) error {
	if isMaster(user) {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if has := u.users[user.Name]; has < u.share && (has == 0 || u.all < u.most) {
		return nil
	}
	e := api.TooManyRequests(1)
	e.Message = "Too many requests, please try again later: too many answers to this user are not being read. Read them or close their connections."
	return e
}

// isMaster reports whether a user is an administrator, who must be able to repair an
// overloaded server.
func isMaster(user *authn.User) bool { return slices.Contains(user.Groups, authn.GroupMasters) }
