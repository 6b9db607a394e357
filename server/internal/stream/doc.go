// Package stream carries the frames of watches to clients: in the body of an answer, on
// a connection taken from HTTP/1.1, or as messages of a WebSocket.
//
// # Decisions
//
// A watch waits as the rest of its answer, after the stages of its request have left the stack.
// Over HTTP/1.1 it waits after its handler has returned, on a connection of its own (detached.go).
package stream
