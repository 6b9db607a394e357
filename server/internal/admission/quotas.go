package admission

import (
	"context"

	"github.com/capstan-dev/capstan/internal/document"
)

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

// Charge is what a write adds to the used amounts of resource quotas. It holds for one
// object, and does nothing by itself.
type Charge interface {
	// Keys are the keys of the quotas, in the store.
	Keys() []string
	// Add adds it to the status of one of them. Errors: 403 when not enough is left.
	Add(quota document.Value) error
	// Stands reports whether the namespace still has the quotas that were asked.
	Stands(namespace string) bool
}

func (c *Chain) fillLimits(ctx context.Context, r *Request) error {
	if c.config.Quotas == nil {
		return nil
	}
	return c.config.Quotas.FillLimits(ctx, r)
}

func (c *Chain) checkLimits(ctx context.Context, r *Request) error {
	if c.config.Quotas == nil {
		return nil
	}
	return c.config.Quotas.CheckLimits(ctx, r)
}

func (c *Chain) charge(ctx context.Context, r *Request) error {
	if c.config.Quotas == nil {
		return nil
	}
	return c.config.Quotas.Charge(ctx, r)
}
