package admission

import "context"

// Quotas are the limit ranges and resource quotas of namespaces.
type Quotas interface {
	// FillLimits gives a pod the requests and limits that its namespace has for it.
	FillLimits(ctx context.Context, r *Request) error
	// CheckLimits refuses an object outside of the bounds for one.
	CheckLimits(ctx context.Context, r *Request) error
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
