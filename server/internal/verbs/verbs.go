package verbs

import (
	"log/slog"
	"time"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/index"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/internal/watch"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/metrics"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/request"
	"github.com/capstan-dev/capstan/server/internal/stream"
)

// Config holds the limits and dependencies of the verbs.
type Config struct {
	Log               *slog.Logger
	History           time.Duration // for which watches can be resumed
	MinRequestTimeout time.Duration // of a watch without timeoutSeconds
	Future            time.Duration // for which a read waits for a revision that does not exist yet
	Bookmark          time.Duration // between bookmarks of an idle watch
	DecodeLimits      document.Limits
	PageSecret        []byte // the key of the tokens of pages
	// Since reports whether the release of the built-in kinds is a named one or a later one.
	Since func(release string) bool

	Env      *request.Env
	Objects  *objects.Objects
	Main     *Part
	Events   *Part // of events, which expire; nil when they lie in Main
	Gather   *request.GatherRoom
	Streams  *stream.Streams
	Metrics  *metrics.Metrics
	Stopping <-chan struct{} // closed when watches have to end
}

// Part is a store, with what follows it for reads and watches. Revisions of two parts do not compare.
type Part struct {
	Store   store.Store
	Hub     *watch.Hub
	Headers *index.Index
}

// Verbs are the functions of requests for stored objects.
type Verbs struct {
	cfg          Config
	log          *slog.Logger
	decodeLimits document.Limits
	pages        pages
	env          *request.Env
	objects      *objects.Objects
	main, events *Part // events is nil when they lie in main
	gather       *request.GatherRoom
	metrics      *metrics.Metrics

	// Streams are for answers that last, until Stopping is closed.
	Streams  *stream.Streams
	Stopping <-chan struct{}
}

// New makes the verbs of the objects of a store.
func New(cfg Config) *Verbs {
	return &Verbs{cfg: cfg, log: cfg.Log, decodeLimits: cfg.DecodeLimits, pages: pages{cfg.PageSecret}, env: cfg.Env, objects: cfg.Objects,
		main: cfg.Main, events: cfg.Events, gather: cfg.Gather, metrics: cfg.Metrics, Streams: cfg.Streams, Stopping: cfg.Stopping}
}

// part is where the objects of a row lie.
func (v *Verbs) part(row *catalog.Row) *Part {
	if v.events != nil && row.Vanishes() {
		return v.events
	}
	return v.main
}
