package request

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
)

// sits makes a seat that takes one of the reading requests.
func sits(l *Limits, user *authn.User) *seat {
	s := &seat{}
	s.take(user, l.unread)
	l.Reading.count(&s.slot)
	return s
}

// TestSeat: many short writes keep a seat, whatever they take together, and one long write
// loses it; the answer counts as unread until it ends.
func TestSeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, user := NewLimits(10, 10, 1<<20), &authn.User{Name: "bob"}
		expect := func(when string, running, unread int) {
			t.Helper()
			synctest.Wait()
			l.unread.mu.Lock()
			defer l.unread.mu.Unlock()
			if got := l.Reading.InUse.Load(); got != int64(running) || l.unread.users["bob"] != unread || l.unread.all != unread {
				t.Fatalf("%s: %d run and %d are not read, want %d and %d", when, got, l.unread.all, running, unread)
			}
		}
		write := func(s *seat, took time.Duration) {
			if s.begin() {
				defer s.end()
			}
			time.Sleep(took)
		}
		s := sits(l, user)
		for range 20 {
			write(s, patience-time.Millisecond)
		}
		time.Sleep(3 * patience) // it computes
		expect("after short writes", 1, 0)
		if !s.begin() || s.begin() {
			t.Error("a write within a write counts by itself")
		}
		time.Sleep(patience - 1)
		expect("before the end of its patience", 1, 0)
		time.Sleep(time.Nanosecond)
		expect("while nobody reads", 0, 1)
		s.end()
		write(s, 3*patience)
		expect("when somebody reads again", 0, 1)
		s.leave()
		s.leave()
		expect("at the end", 0, 0)

		s = sits(l, user)
		s.begin()
		time.Sleep(patience / 2)
		s.end()
		s.leave()
		time.Sleep(patience)
		expect("of a quick answer", 0, 0)
		var none *seat
		if none.begin() {
			t.Error("a request without a seat has a write")
		}
	})
}

// TestUnread: a user has a share of the unread answers, and when there are too many, who
// has none gets a place.
func TestUnread(t *testing.T) {
	u := &unread{most: 8, share: 3, users: map[string]int{}}
	names := map[string]*authn.User{}
	for _, name := range []string{"a", "b", "c", "d"} {
		names[name] = &authn.User{Name: name}
	}
	names["admin"] = &authn.User{Name: "admin", Groups: []string{authn.GroupMasters}}
	for _, step := range []struct {
		user string
		add  int
		ok   bool // afterwards
	}{{"a", 2, true}, {"a", 1, false}, {"b", 3, false}, {"c", 1, true}, {"admin", 50, true}, {"c", 1, false}, {"d", 0, true}, {"a", -1, true}, {"c", -2, true}, {"b", -3, true}, {"a", -2, true}} {
		for range step.add {
			u.add(names[step.user])
		}
		for range -step.add {
			u.remove(names[step.user])
		}
		err := u.check(names[step.user])
		if (err == nil) != step.ok {
			t.Errorf("%s after %+d: %v", step.user, step.add, err)
		}
		if known, is := err.(*api.Error); err != nil && (!is || known.Code != http.StatusTooManyRequests || known.RetryAfter == 0) {
			t.Errorf("refused with %v", err)
		}
	}
	if u.all != 0 || len(u.users) != 0 {
		t.Errorf("%d are left, of %d users", u.all, len(u.users))
	}
}
