package outbound

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/kinds/addresses"
	"github.com/capstan-dev/capstan/server/internal/live"
)

// BackendsConfig holds the dependencies of Backends.
type BackendsConfig struct {
	Store   store.Store
	Catalog *catalog.Catalog
	Logger  *slog.Logger
	// ByEndpoint resolves a service to one of its ready endpoints rather than to its
	// cluster address, which not every machine reaches (--enable-aggregator-routing).
	ByEndpoint bool
	// Self is the address of this server, "127.0.0.1:6443", for its own service.
	Self string
}

// Backends knows the services of the cluster and their endpoints. It is safe for
// concurrent use, and as new as the last acknowledged write.
type Backends struct {
	cfg       BackendsConfig
	services  *live.Collection[*service]
	endpoints *live.Collection[*endpoints]
	of, at    *catalog.Row // of services and endpoints
}

// OpenBackends reads the services and endpoints, and follows them until Close.
func OpenBackends(ctx context.Context, cfg BackendsConfig) (*Backends, error) {
	snapshot := cfg.Catalog.Snapshot()
	b := &Backends{cfg: cfg, of: snapshot.Core("services"), at: snapshot.Core("endpoints")}
	var err error
	if b.services, err = live.Open(ctx, live.Config[*service]{Store: cfg.Store, Prefixes: []string{b.of.Prefix("")}, Decode: live.Read(b.of, readService),
		Logger: cfg.Logger}); err != nil {
		return nil, err
	}
	b.endpoints, err = live.Open(ctx, live.Config[*endpoints]{Store: cfg.Store, Prefixes: []string{b.at.Prefix("")},
		Decode: live.Read(b.at, readEndpoints), Logger: cfg.Logger})
	if err != nil {
		b.services.Close()
		return nil, err
	}
	return b, nil
}

// Close ends following.
func (b *Backends) Close() {
	b.services.Close()
	b.endpoints.Close()
}

// Resolve returns the address, host and port, of a server behind the port of a service.
// The errors are those of 1.25: api.Error for a missing service, port or endpoint, others
// for a service that has no address by its type.
func (b *Backends) Resolve(_ context.Context, namespace, name string, port int32) (address string, err error) {
	if namespace == "default" && name == addresses.OwnService && port == 443 {
		return b.cfg.Self, nil
	}
	s := b.services.View().Get(b.of.Key(namespace, name))
	if s == nil {
		return "", api.NotFound(api.GroupResource{Resource: "service"}, name)
	}
	if b.cfg.ByEndpoint {
		return b.endpoint(s, namespace, name, port)
	}
	return s.clusterAddress(name, port)
}

// clusterAddress is the address of the service itself, which the network of the cluster
// routes.
func (s *service) clusterAddress(name string, port int32) (string, error) {
	text := strconv.Itoa(int(port))
	switch {
	case s.kind == externalName:
		return net.JoinHostPort(s.external, text), nil
	case !s.hasAddress():
		return "", unsupported(s.kind)
	case s.kind == clusterIP && s.address == headless:
		return "", errors.New(`cannot route to service with ClusterIP "None"`)
	}
	if _, ok := s.ports[port]; !ok {
		return "", noPort(name, port)
	}
	return net.JoinHostPort(s.address, text), nil
}

// endpoint is the address of a ready endpoint of the service, any of them.
func (b *Backends) endpoint(s *service, namespace, name string, port int32) (string, error) {
	if !s.hasAddress() {
		return "", unsupported(s.kind)
	}
	portName, ok := s.ports[port]
	if !ok {
		return "", noPort(name, port)
	}
	all := b.endpoints.View().Get(b.at.Key(namespace, name))
	if all == nil {
		return "", api.NotFound(api.GroupResource{Resource: "endpoints"}, name)
	}
	if len(all.subsets) > 0 {
		first := rand.IntN(len(all.subsets))
		for i := range all.subsets {
			subset := all.subsets[(first+i)%len(all.subsets)]
			if target, ok := subset.ports[portName]; ok {
				return net.JoinHostPort(subset.ready[rand.IntN(len(subset.ready))], strconv.Itoa(int(target))), nil
			}
		}
	}
	return "", unavailable("no endpoints available for service %q", name)
}

// Missing reports why the service of an extension server cannot be reached, by what the
// cluster knows of it: the reason and message of 1.25's condition, "" if nothing is known
// to be missing.
func (b *Backends) Missing(namespace, name string, port int32) (reason, message string) {
	s := b.services.View().Get(b.of.Key(namespace, name))
	if s == nil {
		return "ServiceNotFound", fmt.Sprintf("service/%s in %q is not present", name, namespace)
	}
	if s.kind != clusterIP {
		return "", ""
	}
	portName, ok := s.ports[port]
	if !ok {
		return "ServicePortError", fmt.Sprintf("service/%s in %q is not listening on port %d", name, namespace, port)
	}
	all := b.endpoints.View().Get(b.at.Key(namespace, name))
	if all == nil {
		return "EndpointsNotFound", fmt.Sprintf("cannot find endpoints for service/%s in %q", name, namespace)
	}
	for _, subset := range all.subsets {
		if _, ok := subset.ports[portName]; ok {
			return "", ""
		}
	}
	return "MissingEndpoints", fmt.Sprintf("endpoints for service/%s in %q have no addresses with port name %q", name, namespace, portName)
}

func noPort(name string, port int32) error {
	return unavailable("no service port %d found for service %q", port, name)
}

func unsupported(kind string) error { return fmt.Errorf("unsupported service type %q", kind) }

func unavailable(format string, args ...any) error {
	return &api.Error{Code: http.StatusServiceUnavailable, Reason: api.ReasonServiceUnavailable, Message: fmt.Sprintf(format, args...)}
}
