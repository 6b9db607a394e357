// Package policies applies the admission policies of the cluster to writes: rules
// in CEL that objects have to follow.
//
// # Decisions
//
// Admission policies are live collections with their bindings; a policy without a binding costs
// nothing. Expressions are compiled when the first write meets them. Expressions whose worst cost
// is small are not counted, like the rules of custom resources. Variables are members of an object
// that are evaluated when an expression looks at them. Parameters are read from the store, so that
// the next write sees a change. An evaluation may take a second and ask for rights: no lock is held
// meanwhile, as with webhooks. All expressions that a request meets share one limit of cost, of
// bytes and of time (expression.Meter), and functions that make a value are priced by their
// arguments before they run.
//
// Mutating policies come before the mutating webhooks. When one of either has changed the object,
// the plug-ins see it once more, and so do those policies and webhooks that want to. The
// expressions of mutating policies make objects of types of any name (Object.spec), which become
// JSON and are merged by the tables of ownership.
package policies
