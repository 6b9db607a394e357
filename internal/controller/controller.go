// Package controller holds the controllers that run inside the server: they bring the
// cluster from its present state to the one that the objects describe.
//
// All of them follow one feed, which shows every object and then every change in revision
// order. A controller observes a change as quickly as it can and adds the resulting work
// to its queue; the work itself reads the newest state from the store and writes through
// the server's own operations, so it may be repeated at any time. Without changes only
// the feed's goroutine exists, and it sleeps.
package controller

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/store"
)

// Cluster is the writing side of the server. The operations have all effects of a request
// without its authorization; their errors are those of requests (*api.Error) and of the
// store.
type Cluster interface {
	// Create stores a new object, given as JSON.
	Create(ctx context.Context, res *api.Resource, namespace string, object []byte) error
	// Edit changes an object through one of its endpoints: "" is the main one, otherwise
	// the name of a subresource. An edit that changes nothing is not a write. edit runs
	// once, on the newest state.
	Edit(ctx context.Context, res *api.Resource, namespace, name, subresource string, edit func(obj document.Value)) error
	// Apply is a forced apply of a configuration to an existing object, as a manager, through a subresource.
	Apply(ctx context.Context, res *api.Resource, name, subresource, manager string, config []byte) error
	// Delete is the DELETE of a request.
	Delete(ctx context.Context, res *api.Resource, namespace, name string, o DeleteOptions) error
}

// DeleteOptions are the options of a DELETE. Empty fields have no effect.
type DeleteOptions struct {
	Propagation   string // Orphan, Background, Foreground
	UID, Revision string // preconditions
}

// Type is a resource type that the store holds: the row of its storage version.
// The key of an object is Prefix, for a namespaced one its namespace and a
// slash, and its name.
type Type struct {
	*api.Resource
	Prefix string // "core/pods/"
	Off    bool   // no version of it is served
}

// Config describes the manager's cluster, and the controllers that it runs.
type Config struct {
	Controllers []string // a selection, see Enabled
	// Acting returns the cluster as a service account of kube-system, the user of the
	// writes; "" is the server itself.
	Acting func(account string) Cluster
	Store  store.Store
	Types  []Type // every stored resource type once
	// Kinds are the prefixes of types by apiVersion and kind, in every served version.
	Kinds     map[Kind]string
	Custom    Custom // nil for none
	Elsewhere Elsewhere
	// Since reports whether the release of the built-in kinds is a named one or a later one. Nil: the oldest one.
	Since func(release string) bool
	// On reports whether a feature is on, by the name of its gate. Nil: none is.
	On func(gate string) bool
	// Served reports whether a resource is served in a version, "" for any, and in which one. Resources of other servers are not.
	Served func(group, plural, version string) (served string, ok bool)

	RootCA func() []byte // PEM: the authorities by which clients in the cluster verify the server
	// SecretToken makes the token of a service account, by name and uid, for a secret; nil for none.
	// Then AccountToken does not run.
	SecretToken func(namespace, account, uid, secret string) (string, error)
	Now         func() time.Time
	Logger      *slog.Logger

	// RangeGrace is the time from the delete of a range until it may go.
	RangeGrace time.Duration

	Certificates Certificates
	Quotas       Quotas
	QuotaResync  time.Duration // after which each quota is counted again
}

// Elsewhere are the objects that other servers keep.
type Elsewhere interface {
	// EmptyNamespace deletes the objects of a namespace, and counts those that are left;
	// unknown are the servers that cannot be asked now.
	EmptyNamespace(ctx context.Context, namespace string) (left map[string]int, unknown, failed []error)
	// Keeps reports whether another server has a group version.
	Keeps(apiVersion string) bool
	// Find reads an object, nil for none. It is in the namespace if its kind is
	// namespaced. Errors: ErrUnknownKind, and those of the server.
	Find(ctx context.Context, apiVersion, kind, namespace, name string) ([]byte, error)
	// Count counts the objects of a resource in a namespace. Errors: ErrUnknownKind, and
	// those of the server.
	Count(ctx context.Context, namespace, group, plural string) (int, error)
}

// Custom are the resource types that come and go while controllers run. A type that does
// not change is the same each time.
type Custom interface {
	// ByPrefix finds a type, nil for none. It may find one that has just gone, of which
	// changes are still to be shown.
	ByPrefix(prefix string) *Type
	// ByKind finds the type of a kind, in any served version; nil for none.
	ByKind(kind Kind) *Type
	// All are the types that there are.
	All() []*Type
}

// Kind names a kind as objects do.
type Kind struct{ APIVersion, Kind string }

// handler is a controller as the feed sees it. All methods but close are called
// by the feed's goroutine.
type handler interface {
	// wants reports whether the controller observes the objects of a type that exist at
	// the start. It observes changes of all types.
	wants(t *Type) bool
	// observe shows an object, or a change of one.
	observe(ctx context.Context, o *observation)
	// reset drops all observations, because all objects will be shown anew.
	reset()
	// close ends the controller's work and returns when it has ended.
	close()
}

// Manager runs controllers.
type Manager struct {
	stop context.CancelFunc
	feed *feed
	wg   sync.WaitGroup
}

// maker makes a controller of the kind with a group and plural: a server that does not serve
// the kind has no such controller.
type maker struct {
	name, account, group, plural string // account is "" for the server itself
	new                          func(context.Context, *cluster) handler
}

// makers are those of all controllers.
var makers = []maker{
	{Namespace, "namespace-controller", "", "namespaces", newNamespaces},
	{GarbageCollector, "generic-garbage-collector", "", "namespaces", newCollector},
	{RoleAggregation, "clusterrole-aggregation-controller", rolesGroup, "clusterroles", newAggregation},
	{ServiceAccount, "service-account-controller", "", "serviceaccounts", newServiceAccounts},
	{RootCA, "root-ca-cert-publisher", "", "configmaps", newRootCA},
	{AccountToken, "service-account-token-controller", "", "serviceaccounts", newAccountTokens},
	{ClaimProtection, "pvc-protection-controller", "", "persistentvolumeclaims", newClaimProtection},
	{VolumeProtection, "pv-protection-controller", "", "persistentvolumes", newVolumeProtection},
	{Approver, "certificate-controller", requestsGroup, "certificatesigningrequests", newApprover},
	{Signer, "certificate-controller", requestsGroup, "certificatesigningrequests", newSigner},
	{Cleaner, "certificate-controller", requestsGroup, "certificatesigningrequests", newCleaner},
	{BootstrapSigner, "bootstrap-signer", "", "secrets", newInfoSigner},
	{TokenCleaner, "token-cleaner", "", "secrets", newTokenCleaner},
	{ResourceQuota, "resourcequota-controller", "", "resourcequotas", newQuotas},
	{StorageMigrator, "storage-version-migrator-controller", migrationsGroup, "storageversionmigrations", newMigrations},
	{LeaderElection, "", leasesGroup, "leasecandidates", newElections},
	{ServiceRanges, "service-cidrs-controller", networkGroup, "servicecidrs", newServiceRanges},
}

// gates are the features of controllers that run only while these are on.
var gates = map[string]string{LeaderElection: "CoordinatedLeaderElection", StorageMigrator: "StorageVersionMigrator",
	ServiceRanges: "MultiCIDRServiceAllocator"}

const (
	rolesGroup    = "rbac.authorization." + profile.GroupSuffix
	requestsGroup = "certificates." + profile.GroupSuffix
	networkGroup  = "networking." + profile.GroupSuffix
)

// Start starts the selected controllers and returns at once. Stop must be called before
// the store is closed.
func Start(ctx context.Context, cfg Config) *Manager {
	ctx, stop := context.WithCancel(ctx)
	c := newCluster(cfg)
	m := &Manager{stop: stop, feed: newFeed(c)}
	for _, made := range makers {
		able := made.name != AccountToken || cfg.SecretToken != nil
		if able && c.serves(made.group, made.plural) && Enabled(cfg.Controllers, made.name) && c.on(gates[made.name]) {
			m.feed.handlers = append(m.feed.handlers, made.new(ctx, c.as(made.account)))
		}
	}
	if len(m.feed.handlers) > 0 {
		m.wg.Go(func() { m.feed.run(ctx) })
	}
	return m
}

// RootCAChanged starts publishing a changed authority in every namespace, and in the secrets
// of service accounts.
func (m *Manager) RootCAChanged() {
	for _, h := range m.feed.handlers {
		if p, ok := h.(interface{ again() }); ok {
			p.again()
		}
	}
}

// Stop ends the controllers' work and returns when it has ended. The next start finds
// unfinished work.
func (m *Manager) Stop() {
	if m == nil {
		return
	}
	m.stop()
	m.wg.Wait()
	for _, h := range m.feed.handlers {
		h.close()
	}
}
