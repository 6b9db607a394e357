// Package conns keeps connections quick and bounded in time: an answer leaves in few
// system calls, and nothing waits for a client longer than it may.
//
// # Decisions
//
// No deadline of the network outlives a write. Such deadlines fire while nothing is written, and
// TLS has then counted a record that the next write does not send. So a connection notes when a
// write began and how long a read may take, and one sweeper checks all notes. After a failed write
// nothing is written to the connection any more.
//
// An answer leaves in as few system calls as possible (corked.go). An HTTP/1.1 connection that is
// idle for a second waits for its next request without the buffers of net/http and without a
// goroutine (kept.go, sleep.go).
package conns
