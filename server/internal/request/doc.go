// Package request is one request and its answer: what the request asks for, its body, its
// place among those that run, and the form of the answer. Verbs and endpoints work on it;
// package serve leads it there.
//
// # Decisions
//
// Renderings of objects are kept (renderings.go, --binary-cache-bytes): the binary form of an
// object costs more than all else in a list of such objects. A rendering belongs to a row, a key
// and a revision, so nothing has to invalidate it. The room for renderings is bounded, and a list
// longer than it still finds a part there.
//
// A request that waits for its client needs no place. When a write of the answer takes longer than
// 5 ms the request gives its seats back and goes on as an unread answer (seat.go), until its time
// is over. A user has a share of the unread answers, beyond which the user gets no further place.
//
// Without priority and fairness (--enable-priority-and-fairness=false) reads and writes are counted
// instead, and no user except administrators may take more than a share (limits.go).
//
// Errors of any stage end in Fail (respond.go), the one function that turns them into a Status;
// those of the limits become plain text.
package request
