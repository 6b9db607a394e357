// Package hangups keeps SIGHUP from ending a server that has just begun to start. Making the
// tables of all packages takes a tenth of a second, before the first line of main; this
// package imports so little that it is among the first to be initialized.
package hangups

import (
	"os"
	"os/signal"
	"syscall"
)

// Serve is the command that runs a server. A hangup ends every other one.
const Serve = "serve"

// caught receives SIGHUP.
var caught = early()

// early catches hangups from now on in a process that runs a server. The single place of
// the channel is enough: several hangups ask for the same.
func early() chan os.Signal {
	c := make(chan os.Signal, 1)
	if len(os.Args) > 1 && os.Args[1] == Serve {
		signal.Notify(c, syscall.SIGHUP)
	}
	return c
}

// Caught catches hangups, if nobody has yet, and returns the channel with those since the
// process began.
func Caught() <-chan os.Signal {
	signal.Notify(caught, syscall.SIGHUP)
	return caught
}
