package extensions

import (
	"context"
	"crypto/tls"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/ranks"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/live"
	"github.com/capstan-dev/capstan/server/internal/metrics"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/outbound"
)

// Config holds the dependencies of Extensions.
type Config struct {
	Log      *slog.Logger
	Store    store.Store
	Catalog  *catalog.Catalog
	Objects  *objects.Objects
	Backends *outbound.Backends
	Metrics  metrics.Availability
	// Forwarder sends requests to extension servers.
	Forwarder *outbound.Forwarder
	// Certificate is the client certificate by which extension servers know this server;
	// nil for none.
	Certificate func() *tls.Certificate
	// ForwardRedirects sends redirects of extension servers to the client, which are
	// refused otherwise. None is followed.
	ForwardRedirects bool
	Times            Times
}

// Times are the periods and time-outs for extension servers.
type Times struct {
	// Check is the period of the checks of an available server, 0 for none at all. Retry is
	// the shortest one of an unavailable server; it doubles with each failure.
	Check, Retry time.Duration
	// Attempt bounds one of the attempts of a check, Stagger is the pause before the next
	// one while none has an answer.
	Attempt, Stagger time.Duration
	// Discovery bounds a request for discovery.
	Discovery time.Duration
}

// Extensions is all extension servers.
//
// Invariant: the catalog has a remote group version for each API service with a service,
// from before the write of the API service is acknowledged.
type Extensions struct {
	cfg      Config
	row      *catalog.Row
	services *live.Collection[*service]
	servers  live.Index[*service, map[string]*server] // by group version
	slots    chan struct{}                            // one for each check that runs

	mu      ranks.Mutex[ranks.Derived] // held while the group versions in the catalog are replaced
	current map[string]*server
}

// checksAtOnce bounds the servers that are checked at the same time.
const checksAtOnce = 32

// Open reads the API services and follows them until Close; nil when they are not served.
func Open(ctx context.Context, cfg Config) (*Extensions, error) {
	row := cfg.Catalog.Snapshot().Stored(registrationGroup, "apiservices")
	if row == nil {
		return nil, nil
	}
	x := &Extensions{cfg: cfg, row: row, slots: make(chan struct{}, checksAtOnce)}
	var err error
	x.services, err = live.Open(ctx, live.Config[*service]{Store: cfg.Store, Prefixes: []string{row.Prefix("")},
		Decode: live.Read(row, readService), Logger: cfg.Log})
	if err != nil {
		return nil, err
	}
	x.servers = live.Derive(x.services, x.fold)
	return x, nil
}

// Close ends following.
func (x *Extensions) Close() {
	if x != nil {
		x.services.Close()
	}
}

// fold updates the servers after changes of API services, and the group versions in the
// catalog.
func (x *Extensions) fold(before map[string]*server, changes []live.Change[*service]) map[string]*server {
	remote := false
	for _, c := range changes {
		remote = remote || c.Before.remote() || c.After.remote()
	}
	if !remote {
		return before
	}
	now := make(map[string]*server, len(before)+1)
	for apiVersion, s := range before {
		now[apiVersion] = s
	}
	for _, c := range changes {
		if c.Before.remote() {
			delete(now, c.Before.APIVersion())
		}
		if c.After.remote() {
			now[c.After.APIVersion()] = before[c.After.APIVersion()].with(c.After)
		}
	}
	for apiVersion, s := range before {
		if now[apiVersion] == nil || now[apiVersion].way != s.way {
			s.way.close()
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.current = now
	x.publish()
	return now
}

// publish replaces the remote group versions in the catalog. mu is held.
func (x *Extensions) publish() {
	var all []*catalog.Remote
	for _, s := range x.current {
		r := &catalog.Remote{GroupVersion: &s.GroupVersion, Stale: s.way.stale.Load()}
		if d := s.way.documents.Load(); d != nil {
			r.Documents = &d.RemoteDocuments
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *catalog.Remote) int { return strings.Compare(a.APIVersion(), b.APIVersion()) })
	x.cfg.Catalog.SetRemotes(all)
}

// find is the server of a group version, as of the newest API services; nil for none.
func (x *Extensions) find(apiVersion string) *server {
	return x.servers.Of(x.services.View())[apiVersion]
}
