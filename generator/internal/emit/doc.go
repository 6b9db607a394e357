// Package emit turns the model into the files of gen/ and internal/gen/. Each emitter is a pure
// function of the model: equal models give equal bytes.
//
// # Decisions
//
// Templates see the model only.
//
// The typed client is a row per resource over one generic type (client.Resource), whose argument is
// a pointer: the compiler makes one copy of the code for all pointers. An object is its own apply
// configuration: a member with its zero value is not sent, and fields in which zero differs from
// "not set" are pointers already. So there are no second types for it. Lists are one generic type
// too.
//
// The code that is generated for other modules is the same with other imports (outside.go). The
// packages in kit have the internal names that tables and rows consist of, as aliases. Hooks of
// other modules see objects through package object, which is small and stays as it is. The package
// gen/api of such a module has all its group versions and their published documents, for
// server.Config.API. The server joins them with the built-in ones before any other code looks at
// them.
package emit
