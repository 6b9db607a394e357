// Package serve is the frame of all requests: the routes of paths, the stages that each
// request passes, and the table of the functions that answer.
//
// # Decisions
//
// An unknown path passes the same stages as a known one, with an empty target: the request is
// authenticated and authorized before it is answered with 404.
//
// The flow schema of a request is found before authorization, since every answer names it. The
// request takes its place only when its body has arrived.
package serve
