package seams

import (
	"time"

	"github.com/capstan-dev/capstan/internal/controller"
	"github.com/capstan-dev/capstan/internal/externaljwt"
	"github.com/capstan-dev/capstan/internal/tracing"
	"github.com/capstan-dev/capstan/server/internal/background"
	"github.com/capstan-dev/capstan/server/internal/extensions"
)

// Durations are the times without a flag: the server's time-outs and periods. Tests
// shorten them.
type Durations struct {
	// Stall bounds one write to a connection, or to a stream of HTTP/2, that finds no
	// room: then the client counts as gone.
	Stall time.Duration
	// Header bounds TLS and the head of a request, Idle a connection without a request.
	Header, Idle time.Duration
	// Body bounds a body beyond the time that its bytes need at the least rate, Owed the
	// wait for the body of a refused request of an unauthenticated client.
	Body, Owed time.Duration
	// Answer is the time after that of a request during which its answer may go on, if
	// only to report the time-out.
	Answer time.Duration
	// Close bounds the closing of connections without requests when the server stops.
	Close time.Duration
	// Ping is the interval of pings to a client with a WebSocket, and the time for its
	// answer.
	Ping time.Duration
	// Bookmark is the interval of bookmarks, unless history is so short that a watcher's
	// revision could be trimmed before.
	Bookmark time.Duration
	// Future bounds the wait of a read for a revision that does not exist yet.
	Future time.Duration
	// Soon bounds the wait of admission for an object that a controller is about to
	// create.
	Soon time.Duration
	// Discovery is the interval of attempts to find the issuer of ID tokens.
	Discovery time.Duration
	// Webhook is the time before a call of a webhook for logins or rights is repeated;
	// WebhookAnswer bounds a call.
	Webhook, WebhookAnswer time.Duration
	// Types is the time after which compiled types of custom resources are dropped that
	// nothing uses.
	Types time.Duration
	// Counts bounds the age of the numbers of objects in metrics.
	Counts time.Duration

	// Signer are the times of an external signer of tokens; zero for those of kube-apiserver.
	Signer externaljwt.Pauses

	// ExtensionServers are the times of extension servers.
	ExtensionServers extensions.Times

	// Spans are the times of traces; zero for those of OpenTelemetry.
	Spans tracing.Pauses

	background.Pauses
}

// Production are the times of a server that no test changes.
var Production = Durations{
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
	Types:    30 * time.Minute,

	Discovery: 10 * time.Second,
	Webhook:   500 * time.Millisecond, WebhookAnswer: 10 * time.Second,

	ExtensionServers: extensions.Times{Check: 30 * time.Second, Retry: 100 * time.Millisecond, Attempt: 5 * time.Second, Stagger: 250 * time.Millisecond,
		Discovery: 5 * time.Second},

	Pauses: background.Pauses{
		FlowControl:   time.Minute,
		OwnService:    10 * time.Second,
		Extensions:    time.Minute,
		Registrations: time.Minute,
		Services:      3 * time.Minute,
		Namespaces:    time.Minute,
		Quotas:        5 * time.Minute,
		RangeGrace:    10 * time.Second,
		Reload:        10 * time.Second,
		Renewal:       time.Hour,
		Retry:         5 * time.Second,
		Certificates:  controller.CleaningTimes{Interval: time.Hour, Pending: 24 * time.Hour, Decided: time.Hour},
	},
}
