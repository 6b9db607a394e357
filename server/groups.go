package server

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	generated "github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/internal/gen/openapi"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/conversion"
	"github.com/capstan-dev/capstan/server/internal/features"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/policy"
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
	rules := policy.New(cfg.Clock)
	rules.Features = s.features.On
	groups, err := joined(cfg.groups(rules), cfg.API)
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
	s.catalog = catalog.New(groups, generated.Meta())
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

// documents are the generated OpenAPI documents.
func (c *Config) documents() []api.Documents {
	all := []api.Documents{openapi.Documents()}
	if c.API != nil {
		all = append(all, c.API.Documents)
	}
	return all
}

// catalogOf is the catalog of the documents, with the rules that they name.
func catalogOf(rules policy.Policy) []*api.GroupVersion {
	return generated.New(rules, conversion.Hooks{})
}

const (
	certificateGroup = "certificates." + profile.GroupSuffix
	schedulingGroup  = "scheduling." + profile.GroupSuffix
)

// needed are the resource types that the server itself uses.
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
