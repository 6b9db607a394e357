// Package oapi is the only one that runs oapi-codegen. That library keeps the
// state of a run in package variables, so it is called once at a time.
//
// # Decisions
//
// Go types for clients come from oapi-codegen, used as a library with our templates. Its client and
// its handlers are not used, because verbs are regular.
package oapi
