package admission

import (
	"context"

	"github.com/capstan-dev/capstan/internal/configfile"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/store"
)

// Ranges are the limit ranges of a namespace as a write has seen them first. Its check looks
// at the same ones: a range that comes in between would be one without its defaults.
type Ranges any

// Quotas are the limit ranges and resource quotas of namespaces.
type Quotas interface {
	// FillLimits gives a pod the requests and limits that its namespace has for it.
	FillLimits(ctx context.Context, r *Request) error
	// CheckLimits refuses an object outside of the bounds for one.
	CheckLimits(ctx context.Context, r *Request) error
	// Charge refuses an object for which the quotas of its namespace have not enough left,
	// and sets the charge of others.
	Charge(ctx context.Context, r *Request) error
}

// LimitedResource is an amount that may only be used in namespaces with a quota for it.
type LimitedResource struct {
	APIGroup string `yaml:"apiGroup"` // of the objects that use it
	Resource string `yaml:"resource"`
	// MatchContains are parts of the names of limited amounts.
	MatchContains []string `yaml:"matchContains"`
	// MatchScopes are the scopes of limited pods.
	MatchScopes []QuotaScope `yaml:"matchScopes"`
}

// QuotaScope selects the objects that a quota bounds.
type QuotaScope struct {
	ScopeName string   `yaml:"scopeName"`
	Operator  string   `yaml:"operator"` // In, NotIn, Exists or DoesNotExist
	Values    []string `yaml:"values"`
}

func readQuotaLimits(s *Settings, v configfile.Value) error {
	const group = "resourcequota.admission." + profile.GroupSuffix
	if err := s.is(v, "ResourceQuotaConfiguration", "Configuration", group+"/v1beta1", group+"/v1alpha1"); err != nil {
		return err
	}
	var file struct {
		LimitedResources []LimitedResource `yaml:"limitedResources"`
	}
	if err := v.Decode(&file); err != nil {
		return err
	}
	for i, l := range file.LimitedResources {
		if l.Resource == "" {
			return v.WrongAt([]any{"limitedResources", i}, "limitedResources[%d].resource: Required value", i)
		}
	}
	s.LimitedResources = file.LimitedResources
	return nil
}

// Charge is what a write adds to the used amounts of resource quotas. It holds for one
// object, and does nothing by itself.
type Charge interface {
	// Keys are the keys of the quotas, in the store.
	Keys() []string
	// Add adds it to the status of one of them. Errors: 403 when not enough is left.
	Add(quota document.Value) error
	// Stands reports whether the namespace still has the quotas that were asked. It adds
	// to a read set what of the store says so.
	Stands(namespace string, seen []store.Seen) (more []store.Seen, stand bool)
}

func (c *Chain) fillLimits(ctx context.Context, r *Request) error {
	return c.config.Quotas.FillLimits(ctx, r)
}

func (c *Chain) checkLimits(ctx context.Context, r *Request) error {
	return c.config.Quotas.CheckLimits(ctx, r)
}

func (c *Chain) charge(ctx context.Context, r *Request) error {
	return c.config.Quotas.Charge(ctx, r)
}
