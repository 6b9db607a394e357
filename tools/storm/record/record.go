// Package record holds everything that the clients of one storm saw, for the promises to
// judge it.
package record

import (
	"slices"
	"sync"
	"time"

	"github.com/capstan-dev/capstan/internal/history"
)

// Call is a request that is not a watch, with its answer. Times count from the begin of
// the storm.
type Call struct {
	Client       int
	User         string
	Verb         string // create, get, put, patch, apply, delete, ...
	Resource     string
	Namespace    string
	Name         string
	Sub          string // subresource
	Mark         string // of a write
	Precondition uint64 // resourceVersion that a write requires, 0 for none
	Variant      string // propagation policy, patch type and the like
	Manager      string // the field manager that the client names, "" for none
	// Set are the fields of the body of an apply, as paths in order.
	Set          []string
	Began, Ended time.Duration
	// Code is the status of the answer, 0 when there was none: the write happened or not.
	Code    int
	Message string  // of a refusal, or of a lost connection
	Object  *Object // the answer, nil when it is not an object
}

// Key names the object of a call.
func (c Call) Key() string { return history.Key(c.Resource, c.Namespace, c.Name) }

// Done reports whether a call was acknowledged.
func (c Call) Done() bool { return c.Code >= 200 && c.Code < 300 }

// Event is a change of an object as a watch of all objects of its resource showed it.
type Event struct {
	Type    string
	Initial bool // there when the watch began
	*Object
}

// Probe is a question asked at rest whose answer breaks a promise.
type Probe struct{ Promise, Text string }

// Backup has the objects of built-in kinds in a backup of the store.
type Backup struct {
	Name      string
	Revision  uint64            // the newest one
	NotBefore uint64            // acknowledged before it was asked for
	Objects   map[string]uint64 // revisions by key
}

// Figures are those of the process.
type Figures struct {
	Goroutines, Descriptors, Heap, Views float64
}

// Stream is a watch of all objects of one definition, from their state.
type Stream struct {
	Definition string // its uid
	Resource   string
	Watch      *history.Watch
	Opened     time.Duration
	Ended      time.Duration // 0 while it is open
	Whole      bool          // ended by the server as it should, not broken off
}

// Late is a request that did not end in its time, with all goroutines of the server.
type Late struct {
	What   string
	Waited time.Duration
	Dump   string // file
}

// Record holds the observations of all clients.
type Record struct {
	Calls   []Call
	History *history.History // of built-in kinds
	Streams []Stream
	// Tape has all changes of built-in kinds in the order of their revisions.
	Tape []Event
	// Rest has the objects at rest, by resource.
	Rest   map[string][]*Object
	Probes []Probe
	Late   []Late
	// Before and After are figures of a server that rests.
	Before, After Figures
	// Limit is the time that a request has, and Stood all the time that the process stood
	// still.
	Limit, Stood time.Duration
	Backups      []Backup
	// Migrated is set when stored objects were rewritten.
	Migrated bool
	// Restarted is set when several processes were the server, one after the other.
	Restarted bool
	// Hangs are the times in which a member of the etcd stood still.
	Hangs []Span
	Exit  string // the mistake in the end of the process, "" for none
}

// Journal gathers the observations of clients that work at once.
type Journal struct {
	Began time.Time
	// Recorder has the history of built-in kinds.
	Recorder history.Recorder

	mu     sync.Mutex
	record Record
}

// NewJournal returns an empty journal. Its time begins now.
func NewJournal() *Journal { return &Journal{Began: time.Now()} }

// Now is the time since the begin.
func (j *Journal) Now() time.Duration { return time.Since(j.Began) }

// With changes the record under its lock.
func (j *Journal) With(change func(r *Record)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	change(&j.record)
}

// Call notes a call.
func (j *Journal) Call(c Call) { j.With(func(r *Record) { r.Calls = append(r.Calls, c) }) }

// Record returns the record so far.
func (j *Journal) Record() *Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := j.record
	r.History = j.Recorder.History()
	return &r
}

// Span is a time, as of the begin of the storm.
type Span struct{ From, Until time.Duration }

// HungLimit is the time in which servers do without a member of the etcd that stands still, and in which
// it takes part again.
const HungLimit = 5 * time.Second

// Hung reports whether a member of the etcd stood still during a call, or shortly before.
func (r *Record) Hung(c *Call) bool {
	return slices.ContainsFunc(r.Hangs, func(h Span) bool { return c.Began < h.Until+HungLimit && c.Ended > h.From })
}
