package expression

import (
	"context"
	"sync/atomic"
	"time"
)

// Limits of all expressions that one request meets.
const (
	requestCost = 100_000_000 // ten policies, or objects with custom rules, at their limits
	requestRoom = 64 << 20    // of the values that expressions make, in bytes
	requestTime = 20 * time.Second
)

// Limits of one evaluation, besides its cost.
const (
	callRoom = 16 << 20 // of the values that it makes, in bytes
	// maxTime bounds one evaluation with those of its variables, whatever they cost:
	// operations of one unit of cost may take long on huge values.
	maxTime = 5 * time.Second
	// maxVariables bounds the variables that are evaluated for each other.
	maxVariables = 256
)

// Meter counts what the expressions of one request take together. Conditions of webhooks
// may be evaluated by several goroutines at once. The zero value has counted nothing.
type Meter struct {
	cost, made atomic.Uint64
	took       atomic.Int64
	over       atomic.Bool // a limit was reached: nothing is evaluated any more
}

type meterKey struct{}

// metered is the context of a request with its meter.
type metered struct {
	context.Context
	meter *Meter
}

// Value implements context.Context.
func (c *metered) Value(key any) any {
	if key == (meterKey{}) {
		return c.meter
	}
	return c.Context.Value(key)
}

// WithMeter returns a context whose evaluations have common limits. A context that has
// them already stays as it is.
func WithMeter(ctx context.Context) context.Context {
	if meterOf(ctx) != nil {
		return ctx
	}
	return new(Meter).In(ctx)
}

// In returns a context whose evaluations the meter counts.
func (m *Meter) In(ctx context.Context) context.Context { return &metered{ctx, m} }

// meterOf is the meter of a context, nil for one without.
func meterOf(ctx context.Context) *Meter {
	m, _ := ctx.Value(meterKey{}).(*Meter)
	return m
}

// spend counts cost.
func (m *Meter) spend(cost uint64) {
	if m.cost.Add(min(cost, requestCost+1)) > requestCost {
		m.over.Store(true)
	}
}

// make reports whether there is room for a value, and takes it.
func (m *Meter) make(bytes uint64) bool {
	if m.made.Add(bytes) > requestRoom {
		m.over.Store(true)
		return false
	}
	return true
}

// pass counts time.
func (m *Meter) pass(d time.Duration) {
	if m.took.Add(int64(d)) > int64(requestTime) {
		m.over.Store(true)
	}
}

// left is the time that one more evaluation may take.
func (m *Meter) left() time.Duration {
	return min(maxTime, requestTime-time.Duration(m.took.Load()))
}
