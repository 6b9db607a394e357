package objects

import (
	"time"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/index"
	"github.com/capstan-dev/capstan/server/internal/kinds/addresses"
)

// Config holds the limits and dependencies of writes.
type Config struct {
	MaxObjectBytes int64 // of the stored form
	DecodeLimits   document.Limits
	Clock          func() time.Time
	Admission      Admitter
	Services       *addresses.Services
	Headers        *index.Index // for the lists of hooks; nil for none
	Referrers      Referrers    // nil where no reference restricts deletes
	// Since reports whether the release of the built-in kinds is a named one or a later one. Nil: the oldest one.
	Since func(release string) bool
	// ProvidesNamespaces has a missing namespace created before the first object in it.
	ProvidesNamespaces bool
}

// Objects are the objects of a store, with the types of the catalog.
//
// Invariant: all writes of objects go through it. What has to hold over several objects is
// in the read sets of writes (W3), except that no two services claim an address: claims
// hold in one process.
type Objects struct {
	*Reader
	cfg          Config
	decodeLimits document.Limits
	admission    Admitter
	services     *addresses.Services
	turns        *turns
}

// since reports whether the release of the built-in kinds is a named one or a later one.
func (o *Objects) since(release string) bool { return o.cfg.Since != nil && o.cfg.Since(release) }

// New makes the objects of a reader's store writable.
func New(r *Reader, cfg Config) *Objects {
	return &Objects{Reader: r, cfg: cfg, decodeLimits: cfg.DecodeLimits, admission: cfg.Admission, services: cfg.Services, turns: newTurns()}
}
