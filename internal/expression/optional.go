package expression

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// otherwise is the evaluation of x.or(y) and x.orValue(y): y is evaluated only if the
// optional value x is missing.
type otherwise struct {
	interpreter.InterpretableCall
	first, second interpreter.Interpretable
	unwrap        bool
}

// Eval implements interpreter.Interpretable.
func (o *otherwise) Eval(vars interpreter.Activation) ref.Val {
	v := o.first.Eval(vars)
	optional, ok := v.(*types.Optional)
	switch {
	case !ok:
		return v
	case !optional.HasValue():
		return o.second.Eval(vars)
	case o.unwrap:
		return optional.GetValue()
	}
	return optional
}

// planOptional plans calls of or and orValue, which have no function.
func planOptional(i interpreter.Interpretable) (interpreter.Interpretable, error) {
	call, ok := i.(interpreter.InterpretableCall)
	if !ok || len(call.Args()) != 2 {
		return i, nil
	}
	switch id := call.OverloadID(); call.Function() {
	case "or":
		if id == "" || id == "optional_or_optional" {
			return &otherwise{call, call.Args()[0], call.Args()[1], false}, nil
		}
	case "orValue":
		if id == "" || id == "optional_orValue_value" {
			return &otherwise{call, call.Args()[0], call.Args()[1], true}, nil
		}
	}
	return i, nil
}
