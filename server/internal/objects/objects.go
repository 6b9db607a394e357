// Package objects has the one way to write: every change of an object, whoever makes it,
// is a Write, which Objects evaluates and commits.
package objects

import (
	"time"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/addresses"
)

// Config says what writes are held to, and what they ask.
type Config struct {
	MaxObjectBytes int64 // of an object as it is stored
	DecodeLimits   document.Limits
	Clock          func() time.Time
	Admission      Admitter
	Services       *addresses.Services
}

// Objects are the objects of a store, of which the catalog knows the types.
//
// Invariant: who writes objects writes through it, since some of its promises hold in one
// process only: that no object is born into a namespace that is on its way out (namespaceLocks),
// and that no two services claim an address.
type Objects struct {
	*Reader
	cfg          Config
	decodeLimits document.Limits
	admission    Admitter
	services     *addresses.Services
	namespaces   *namespaceLocks
}

// New makes the objects of a reader's store writable.
func New(r *Reader, cfg Config) *Objects {
	return &Objects{Reader: r, cfg: cfg, decodeLimits: cfg.DecodeLimits, admission: cfg.Admission, services: cfg.Services, namespaces: newNamespaceLocks()}
}
