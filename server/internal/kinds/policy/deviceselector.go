package policy

import (
	"sync"
	"time"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/expression"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Limits of the expressions of device selectors.
const (
	selectorCost  = 1_000_000 // units of cost of the worst evaluation
	selectorBytes = 10 << 10
)

// ValidateCELDeviceSelector compiles the expression of a selector of devices.
func (p Policy) ValidateCELDeviceSelector(v document.Value) []schema.Cause {
	text := v.Get("expression").Text()
	if p.since("1.32") && len(text) > selectorBytes {
		return nil // which the bound of its bytes says
	}
	scope, err := deviceScope()
	if p.on("DRAConsumableCapacity") {
		scope, err = sharedDeviceScope()
	}
	var c causes
	at := member(v, "expression")
	if err != nil {
		c.InvalidAt(at, v.Get("expression"), "the variables of expressions cannot be declared: "+err.Error())
		return c.Causes
	}
	program, err := p.expressions.Since(document.Value{}).Compile(scope, text, expression.ConditionOrUnknown)
	problem, _ := err.(*expression.Problem)
	switch {
	case problem == nil && p.since("1.32") && program.Cost > selectorCost:
		c.Forbidden(at, "too complex, exceeds cost limit")
	case problem == nil:
	case problem.Kind == expression.ResultProblem:
		c.InvalidAt(at, v.Get("expression"), "must evaluate to bool or the unknown type, not "+problem.Detail)
	case problem.Kind == expression.SyntaxProblem:
		c.InvalidAt(at, v.Get("expression"), "compilation failed: "+problem.Detail)
	default:
		c.InvalidAt(at, v.Get("expression"), "program instantiation failed: "+problem.Detail)
	}
	return c.Causes
}

// The scopes of selectors, without and with devices that several requests share.
var (
	deviceScope       = sync.OnceValues(func() (*expression.Scope, error) { return newDeviceScope(false) })
	sharedDeviceScope = sync.OnceValues(func() (*expression.Scope, error) { return newDeviceScope(true) })
)

// newDeviceScope declares the variable device: its driver, and its attributes and capacities by domain and name.
func newDeviceScope(shared bool) (*expression.Scope, error) {
	const most = 32 // attributes and capacities of a device
	byDomain := func(value *expression.Type) *expression.Type {
		names := &expression.Type{Kind: expression.Map, Elem: value, MaxElements: most}
		return &expression.Type{Kind: expression.Map, Elem: names, MaxElements: most}
	}
	device := &expression.Type{Kind: expression.Object, Fields: []expression.Field{
		{Name: "driver", Type: &expression.Type{Kind: expression.String, MaxElements: maxDriverName}},
		{Name: "attributes", Type: byDomain(&expression.Type{Kind: expression.Unknown, MaxElements: 64})},
		{Name: "capacity", Type: byDomain(&expression.Type{Kind: expression.Quantity})},
	}}
	if shared {
		device.Fields = append(device.Fields, expression.Field{Name: "allowMultipleAllocations", Type: &expression.Type{Kind: expression.Boolean, MaxElements: 1}})
	}
	types := new(expression.Types)
	types.Declare(profile.MediaTypeWord+".DRADevice", device)
	return expression.NewBindingScope(types, expression.Variable{Name: "device", Type: device})
}

// UpdateDeviceTaintRule notes when a taint got its effect, unless the sender does.
func (p Policy) UpdateDeviceTaintRule(obj, old document.Value) {
	now, before := obj.At("spec", "taint"), old.At("spec", "taint")
	if !document.Equal(now.Get("effect"), before.Get("effect")) && document.Equal(now.Get("timeAdded"), before.Get("timeAdded")) {
		now.Remove("timeAdded")
		p.DefaultDeviceTaint(now)
	}
}

// DefaultDeviceTaint notes when a taint was added.
func (p Policy) DefaultDeviceTaint(taint document.Value) {
	if !isSet(taint.Get("timeAdded")) {
		taint.SetString("timeAdded", p.Now().UTC().Truncate(time.Second).Format(time.RFC3339))
	}
}
