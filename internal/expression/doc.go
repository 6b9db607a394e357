// Package expression evaluates expressions in CEL (Common Expression Language) over trees
// of objects, as the rules of custom resources, admission policies and match conditions
// use them.
//
// A Scope declares the variables of expressions, with types or without. It compiles a text
// to a Program, which knows the worst cost of its evaluation. A Program is evaluated with
// Bindings, the values of the variables: trees of package document, which become values
// of CEL piece by piece, as far as an expression looks at them. Several programs of a
// scope share the bindings of one object. Named expressions of a scope (Compose) are used by
// later ones, and evaluated once at most.
//
// Functions are those of CEL and the extensions that clients know: lists, regular
// expressions, URLs, strings, sets, quantities, addresses, formats, versions, optional
// values, comprehensions with two variables, and checks of rights where a variable is an
// authorizer.
//
// No expression evaluates forever: each evaluation has a limit in units of cost, of which
// roughly ten million take a second, and ends with its context.
package expression
