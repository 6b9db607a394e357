package quota

import (
	"errors"
	"fmt"
)

// Configuration is that of the plug-in ResourceQuota. The zero value limits nothing but
// what quotas limit.
type Configuration struct {
	// LimitedResources may only be used in namespaces with a quota for them.
	LimitedResources []LimitedResource
}

// LimitedResource is an amount that needs a quota.
type LimitedResource struct {
	APIGroup, Resource string // of the objects that use it
	// MatchContains are parts of the names of limited amounts.
	MatchContains []string
	// MatchScopes are the scopes of limited pods.
	MatchScopes []Scope
}

// Scope selects pods, as in the scopeSelector of a quota.
type Scope struct {
	ScopeName string
	Operator  string // In, NotIn, Exists or DoesNotExist
	Values    []string
}

// Validate reports the mistakes, joined into one error, or nil.
func (c *Configuration) Validate() error {
	var all []error
	for i, l := range c.LimitedResources {
		if l.Resource == "" {
			all = append(all, fmt.Errorf("limitedResources[%d].resource: Required value", i))
		}
	}
	return errors.Join(all...)
}
