package watch

import (
	"context"
	"errors"
	"strings"

	"github.com/capstan-dev/capstan/internal/store"
)

// ErrClosed means that the hub is closed, since the server is shutting down, or that the
// resource is not served any more.
var ErrClosed = errors.New("watch: closed")

// batchSize and batchBytes bound the events that one Poll returns, and so the memory of a
// watcher while it writes to a slow client. One event is always returned.
const (
	batchSize  = 64
	batchBytes = 256 << 10
)

// Cursor is the position of a watcher: it has seen every change up to its revision whose
// key starts with its prefix. It is used by one goroutine.
type Cursor struct {
	hub    *Hub
	ring   *ring
	prefix string
	rev    uint64
	closed bool
	shared bool // changes at rev may have to be returned once more, see Config.Shared
}

// Watch returns a cursor after a revision. prefix is that of a resource, or of a
// namespace within it. Next reports whether the revision is still kept. The cursor must
// be closed.
func (h *Hub) Watch(prefix string, after uint64) *Cursor {
	return &Cursor{hub: h, ring: h.use(resourcePrefix(prefix)), prefix: prefix, rev: after}
}

// Resume is Watch for a client that names the revision, as that of the last change that it got. Of
// several changes at that revision it may have got the first only: see Config.Shared.
func (h *Hub) Resume(prefix string, after uint64) *Cursor {
	c := h.Watch(prefix, after)
	c.shared = h.cfg.Shared && after > 0
	return c
}

// Close releases the ring. The cursor must not be used afterwards, but may be closed
// again.
func (c *Cursor) Close() {
	if !c.closed {
		c.closed = true
		c.hub.leave(resourcePrefix(c.prefix), c.ring)
	}
}

// Revision is the newest revision up to which everything has been returned. While no
// event is pending it advances with writes to other keys, which do not wake the cursor,
// so that bookmarks are up to date.
func (c *Cursor) Revision() uint64 {
	c.hub.mu.RLock()
	defer c.hub.mu.RUnlock()
	if c.inside() {
		c.take(0)
	}
	return c.rev
}

// inside reports whether the ring has all changes that the cursor has not seen. The hub's
// lock is held.
func (c *Cursor) inside() bool { return c.rev >= c.ring.floor }

// take returns the next events of the ring, at most limit and batchBytes of them, and
// moves past them. all reports that it reached the end. The hub's lock is held and the
// cursor inside.
func (c *Cursor) take(limit int) (events []*Event, all bool) {
	end := c.ring.limit(c.hub.latest)
	bytes := 0
	for _, e := range c.ring.after(c.rev) {
		if e.Entry.Revision > end {
			break
		}
		if strings.HasPrefix(e.Entry.Key, c.prefix) {
			bytes += e.size()
			full := len(events) >= limit || len(events) > 0 && bytes > batchBytes
			if full && e.Entry.Revision > c.rev { // the changes at one revision go together
				return events, false
			}
			events = append(events, e)
		}
		c.rev = e.Entry.Revision
	}
	c.rev = max(c.rev, end)
	return events, true
}

// Poll returns the next events, at most batchSize, without waiting. wake is closed when
// there may be more, possibly already. No events and no error means that the cursor has
// caught up: Revision is the newest revision that is shown. Errors: *store.TrimmedError
// when history no longer reaches back to the cursor, ErrClosed, and those of the store's
// Changes.
func (c *Cursor) Poll(ctx context.Context) (events []*Event, wake <-chan struct{}, err error) {
	if err := c.resume(ctx); err != nil {
		return nil, nil, err
	}
	for {
		seen := c.look()
		switch {
		case seen.gap > 0:
			return nil, nil, &store.TrimmedError{Asked: c.rev, Oldest: seen.gap}
		case seen.closed:
			return nil, nil, ErrClosed
		case seen.inside:
			return seen.events, seen.wake, nil
		}
		if events, err = c.catchUp(ctx, seen.limit); err != nil || len(events) > 0 {
			return events, c.hub.more, err
		}
	}
}

// resume steps back before the cursor's revision when several changes of its prefix have that
// revision. It does so before the first events.
func (c *Cursor) resume(ctx context.Context) error {
	if !c.shared {
		return nil
	}
	n := 0
	_, err := c.hub.store.Changes(ctx, "", c.rev-1, func(ch *store.Change) bool {
		same := ch.Entry.Revision == c.rev
		if same && strings.HasPrefix(ch.Entry.Key, c.prefix) {
			n++
		}
		return same
	})
	var trimmed *store.TrimmedError
	if err != nil && !errors.As(err, &trimmed) { // the watcher begins where history does
		return err
	}
	if c.shared = false; n > 1 {
		c.rev--
	}
	return nil
}

// sight is the state of a ring as one cursor finds it.
type sight struct {
	closed bool // there will be nothing more
	gap    uint64
	inside bool
	events []*Event
	wake   <-chan struct{}
	limit  uint64 // of a cursor that is behind: up to here it may read the log
}

// look takes the next events of the ring. A cursor that is behind has to read the log, but
// not further than the newest announced change: the resource may end meanwhile, and later
// changes are those of another generation.
func (c *Cursor) look() (s sight) {
	h := c.hub
	h.mu.RLock()
	defer h.mu.RUnlock()
	s.closed, s.gap, s.inside, s.wake = h.closed, c.ring.gap, c.inside(), h.more
	if s.closed || s.gap > 0 {
		return s
	}
	if !s.inside {
		s.limit = c.ring.limit(h.latest)
		// The ring may have dropped changes that it still holds back from its cursors.
		s.limit = max(s.limit, c.ring.floor)
		return s
	}
	all := false
	s.events, all = c.take(batchSize)
	switch {
	case c.ring.ended:
		s.closed = len(s.events) == 0
	case all:
		s.wake = c.ring.pace.wait()
	}
	return s
}

// catchUp reads from the log, up to a revision. It may move on without returning events.
func (c *Cursor) catchUp(ctx context.Context, limit uint64) ([]*Event, error) {
	var events []*Event
	bytes := 0
	read, err := c.hub.store.Changes(ctx, c.prefix, c.rev, func(ch *store.Change) bool {
		if ch.Entry.Revision > limit {
			return false
		}
		e := &Event{Change: *ch}
		events = append(events, e)
		bytes += e.size()
		return len(events) < batchSize && bytes < batchBytes
	})
	if err != nil {
		return nil, err
	}
	c.rev = min(read, limit)
	return events, nil
}
