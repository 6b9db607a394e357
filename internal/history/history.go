// Package history holds the observations of a server's clients, and the server's promises
// about them, one function each.
//
// Clients record while they run: every write with the resourceVersion that the server
// acknowledged, every watch with its options and events, every list with its revision and
// items. Afterwards Check holds the whole against the promises (see Promises). This
// package does not talk to a server.
//
// Watches and lists are compared with the Ledger: the answers of all clients about each
// revision, put together. The answers of two clients about one revision must agree, so a
// wrong change shown to one of them contradicts the others, and a change withheld from
// one contradicts the writer that got it acknowledged, or the other watchers.
package history

import (
	"slices"
	"strings"
	"sync"
)

// The types of watch events.
const (
	Added    = "ADDED"
	Modified = "MODIFIED"
	Deleted  = "DELETED"
	Bookmark = "BOOKMARK"
)

// State is an object at a revision, as far as a client has seen it.
type State struct {
	// Key names the object: "configmaps/shop/web", "nodes//n1".
	Key string
	// Revision is the resourceVersion of the change that made this state.
	Revision uint64
	Labels   map[string]string
	// Fields are the values for field selectors, nil when the representation does not
	// show them.
	Fields map[string]string
	// Mark tells writes apart: writers put a new one into each write.
	Mark string
	// Digest is a digest of the whole object without its resourceVersion, "" when the
	// representation does not show all of it.
	Digest string
}

// Key names an object: its resource, namespace ("" for none) and name.
func Key(resource, namespace, name string) string {
	return resource + "/" + namespace + "/" + name
}

// Options are those of a watch or a list request.
type Options struct {
	Resource  string
	Namespace string // "" for all, and for cluster-scoped resources
	Selector  string // as it was sent, "" for none
	// Matches applies Selector to states that have their fields; nil matches everything.
	Matches func(*State) bool
}

// covers reports whether a key is in the scope of the options.
func (o *Options) covers(key string) bool {
	rest, ok := strings.CutPrefix(key, o.Resource+"/")
	return ok && (o.Namespace == "" || strings.HasPrefix(rest, o.Namespace+"/"))
}

// shows reports whether a state is visible with these options.
func (o *Options) shows(s *State) bool {
	return s != nil && o.covers(s.Key) && (o.Matches == nil || o.Matches(s))
}

func (o *Options) String() string {
	text := o.Resource
	if o.Namespace != "" {
		text += " in " + o.Namespace
	}
	if o.Selector != "" {
		text += " with " + o.Selector
	}
	return text
}

// Op is the kind of a write.
type Op string

// The kinds of writes.
const (
	Create Op = "create"
	Update Op = "update"
	Delete Op = "delete"
)

// Write is an acknowledged write. Unanswered writes are not recorded: they show in
// watches and lists, if at all.
type Write struct {
	Op    Op
	State State // as answered; only the key for a deletion answered without its revision
	// Precondition is the resourceVersion that the write required, 0 for none.
	Precondition uint64
	// NotBefore is the newest revision acknowledged to any client when the write was
	// sent.
	NotBefore uint64
}

// List is an answered list, all its pages together.
type List struct {
	Options
	Revision uint64
	// NotBefore is the newest revision acknowledged to any client when the list was
	// requested, or 0 for a list that may be older.
	NotBefore uint64
	Items     []State
}

// Event is an event of a watch, in the order of arrival.
type Event struct {
	Type string
	State
	// InitialEnd marks the bookmark that closes the initial events.
	InitialEnd bool
}

// Watch is a watch, from its request to its last event.
type Watch struct {
	Options
	Name string // for messages
	// From is the revision that the watch started after; 0 when it started with the state
	// as ADDED events.
	From uint64
	// NotBefore is the least revision that such a state may have.
	NotBefore uint64
	// Base is the list that gave From, nil for none.
	Base *List
	// Continues is the watch that gave From, nil for none.
	Continues *Watch
	Events    []Event
	// Until is the revision up to which the client knows to have seen everything because
	// it saw a change that it had requested. 0 for none.
	Until uint64
	// Expired is set when the answer was 410; Kept is then a revision that the server had
	// certainly not trimmed at that time.
	Expired bool
	Kept    uint64
	// Cut is set when the stream broke off, so that initial events may be missing.
	Cut bool
}

// last is the last revision that the watch has shown after its initial events,
// which begin at k; 0 for none.
func (w *Watch) last(k int) uint64 {
	if n := len(w.Events); n > k {
		return w.Events[n-1].Revision
	}
	return 0
}

// History is the record of several clients of one server. It is not safe for concurrent
// use: see Recorder.
type History struct {
	Writes  []Write
	Lists   []*List
	Watches []*Watch
}

// Recorder gathers a history from many clients at once. A watch belongs to the client
// that reads it until recording ends.
type Recorder struct {
	mu      sync.Mutex
	history History
	newest  uint64
}

// Write records an acknowledged write.
func (r *Recorder) Write(w Write) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Writes = append(r.history.Writes, w)
	r.newest = max(r.newest, w.State.Revision)
}

// List records an answered list.
func (r *Recorder) List(l *List) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Lists = append(r.history.Lists, l)
	r.newest = max(r.newest, l.Revision)
}

// Watch records the begin of a watch.
func (r *Recorder) Watch(w *Watch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Watches = append(r.history.Watches, w)
}

// Newest is the newest revision acknowledged so far, by a write or a list.
func (r *Recorder) Newest() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.newest
}

// History returns the record after recording has ended.
func (r *Recorder) History() *History {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &History{slices.Clone(r.history.Writes), slices.Clone(r.history.Lists), slices.Clone(r.history.Watches)}
}
