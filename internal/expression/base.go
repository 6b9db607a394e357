package expression

import (
	"slices"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/interpreter"
)

// base has the language and its functions, without variables. All scopes share it; it
// never changes.
type base struct {
	env       *cel.Env
	functions interpreter.Dispatcher
}

// theBase makes the base at the first use: it costs some milliseconds, and most servers
// have no expressions.
var theBase = sync.OnceValues(func() (*base, error) { return newBase() })

// newBase makes a base with further options.
func newBase(further ...cel.EnvOption) (*base, error) {
	newest := func(string) bool { return true }
	env, err := cel.NewEnv(slices.Concat(further, languageOf(newest), []cel.EnvOption{
		cel.ASTValidators(cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateRegexLiterals(), cel.ValidateHomogeneousAggregateLiterals()),
		cel.Lib(library{functions: append(functionsOf(newest, true), patchFunctions())}),
	})...)
	if err != nil {
		return nil, err
	}
	b := &base{env: env, functions: interpreter.NewDispatcher()}
	for _, f := range env.Functions() {
		bound, err := f.Bindings()
		if err != nil {
			return nil, err
		}
		if err := b.functions.Add(bound...); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// library declares the functions that CEL and its own extensions do not have.
type library struct {
	functions []map[string][]cel.FunctionOpt // by name
}

// CompileOptions implements cel.Library.
func (l library) CompileOptions() []cel.EnvOption {
	options := []cel.EnvOption{cel.Types(addresses.is, networks.is, authorities.is, pathQueries.is, groupQueries.is, resourceQueries.is, decisions.is)}
	for _, functions := range l.functions {
		for name, overloads := range functions {
			options = append(options, cel.Function(name, overloads...))
		}
	}
	return options
}

// ProgramOptions implements cel.Library.
func (library) ProgramOptions() []cel.ProgramOption {
	return []cel.ProgramOption{cel.CostTrackerOptions(interpreter.PresenceTestHasCost(false))}
}
