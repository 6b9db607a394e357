// Package addresses assigns services their addresses and node ports: each belongs to one
// service, which claims it while it is written.
//
// # Decisions
//
// The addresses of services are allocated in memory and stored with the service. A claim holds an
// address from before the write to its end, then the feed has the owner, and a restart reads the
// owners from the services. Nothing else is stored, so nothing can disagree (internal/allocate,
// services.go).
package addresses
