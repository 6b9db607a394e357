package flowcontrol

import (
	"context"
	"hash/maphash"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/fairness"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/live"
)

// Config holds the dependencies and limits of the room.
type Config struct {
	Store   store.Store
	Catalog *catalog.Catalog
	Logger  *slog.Logger
	Seats   int           // of all levels together
	Wait    time.Duration // the longest that a request waits
	// Watchers is about the number of watches of a resource, by the prefix of its keys.
	Watchers func(prefix string) int
}

// Group has flow schemas and priority levels.
const Group = "flowcontrol.apiserver." + profile.GroupSuffix

// Control classifies requests, by the flow schemas and levels as of the last acknowledged
// write.
type Control struct {
	cfg     Config
	objects *live.Collection[*object]
	now     atomic.Pointer[config]
	crowd   *fairness.Crowd
	seed    maphash.Seed
	sizes   sync.Map // of large collections, by prefix: int64
}

// config is a consistent set of schemas and levels. It never changes.
type config struct {
	classes []*Class // in the order in which they are tried; the last takes all others
	levels  []*level // by name
}

// Open reads the schemas and levels, and follows them until Close. Servers that do not serve
// flow schemas have no Control.
func Open(ctx context.Context, cfg Config) (*Control, error) {
	schemas, levels := cfg.Catalog.Snapshot().Stored(Group, "flowschemas"), cfg.Catalog.Snapshot().Stored(Group, "prioritylevelconfigurations")
	c := &Control{cfg: cfg, crowd: fairness.NewCrowd(), seed: maphash.MakeSeed()}
	readSchema, readLevel := live.Read(schemas, readSchema), live.Read(levels, readLevel)
	all, err := live.Open(ctx, live.Config[*object]{Store: cfg.Store, Prefixes: []string{schemas.Prefix(""), levels.Prefix("")}, Logger: cfg.Logger,
		Decode: func(e *store.Entry) (*object, error) {
			if strings.HasPrefix(e.Key, schemas.Prefix("")) {
				return readSchema(e)
			}
			return readLevel(e)
		}})
	if err != nil {
		return nil, err
	}
	c.objects = all
	byKey := map[string]*object{} // the fold has no view of its own
	live.Derive(all, func(_ *config, changes []live.Change[*object]) *config {
		for _, change := range changes {
			if delete(byKey, change.Key); change.After != nil {
				byKey[change.Key] = change.After
			}
		}
		next := c.configure(slices.Collect(maps.Values(byKey)))
		c.now.Store(next)
		return next
	})
	return c, nil
}

// Close ends following.
func (c *Control) Close() {
	if c != nil {
		c.objects.Close()
	}
}

// configure makes the configuration of some objects. Levels go on with the requests that
// they have; one that is not wanted any more lets its requests end, outside of the
// division.
func (c *Control) configure(objects []*object) *config {
	before := map[string]*level{}
	if old := c.now.Load(); old != nil {
		for _, l := range old.levels {
			before[l.name] = l
		}
	}
	byName := map[string]*level{}
	for _, o := range append(mandatoryLevels(), objects...) {
		if o.level != nil {
			l := *o.level
			byName[l.name] = &l
		}
	}
	var next config
	var shares []*fairness.Share
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		l := byName[name]
		if old := before[name]; old != nil {
			l.share.Level, l.tallies = old.share.Level, old.tallies
		} else {
			l.share.Level, l.tallies = fairness.NewLevel(c.crowd), &tallies{}
		}
		next.levels, shares = append(next.levels, l), append(shares, &l.share)
	}
	fairness.Divide(c.cfg.Seats, shares)
	places := 0
	for _, l := range next.levels {
		l.rules.Wait, l.rules.Spare = c.cfg.Wait, spare(l.share.Nominal)
		l.share.Level.Configure(l.rules, l.share.Nominal)
		places += l.rules.Queues * l.rules.Length
	}
	c.crowd.Bound(c.cfg.Seats, places)
	next.classes = classes(append(mandatorySchemas(), objects...), byName)
	for _, class := range next.classes {
		class.salt = maphash.String(c.seed, class.schema.name)
	}
	for _, l := range next.levels {
		l.tallies.keep(next.classes)
	}
	return &next
}

// spare is the number of seats beyond those of a level for users who ask for one thing at a
// time: they need not wait while one user takes all seats with long lists.
func spare(seats int) int {
	if seats < 2 {
		return 0
	}
	return (seats + 7) / 8
}

// Classify finds the class of a request: the first schema that matches.
func (c *Control) Classify(a *authz.Attributes) *Class {
	classes := c.now.Load().classes
	for _, class := range classes {
		if class.schema.matches(a) {
			return class
		}
	}
	return classes[len(classes)-1]
}

// Lend moves seats between levels by their demand, every so often until ctx ends.
func (c *Control) Lend(ctx context.Context) {
	tick := time.NewTicker(lendingPeriod)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var shares []*fairness.Share
		for _, l := range c.now.Load().levels {
			shares = append(shares, &l.share)
		}
		if fairness.Lent(shares) {
			fairness.Lend(shares)
		}
	}
}

const lendingPeriod = 10 * time.Second
