package server

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/gen/essential"
	metav1 "github.com/capstan-dev/capstan/internal/gen/meta/v1"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	rules "github.com/capstan-dev/capstan/server/internal/essential"
	"github.com/capstan-dev/capstan/server/internal/features"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/parts"
	"github.com/capstan-dev/capstan/server/internal/rbac"
)

// openCatalog makes the catalog of the configured versions and resources.
func (s *Server) openCatalog() ([]*api.GroupVersion, error) {
	cfg := &s.cfg
	var warnings []string
	var err error
	if s.features, warnings, err = features.Parse(cfg.FeatureGates); err != nil {
		return nil, err
	}
	for _, w := range warnings {
		s.log.Warn(w)
	}
	cfg.DisablePriorityAndFairness = cfg.DisablePriorityAndFairness || !s.features[features.PriorityFairness]
	groups, err := cfg.allGroups(s.features.On)
	if err != nil {
		return nil, err
	}
	s.features.MarkGated(groups)
	config, err := features.ParseRuntimeConfig(cfg.RuntimeConfig, groups)
	if err != nil {
		return nil, err
	}
	config.Apply(groups)
	features.DropFutureDeprecations(groups)
	if !s.features[features.VersionHashes] {
		features.HideStorageHashes(groups)
	}
	s.catalog = catalog.New(groups, &metav1.Table)
	s.core = &parts.Core{Log: s.log, Clock: cfg.Clock, Catalog: s.catalog, Host: s.host, Stopping: s.stopping, Settings: cfg.settings()}
	if cfg.Builtin == nil {
		return groups, nil
	}
	s.rooms = cfg.Builtin.Rooms(s.core)
	return groups, checkNeeded(s.catalog.Snapshot())
}

// joined are group versions with those of an API, in the order of discovery. A group
// version may not be in both.
func joined(groups []*api.GroupVersion, more *api.API) ([]*api.GroupVersion, error) {
	if more == nil {
		return groups, nil
	}
	for _, gv := range more.Groups() {
		if slices.ContainsFunc(groups, func(other *api.GroupVersion) bool { return other.APIVersion() == gv.APIVersion() }) {
			return nil, fmt.Errorf("the API has %s, which is built in: give its group another name", gv.APIVersion())
		}
		groups = append(groups, gv)
	}
	slices.SortStableFunc(groups, func(a, b *api.GroupVersion) int {
		return cmp.Or(cmp.Compare(b.GroupPriority, a.GroupPriority), strings.Compare(a.Group, b.Group), cmp.Compare(b.VersionPriority, a.VersionPriority))
	})
	return groups, nil
}

// allGroups are the built-in group versions, or the essential ones, with those of the API.
func (c *Config) allGroups(on func(feature string) bool) ([]*api.GroupVersion, error) {
	switch {
	case c.groups != nil:
		return joined(c.groups(c.Clock, on), c.API)
	case c.Builtin != nil:
		return joined(c.Builtin.Groups(c.Clock, on), c.API)
	case c.API == nil:
		return nil, errors.New("nothing to serve: set the API of the configuration, or its Builtin groups")
	}
	return joined(essentials().Groups(), c.API)
}

// essentials are the kinds of a server without the built-in groups.
func essentials() *api.API { return essential.New(rules.Rules{}) }

// documents are the generated OpenAPI documents.
func (c *Config) documents() []api.Documents {
	var all []api.Documents
	if c.Builtin != nil {
		all = append(all, c.Builtin.Documents())
	} else {
		all = append(all, essentials().Documents)
	}
	if c.API != nil {
		all = append(all, c.API.Documents)
	}
	return all
}

// settings are those of the rooms of the built-in groups.
func (c *Config) settings() parts.Settings {
	return parts.Settings{Authentication: c.Authentication, AuthorizationModes: c.AuthorizationModes, Addresses: &c.Addresses, Admission: c.Admission, Agents: c.Agents, Controllers: c.Controllers,
		MaxRequestBytes: c.MaxRequestBytes, EnableAggregatorRouting: c.EnableAggregatorRouting, ForwardExtensionRedirects: c.ForwardExtensionRedirects,
		KnownAs: net.JoinHostPort(cmp.Or(c.ExternalHostname, c.AdvertiseAddress, c.BindAddress), fmt.Sprint(c.SecurePort)),
		Retry:   c.durations.Retry, Types: c.durations.Types, Extensions: c.durations.ExtensionServers}
}

const (
	certificateGroup = "certificates." + profile.GroupSuffix
	schedulingGroup  = "scheduling." + profile.GroupSuffix
)

// needed are the built-in resource types that the server itself uses.
var needed = []struct{ group, plural string }{{"", "namespaces"}, {"", "pods"}, {"", "services"}, {"", "configmaps"}, {"", "limitranges"}, {"", "resourcequotas"}, {"policy", "poddisruptionbudgets"},
	{schedulingGroup, "priorityclasses"}, {certificateGroup, "certificatesigningrequests"}, {objects.DefinitionGroup, "customresourcedefinitions"},
	{rbac.Group, "roles"}, {rbac.Group, "clusterroles"}, {rbac.Group, "rolebindings"}, {rbac.Group, "clusterrolebindings"}}

func checkNeeded(snapshot *catalog.Snapshot) error {
	for _, r := range needed {
		if snapshot.Stored(r.group, r.plural) == nil {
			return fmt.Errorf("the catalog has no %s: regenerate from documents that do", r.plural)
		}
	}
	return nil
}
