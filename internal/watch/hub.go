// Package watch delivers committed changes to watchers.
//
// The store announces every change once. A Hub keeps the newest changes of each watched
// resource in a shared, bounded ring; a watcher is a Cursor, which holds only a revision.
// A cursor inside the ring reads from it; one that has fallen behind reads the store's
// log until it is inside again. So a slow watcher costs no more than an idle one, never
// slows a writer, and never loses or repeats a change. Changes in quick succession are
// shown to many watchers in waves (pace).
package watch

import (
	"strings"

	"github.com/capstan-dev/capstan/internal/ranks"
	"github.com/capstan-dev/capstan/internal/store"
)

// Config bounds the memory of one ring; the bound that is met first evicts.
type Config struct {
	RingEvents int // changes kept per resource; 0 means 4096
	RingBytes  int // bytes of objects kept per resource; 0 means 16 MiB

	// Writing is the number of writes under way, which will be announced soon. nil means
	// none.
	Writing func() int64

	// Shared says that several changes of a resource may have one revision, as in a store on
	// etcd. A watcher that resumes at such a revision gets all of its changes: it may have seen
	// the first of them only.
	Shared bool
}

// Hub holds the rings.
//
// Invariants:
//
//	W1. A ring holds every change of its resource with floor < revision <=
//	    latest, in revision order.
//	W2. latest is the same for all rings: the newest revision that the store
//	    has announced.
//	W3. Nothing in the hub blocks on a watcher.
//	W4. There is a ring for each resource that has a cursor, and for no other. An ended
//	    ring is not among them: only its cursors have it.
//
// The end of a resource (End) has a revision: the newest one that was announced before.
//
//	W5. A cursor that was opened before the end returns every change up to the revision of
//	    the end, from the ring or from the log, none after it, and then ErrClosed.
//	W6. Its Revision does not pass that of the end: later changes belong to
//	    another generation of the resource, and the cursor has not seen it.
//	W7. No cursor waits at an ended ring: End wakes those that wait, and later Polls return
//	    a wake that is closed.
//	W8. A cursor that is opened after the end belongs to the next generation, with a ring of
//	    its own. A watcher that may have found the resource before its end looks once more
//	    after it has opened the cursor. If it does not find the resource, the cursor may
//	    have come too late for End; if it does, a later End includes the cursor.
//
// A gap in what the store announces (store.Batch) ends all cursors:
//
//	W9. A cursor that was opened before a gap returns no change of the gap or after it, but
//	    *store.TrimmedError.
type Hub struct {
	cfg    Config
	store  store.Feed
	cancel func()

	mu     ranks.RWMutex[ranks.Follower]
	latest uint64
	rings  map[string]*ring // by resource prefix, "apps/deployments/"
	closed bool

	more chan struct{} // always closed, see Poll
}

// NewHub subscribes to the store. Close ends all cursors.
func NewHub(s store.Feed, cfg Config) *Hub {
	if cfg.RingEvents <= 0 {
		cfg.RingEvents = 4096
	}
	if cfg.RingBytes <= 0 {
		cfg.RingBytes = 16 << 20
	}
	h := &Hub{cfg: cfg, store: s, rings: make(map[string]*ring), more: make(chan struct{})}
	close(h.more)
	current, cancel := s.Subscribe(store.Streams, h.publish)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.latest, h.cancel = max(h.latest, current), cancel
	return h
}

// Close ends the subscription; all cursors return ErrClosed, whatever they have not seen.
func (h *Hub) Close() {
	h.cancel()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.closed = true
	for _, r := range h.rings {
		r.pace.wave()
	}
}

// publish is called by the store, in revision order.
func (h *Hub) publish(batch store.Batch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	before := h.latest
	h.latest = batch.Revision
	if batch.Gap {
		h.endAll()
		return
	}
	var touched []*ring
	for _, c := range batch.Changes {
		if r := h.rings[resourcePrefix(c.Entry.Key)]; r != nil {
			r.append(&Event{Change: *c}, h.cfg)
			if r.fresh++; r.fresh == 1 {
				touched = append(touched, r)
			}
		}
	}
	for _, r := range touched {
		r.pace.announce(r.fresh, before, func() { h.due(r) })
		r.fresh = 0
	}
}

// due ends the pause of a ring.
func (h *Hub) due(r *ring) {
	several := h.cfg.Writing != nil && h.cfg.Writing() > 1
	h.mu.Lock()
	defer h.mu.Unlock()
	r.pace.due(several)
}

// use returns the ring of a resource, complete from now on until leave.
func (h *Hub) use(prefix string) *ring {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.rings[prefix]
	if r == nil {
		r = &ring{floor: h.latest, pace: pace{wake: make(chan struct{})}}
		h.rings[prefix] = r
	}
	r.users++
	return r
}

// leave drops a ring without cursors; later cursors begin in the log.
func (h *Hub) leave(prefix string, r *ring) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.users--; r.users == 0 && !r.ended {
		delete(h.rings, prefix)
	}
}

// endAll ends all cursors at a gap. mu is held.
func (h *Hub) endAll() {
	for _, r := range h.rings {
		r.ended, r.gap, r.end = true, h.latest, h.latest
		r.pace.wave()
	}
	clear(h.rings)
}

// Watchers is the number of cursors of a resource.
func (h *Hub) Watchers(prefix string) int {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if r := h.rings[prefix]; r != nil {
		return r.users
	}
	return 0
}

// End ends the cursors of a resource that is not served any more: they return the changes
// up to now that they have not seen yet, then ErrClosed. The caller has withdrawn the
// resource before, so that no watcher finds it any more (W8).
func (h *Hub) End(prefix string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.rings[prefix]; r != nil {
		r.ended, r.end = true, h.latest
		delete(h.rings, prefix)
		r.pace.wave()
	}
}

// resourcePrefix returns the "group/plural/" of a key.
func resourcePrefix(key string) string {
	i := strings.IndexByte(key, '/')
	if i < 0 {
		return key
	}
	j := strings.IndexByte(key[i+1:], '/')
	if j < 0 {
		return key
	}
	return key[:i+1+j+1]
}
