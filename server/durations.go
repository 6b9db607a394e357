package server

import (
	"time"

	"github.com/capstan-dev/capstan/server/internal/controllers"
)

// durations are the times that no flag sets: how long the server waits for what,
// and how often it does what it does of itself. Tests shorten them.
type durations struct {
	// Stall is how long one write to a connection, or to a stream of HTTP/2, may
	// find no room: then the client is taken for gone.
	Stall time.Duration
	// Header is how long a client may take for TLS and the head of a request, Idle
	// how long a connection without a request stays.
	Header, Idle time.Duration
	// Body is how long a body may take beyond the time that its bytes need at the
	// least rate, Owed how long the body of a refused request from somebody unknown
	// is waited for.
	Body, Owed time.Duration
	// Answer is how long after the time of a request its answer may still go on, if
	// only to say that the time is over.
	Answer time.Duration
	// Close is how long connections without requests may take to close when the
	// server stops.
	Close time.Duration
	// Ping is how often a client with a WebSocket is asked whether it is there, and
	// how long it has for its answer.
	Ping time.Duration
	// Bookmark is how often a watcher that asked for bookmarks gets one, unless
	// history is so short that its revision could be trimmed before.
	Bookmark time.Duration
	// Future is how long a read waits for a revision that does not exist yet.
	Future time.Duration
	// Soon is how long admission waits for what a controller is about to create.
	Soon time.Duration
	// Counts is how old the numbers of objects in the figures may be.
	Counts time.Duration

	controllers.Pauses
}

var productionDurations = durations{
	Stall:    time.Minute,
	Header:   32 * time.Second,
	Idle:     3 * time.Minute,
	Body:     10 * time.Second,
	Owed:     time.Second,
	Answer:   5 * time.Second,
	Close:    2 * time.Second,
	Ping:     time.Minute,
	Bookmark: time.Minute,
	Future:   3 * time.Second,
	Soon:     time.Second,
	Counts:   time.Minute,

	Pauses: controllers.Pauses{
		FlowControl:   time.Minute,
		OwnService:    10 * time.Second,
		Extensions:    time.Minute,
		Registrations: time.Minute,
		Services:      3 * time.Minute,
		Namespaces:    time.Minute,
		Reload:        10 * time.Second,
		Renewal:       time.Hour,
		Retry:         5 * time.Second,
	},
}
