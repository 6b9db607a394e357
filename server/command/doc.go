// Package command is the command line of a server: that of capstan, and of programs that
// serve an API of their own.
//
// # Decisions
//
// The garbage collector of the process runs after 64 MiB of new garbage in a small heap and after
// half the heap in a large one. It also runs once some seconds after a burst, as of connecting
// clients; then free memory goes back to the machine (gc.go).
package command
