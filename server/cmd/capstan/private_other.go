//go:build !unix

package main

// keepPrivate has no effect where files have no modes.
func keepPrivate() {}
