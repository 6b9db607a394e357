package expression

import (
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// planPriced plans calls of functions that make values, or look at all of one: they are
// priced by their arguments before they run. Cel-go counts their cost when they have run,
// by the size of their arguments, which says little about that of their results.
func planPriced(known interpreter.Dispatcher) interpreter.InterpretableDecorator {
	return func(i interpreter.Interpretable) (interpreter.Interpretable, error) {
		switch i := i.(type) {
		case *priced, *pricedLiteral:
			return i, nil
		case interpreter.InterpretableConstructor:
			return priceLiteral(i), nil
		case interpreter.InterpretableCall:
			return priceCall(known, i)
		}
		return i, nil
	}
}

// priced is a call of a function with a price.
type priced struct {
	interpreter.InterpretableCall
	args     []interpreter.Interpretable
	price    pricer
	overload *functions.Overload // nil for comparisons
	is       *matcher            // of a constant pattern
}

func priceCall(known interpreter.Dispatcher, call interpreter.InterpretableCall) (interpreter.Interpretable, error) {
	name := call.Function()
	price := pricers[name]
	if price == nil {
		return call, nil
	}
	p := &priced{InterpretableCall: call, args: call.Args(), price: price}
	if name == operators.Equals || name == operators.NotEquals {
		return p, nil
	}
	var found bool
	if p.overload, found = known.FindOverload(call.OverloadID()); !found {
		if p.overload, found = known.FindOverload(name); !found {
			return call, nil // it has no implementation, and fails
		}
	}
	if searches[name] != nil {
		var err error
		if p.is, err = constantPattern(name, p.args); err != nil {
			return nil, err
		}
		p.price = priceFound(price, p.is)
	}
	return p, nil
}

// Function implements interpreter.InterpretableCall. Calls with a constant pattern have
// another name, since cel-go would plan them anew.
func (p *priced) Function() string {
	if p.is != nil {
		return constantPrefix + p.InterpretableCall.Function()
	}
	return p.InterpretableCall.Function()
}

// OverloadID implements interpreter.InterpretableCall.
func (p *priced) OverloadID() string {
	if p.is != nil {
		return constantPrefix + p.InterpretableCall.OverloadID()
	}
	return p.InterpretableCall.OverloadID()
}

// Eval implements interpreter.Interpretable.
func (p *priced) Eval(vars interpreter.Activation) ref.Val {
	if p.overload == nil {
		return p.compare(vars)
	}
	args := make([]ref.Val, len(p.args))
	for i, arg := range p.args {
		args[i] = arg.Eval(vars)
	}
	for _, v := range args {
		if types.IsUnknownOrError(v) {
			return v
		}
	}
	b := boundTo(vars)
	if b == nil {
		return p.call(args)
	}
	d := p.price(b, args)
	b.afford(d)
	v := p.call(args)
	if d.bytes > 0 {
		b.keep(min(uint64(d.bytes), bytesOf(v)))
	}
	return v
}

// compare compares two values. Only those with parts may take long.
func (p *priced) compare(vars interpreter.Activation) ref.Val {
	first, second := p.args[0].Eval(vars), p.args[1].Eval(vars)
	switch {
	case types.IsUnknownOrError(first):
		return first
	case types.IsUnknownOrError(second):
		return second
	case hasParts(first) && hasParts(second):
		if b := boundTo(vars); b != nil {
			b.afford(p.price(b, []ref.Val{first, second}))
		}
	}
	equal := types.Equal(first, second)
	if p.InterpretableCall.Function() == operators.NotEquals {
		return types.Bool(equal != types.True)
	}
	return equal
}

// call calls the function, as cel-go does.
func (p *priced) call(args []ref.Val) ref.Val {
	if p.is != nil {
		return types.LabelErrNode(p.ID(), p.is.on(args))
	}
	if sum := joined(p.InterpretableCall.Function(), args); sum != nil {
		return sum
	}
	do := p.overload
	switch first := args[0]; {
	case do.OperandTrait != 0 && !first.Type().HasTrait(do.OperandTrait):
		if first.Type().HasTrait(traits.ReceiverType) {
			return types.LabelErrNode(p.ID(), first.(traits.Receiver).Receive(p.Function(), p.OverloadID(), args[1:]))
		}
	case len(args) == 1 && do.Unary != nil:
		return types.LabelErrNode(p.ID(), do.Unary(first))
	case len(args) == 2 && do.Binary != nil:
		return types.LabelErrNode(p.ID(), do.Binary(first, args[1]))
	case do.Function != nil:
		return types.LabelErrNode(p.ID(), do.Function(args...))
	}
	return types.NewErrWithNodeID(p.ID(), "no such overload: %s", p.Function())
}

// joined is the sum of two lists that keep their order, as one list: cel-go would make
// one of two parts, whose size and elements are found part by part, again and again. Sums
// of other values, and of lists that a loop extends, are nil.
func joined(function string, args []ref.Val) ref.Val {
	if function != operators.Add {
		return nil
	}
	a, isList := args[0].(traits.Lister)
	b, alsoList := args[1].(traits.Lister)
	_, extended := a.(traits.MutableLister)
	tree, isTree := a.(*list)
	if !isList || !alsoList || extended || isTree && !tree.ordered() {
		return nil
	}
	all := make([]ref.Val, 0, actualSize(a)+actualSize(b))
	for _, part := range [...]traits.Lister{a, b} {
		for it := part.Iterator(); it.HasNext() == types.True; {
			all = append(all, it.Next())
		}
	}
	return types.NewRefValList(types.DefaultTypeAdapter, all)
}

// pricedLiteral is a list, map or object that an expression writes out.
type pricedLiteral struct {
	interpreter.InterpretableConstructor
	bytes uint64
}

// priceLiteral prices a literal, unless it is constant and made once.
func priceLiteral(c interpreter.InterpretableConstructor) interpreter.Interpretable {
	parts := c.InitVals()
	constant := c.Type() == ref.Type(types.ListType) || c.Type() == ref.Type(types.MapType)
	for _, part := range parts {
		if _, ok := part.(interpreter.InterpretableConst); !ok {
			constant = false
		}
	}
	if constant {
		return c
	}
	return &pricedLiteral{c, listBytes + uint64(len(parts))*entryBytes}
}

// Eval implements interpreter.Interpretable.
func (p *pricedLiteral) Eval(vars interpreter.Activation) ref.Val {
	if b := boundTo(vars); b != nil {
		b.keep(p.bytes)
	}
	return p.InterpretableConstructor.Eval(vars)
}
