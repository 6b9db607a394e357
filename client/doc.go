// Package client talks to an API server. It is generic: the typed client of gen/client is
// rows over it, and a custom kind needs only its struct with four methods.
//
// LoadKubeconfig, ParseKubeconfig and PodConfig find a server and credentials. Then a
// Resource gets, lists, creates, updates, modifies, patches, applies, deletes and watches
// objects; All goes through the pages of a long list, Follow watches without a gap across
// broken connections, and an Informer keeps objects in memory, with indexes.
//
// Every call has a context that ends it. A server that is busy (429, 503) is asked again
// after the time that it names, ten times; other failures are an *Error, to be told apart
// by IsNotFound, IsConflict and the like. Times in objects are those of package value.
//
// Tests use the real server: package server/servertest starts it in their process. The
// examples below run against it.
package client
