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
	features, result := deviceFeatures{shared: p.on("DRAConsumableCapacity"), lists: p.on("DRAListTypeAttributes")}, expression.ConditionOrUnknown
	if features.lists {
		result = expression.ConditionOrDynamic
	}
	scope, err := deviceScopes[features]()
	var c causes
	at := member(v, "expression")
	if err != nil {
		c.InvalidAt(at, v.Get("expression"), "the variables of expressions cannot be declared: "+err.Error())
		return c.Causes
	}
	program, err := p.expressions.Since(document.Value{}).Compile(scope, text, result)
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

// deviceFeatures are the features that selectors depend on: devices that several requests share, and attributes that are lists.
type deviceFeatures struct{ shared, lists bool }

// deviceScopes are the scopes of selectors.
var deviceScopes = map[deviceFeatures]func() (*expression.Scope, error){
	{}:                          newDeviceScope(deviceFeatures{}),
	{shared: true}:              newDeviceScope(deviceFeatures{shared: true}),
	{lists: true}:               newDeviceScope(deviceFeatures{lists: true}),
	{shared: true, lists: true}: newDeviceScope(deviceFeatures{shared: true, lists: true}),
}

func newDeviceScope(f deviceFeatures) func() (*expression.Scope, error) {
	return sync.OnceValues(f.scope)
}

// scope declares the variable device: its driver, and its attributes and capacities by domain and name.
func (f deviceFeatures) scope() (*expression.Scope, error) {
	const most = 32 // attributes and capacities of a device
	byDomain := func(value *expression.Type) *expression.Type {
		names := &expression.Type{Kind: expression.Map, Elem: value, MaxElements: most}
		return &expression.Type{Kind: expression.Map, Elem: names, MaxElements: most}
	}
	attribute, scopeOf := &expression.Type{Kind: expression.Unknown, MaxElements: 64}, expression.NewBindingScope
	if f.lists { // macros look into them
		attribute.Kind, scopeOf = expression.Dynamic, expression.NewIncludingScope
	}
	device := &expression.Type{Kind: expression.Object, Fields: []expression.Field{
		{Name: "driver", Type: &expression.Type{Kind: expression.String, MaxElements: maxDriverName}},
		{Name: "attributes", Type: byDomain(attribute)},
		{Name: "capacity", Type: byDomain(&expression.Type{Kind: expression.Quantity})},
	}}
	if f.shared {
		device.Fields = append(device.Fields, expression.Field{Name: "allowMultipleAllocations", Type: &expression.Type{Kind: expression.Boolean, MaxElements: 1}})
	}
	types := new(expression.Types)
	types.Declare(profile.MediaTypeWord+".DRADevice", device)
	return scopeOf(types, expression.Variable{Name: "device", Type: device})
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
