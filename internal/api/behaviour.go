package api

// Role is the part that a resource plays in the server itself. A catalog has at most one
// resource of each role, in its storage version.
type Role string

// The roles that documents give.
const (
	RoleNamespaces      Role = "namespaces"       // its objects contain all namespaced objects
	RoleDefinitions     Role = "definitions"      // its objects define resources
	RoleSigningRequests Role = "signing-requests" // its objects request certificates, are approved and signed
)

// Dependents is the default propagation policy of deletes: what happens to the objects
// that a deleted object owns.
type Dependents string

// The values of dependents in documents; by default they are deleted in the background.
const (
	DependentsOrphaned Dependents = "orphan" // they stay
	DependentsNone     Dependents = "none"   // none exist: the objects are never owners, whatever a delete requests
)

// Grace is the grace period of deletes, in seconds. A delete without one gives the time
// at Period, or Default.
type Grace struct {
	Period  []string // path of the object's own value
	Default int64
	Needs   []string // an object without a value there is deleted at once; nil when all have a grace period
}
