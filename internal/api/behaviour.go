package api

// Role is the part that a resource has in the server itself. A catalog has at most
// one resource of each, in the version that is stored.
type Role string

// The roles that documents give.
const (
	RoleNamespaces      Role = "namespaces"       // its objects hold those of all namespaced resources
	RoleDefinitions     Role = "definitions"      // its objects define resources
	RoleSigningRequests Role = "signing-requests" // its objects ask for certificates, are approved and signed
)

// Dependents is what becomes of the objects that an object owns when a delete of
// the owner does not say it.
type Dependents string

// What documents say of dependents; by default they are deleted in the background.
const (
	DependentsOrphaned Dependents = "orphan" // they stay
	DependentsNone     Dependents = "none"   // there are none: the objects are never owners, whatever a delete says
)

// Grace is how long the end of an object may take, in seconds. A delete that says
// nothing of it gives the time at Period, or Default.
type Grace struct {
	Period  []string // where the object says it
	Default int64
	Needs   []string // an object that has nothing there goes at once; nil when all are given time
}
