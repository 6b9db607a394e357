// Package addresses assigns services their addresses and node ports: each belongs to one
// service, which claims it while it is written.
//
// # Decisions
//
// The addresses of services are allocated in memory and stored with the service. A claim holds an
// address from before the write to its end, then the feed has the owner, and a restart reads the
// owners from the services. Nothing else is stored, so nothing can disagree (internal/allocate,
// services.go).
//
// Later releases have an object for each address in use, and objects for the ranges (named.go). An address
// is free when neither a service nor an object has it. The object is written in the transaction of its service
// (server/internal/objects/addresses.go), under a key that only one can create: servers that share
// a store need nothing else to agree. The range of a new address is in the read set of the service.
package addresses
