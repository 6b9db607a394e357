// Package seams has the places at which tests of this module reach into a server: the times
// that have no flag, wrappers of the store and of admission, and the rooms of a running server.
package seams

import (
	"net/http"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/index"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/background"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/health"
	"github.com/capstan-dev/capstan/server/internal/kinds/addresses"
	"github.com/capstan-dev/capstan/server/internal/kinds/policy"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// Seams are the changes of a test to a server. The zero value changes nothing.
type Seams struct {
	// Durations replace those of production.
	Durations Durations
	// Groups replaces the built-in group versions.
	Groups func(policy.Policy) []*api.GroupVersion
	// WrapStore puts a store between the server and its engine.
	WrapStore func(store.Store) store.Store
	// WrapAdmission puts an observer before the admission of writes.
	WrapAdmission func(objects.Admitter) objects.Admitter
	// Opened receives the rooms before the server answers requests.
	Opened func(Rooms)
}

// Rooms are the parts of an open server.
type Rooms struct {
	Catalog     *catalog.Catalog
	Store       store.Store
	Shown       *stored.CurrentStore
	Objects     *objects.Objects
	Headers     *index.Index
	Services    *addresses.Services
	Controllers *background.Controllers
	Health      *health.Health
	Handler     http.Handler
}
