//go:build !unix

package command

// keepPrivate has no effect where files have no modes.
func keepPrivate() {}
