package expression

import (
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/ext"
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
	env, err := cel.NewEnv(append(further,
		cel.HomogeneousAggregateLiterals(), cel.EagerlyValidateDeclarations(true), cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true), cel.OptionalTypes(),
		cel.ASTValidators(cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateRegexLiterals(), cel.ValidateHomogeneousAggregateLiterals()),
		ext.Strings(ext.StringsVersion(2)), ext.Sets(), ext.Lists(ext.ListsVersion(3)), ext.TwoVarComprehensions(),
		cel.CostEstimatorOptions(checker.PresenceTestHasCost(false)),
		cel.Lib(library{functions: []map[string][]cel.FunctionOpt{listFunctions(), regexpFunctions(), urlFunctions(), quantityFunctions(),
			addressFunctions(), formatFunctions(), versionFunctions(), rightsFunctions(), patchFunctions()}}),
	)...)
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
