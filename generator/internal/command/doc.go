// Package command has the commands of the designers of an API, who work on its documents
// (openapi/, schemas/).
//
// # Decisions
//
// The commands of designers are a program of their own, capstan-gen. They need the documents, their
// compiler and libraries for it, for which the server's binary has no use. A module that serves an
// API of its own runs them as "go tool capstan-gen".
//
// The command generate writes the new files next to the old folders, and swaps them when everything
// has succeeded.
//
// The command dev looks at the times of the files rather than being notified of changes: there are
// few files, and that works on every file system without a library.
package command
