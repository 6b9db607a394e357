// Package history holds what clients of a server saw, and the promises that a
// server makes about it, one function each.
//
// Clients record while they run: every write with the resourceVersion that the
// server acknowledged, every watch with its options and events, every list with
// its revision and items. Afterwards Check holds the whole against the promises
// (see Promises). Nothing in here talks to a server.
//
// The truth that watches and lists are compared with is the Ledger: all that
// anybody was told of any revision, put together. What two clients were told of
// one revision must agree, so a server that shows a wrong change to one of them
// is found out by the others, and a server that withholds a change from one is
// found out by the writer who got it acknowledged, or by the other watchers.
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

// State is an object as it was at a revision, as far as a client was shown.
type State struct {
	// Key names the object: "configmaps/shop/web", "nodes//n1".
	Key string
	// Revision is that of the change that made this state, the resourceVersion.
	Revision uint64
	Labels   map[string]string
	// Fields are those that field selectors name, nil when the representation
	// does not show them.
	Fields map[string]string
	// Mark tells writes apart: writers put another one into each write.
	Mark string
	// Digest is of the whole object but its resourceVersion, "" when the
	// representation does not show all of it.
	Digest string
}

// Key names an object: its resource, namespace ("" for none) and name.
func Key(resource, namespace, name string) string {
	return resource + "/" + namespace + "/" + name
}

// Options are what a watch or a list asked for.
type Options struct {
	Resource  string
	Namespace string // "" for all, and for resources without
	Selector  string // as it was sent, "" for none
	// Matches says what Selector says; nil for everything. It is given states
	// that have their fields.
	Matches func(*State) bool
}

// covers reports whether a key is in the scope of the options.
func (o *Options) covers(key string) bool {
	rest, ok := strings.CutPrefix(key, o.Resource+"/")
	return ok && (o.Namespace == "" || strings.HasPrefix(rest, o.Namespace+"/"))
}

// shows reports whether a state is to be seen with these options.
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

// Op is what a write did.
type Op string

// The operations of writes.
const (
	Create Op = "create"
	Update Op = "update"
	Delete Op = "delete"
)

// Write is an acknowledged write. Writes whose answer never came are not
// recorded: they show in what watches and lists say, or nowhere.
type Write struct {
	Op    Op
	State State // as answered; of a deletion that was answered without its revision, the key only
	// Precondition is the resourceVersion that the write demanded, 0 for none.
	Precondition uint64
	// NotBefore is the newest revision that was acknowledged to anybody when the
	// write was sent.
	NotBefore uint64
}

// List is an answered list, all its pages together.
type List struct {
	Options
	Revision uint64
	// NotBefore is the newest revision that was acknowledged to anybody when the
	// list was asked for, or 0 for a list that may be older.
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
	// From is the revision that it started after; 0 when it started with the
	// state as ADDED events.
	From uint64
	// NotBefore is the least revision that such a state may be of.
	NotBefore uint64
	// Base is the list that From came from, nil for none.
	Base *List
	// Continues is the watch that From came from, nil for none.
	Continues *Watch
	Events    []Event
	// Until is the revision up to which the client knows to have seen everything
	// for a reason of its own: it asked for a change and saw that. 0 for none.
	Until uint64
	// Expired is set when the answer was 410, Kept to a revision that the server
	// surely had not trimmed when that happened.
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

// History is what a number of clients saw of one server. It is not safe for
// concurrent use: see Recorder.
type History struct {
	Writes  []Write
	Lists   []*List
	Watches []*Watch
}

// Recorder gathers a history from many clients at once. A watch belongs to the
// client that reads it until everything is over.
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

// Watch records a watch that begins.
func (r *Recorder) Watch(w *Watch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Watches = append(r.history.Watches, w)
}

// Newest is the newest revision that was acknowledged so far, by a write or a
// list.
func (r *Recorder) Newest() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.newest
}

// History is what was recorded. Nobody records any more.
func (r *Recorder) History() *History {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &History{slices.Clone(r.history.Writes), slices.Clone(r.history.Lists), slices.Clone(r.history.Watches)}
}
