//go:build unix

package command

import "syscall"

// keepPrivate makes every file that the process creates from now on readable by its user
// only, including copies of a store, its log or a backup.
func keepPrivate() { syscall.Umask(0o077) }
