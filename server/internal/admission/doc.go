// Package admission changes and refuses objects on their way to the store, after
// authorization and defaults and before validation. It consists of plug-ins, which have
// the names, behaviour and flags of kube-apiserver 1.25's.
//
// # Decisions
//
// The Guard is in every chain of plug-ins, whichever of them are on: nobody gives rights that they
// do not have.
//
// Bodies that are not stored (reviews, token requests, bindings, evictions, the options of
// connections) pass the same plug-ins as objects do, as a Body (server/internal/objects/body.go).
package admission
