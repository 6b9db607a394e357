//go:build !unix

package main

// keepPrivate has nothing to do where files have no modes.
func keepPrivate() {}
