// Package audit records who asked the server for what: events about requests, as a policy
// wants them, in a log file and for a webhook. Names, forms and flags are those of
// kube-apiserver 1.25.
//
// # Decisions
//
// Audit events are texts. An event grows with its request (server/internal/request/audited.go) and
// is written as JSON once per stage. A log and a webhook get the same bytes, so the events that
// wait for them are bounded in number and in bytes. Bodies are recorded where they are decoded, in
// the request's version; lists are read a second time for the event, within the room of gathered
// answers.
package audit
