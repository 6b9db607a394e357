package server

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	generated "github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/internal/gen/openapi"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/identity/rbac"
	"github.com/capstan-dev/capstan/server/internal/kinds/addresses"
	"github.com/capstan-dev/capstan/server/internal/kinds/conversion"
	"github.com/capstan-dev/capstan/server/internal/kinds/policy"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/options"
)

// openCatalog makes the catalog of the configured versions and resources, and returns its group versions.
func (s *Server) openCatalog() ([]*api.GroupVersion, error) {
	cfg := &s.cfg
	own, err := cfg.Emulated(cfg.API)
	if err != nil {
		return nil, err
	}
	edition, err := cfg.Builtin()
	if err != nil {
		return nil, err
	}
	cfg.API, s.edition = own, edition
	gates, warnings, err := options.Parse(cfg.FeatureGates, edition.Release)
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		s.log.Warn(w)
	}
	s.features = gates
	cfg.DisablePriorityAndFairness = cfg.DisablePriorityAndFairness || !gates[options.PriorityFairness]
	groups, builtin, err := cfg.allGroups(edition, gates.On)
	if err != nil {
		return nil, err
	}
	gates.MarkGated(groups)
	config, err := options.ParseRuntimeConfig(cfg.RuntimeConfig, groups)
	if err != nil {
		return nil, err
	}
	config.Apply(groups, nil)
	if cfg.OwnGroupsOnly {
		config.Apply(builtin, options.EveryServer)
	}
	gates.HideGated(builtin)
	if !gates[options.VersionHashes] {
		options.HideStorageHashes(groups)
	}
	s.catalog = catalog.New(groups, generated.MetaOf(edition))
	return groups, checkNeeded(s.catalog.Snapshot())
}

// allGroups are the built-in group versions with those of the API, in the order of
// discovery, and the built-in ones alone.
func (c *Config) allGroups(r *api.Edition, on func(feature string) bool) (all, builtin []*api.GroupVersion, err error) {
	if c.OwnGroupsOnly && c.API == nil {
		return nil, nil, errors.New("nothing to serve: set the API of the configuration, or leave OwnGroupsOnly out")
	}
	builtin = c.builtinGroups(r, on)
	options.DropFutureDeprecations(builtin, r.Release)
	all, err = joined(builtin, c.API)
	return all, builtin, err
}

// builtinGroups are the group versions of the documents in a release, with the rules that they name.
func (c *Config) builtinGroups(r *api.Edition, on func(feature string) bool) []*api.GroupVersion {
	rules := policy.New(c.Clock).In(r, on)
	if c.Seams.Groups != nil {
		return c.Seams.Groups(rules)
	}
	groups := generated.Of(r, rules, conversion.Hooks{})
	for _, gv := range groups {
		gv.StoredRules = true
		if r.Since("1.27") {
			nameSingulars(gv)
		}
	}
	return groups
}

// nameSingulars gives the resources of a group version their names in the singular, which discovery shows from 1.27 on.
func nameSingulars(gv *api.GroupVersion) {
	for i := range gv.Resources {
		if res := &gv.Resources[i]; res.Singular == "" {
			res.Singular = strings.ToLower(res.Kind)
		}
	}
}

// joined are group versions with those of an API in its own release, in the order of discovery. A group
// version may not be in both.
func joined(groups []*api.GroupVersion, more *api.API) ([]*api.GroupVersion, error) {
	if more == nil {
		return groups, nil
	}
	groups = slices.Clone(groups)
	own := more.Groups()
	options.DropFutureDeprecations(own, more.Release)
	for _, gv := range own {
		if slices.ContainsFunc(groups, func(other *api.GroupVersion) bool { return other.APIVersion() == gv.APIVersion() }) {
			return nil, fmt.Errorf("the API has %s, which is built in: give its group another name", gv.APIVersion())
		}
		groups = append(groups, gv)
	}
	api.SortGroups(groups)
	return groups, nil
}

// documents are the generated OpenAPI documents of the releases that are served.
func (s *Server) documents() []api.Documents {
	builtin, err := s.edition.Documents(openapi.Documents())
	if err != nil {
		s.log.Error("the OpenAPI documents of the release cannot be made, so those of another are published: the binary is broken", "error", err)
	}
	if s.cfg.API == nil {
		return []api.Documents{builtin}
	}
	return []api.Documents{builtin, s.cfg.API.Documents}
}

const (
	certificateGroup = "certificates." + profile.GroupSuffix
	schedulingGroup  = "scheduling." + profile.GroupSuffix
)

// needed are the built-in resource types that the server itself uses.
var needed = []struct{ group, plural string }{{"", "namespaces"}, {"", "pods"}, {"", "services"}, {"", "configmaps"}, {"", "limitranges"},
	{"", "resourcequotas"}, {"policy", "poddisruptionbudgets"},
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

// kindsOfAddresses are the kinds of objects by which addresses of services are allocated, in the newest served version; nil for
// releases and gates without.
func (s *Server) kindsOfAddresses() *addresses.Kinds {
	if !s.features.On(options.ServiceRanges) || !s.catalog.Snapshot().Serves("", "services") {
		return nil
	}
	for _, version := range []string{"v1", "v1beta1", "v1alpha1"} {
		served := func(plural string) *catalog.Row {
			row := s.catalog.Snapshot().Resource("networking."+profile.GroupSuffix, version, plural)
			if row == nil || row.Off {
				return nil
			}
			return row
		}
		if ranges, all := served("servicecidrs"), served("ipaddresses"); ranges != nil && all != nil {
			return &addresses.Kinds{Range: ranges, Address: all, DualWrites: !s.features.On(options.NoDualWrites), Since: s.edition.Since}
		}
	}
	s.log.Warn("the kinds ServiceCIDR and IPAddress are not served, so addresses of services are allocated without them; --runtime-config turns their version on",
		"feature", options.ServiceRanges)
	return nil
}
