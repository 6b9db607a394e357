//go:build unix

package main

import "syscall"

// keepPrivate makes every file that the process makes from now on readable by its
// user only: whatever a store, a log of it or a backup is copied to.
func keepPrivate() { syscall.Umask(0o077) }
