// Package ranks orders the locks of a process: a goroutine that holds a lock takes only locks
// of later ranks. So no two goroutines wait for each other. Builds with the tag invariants
// panic when a lock is taken out of order; others pay nothing for the ranks.
//
//	mu ranks.Mutex[ranks.Leaf]
package ranks

// Rank is the rank of a lock.
type Rank interface {
	// place orders the ranks; several says that one goroutine may hold several locks of the
	// rank, which have an order of their own.
	place() (n int, several bool)
}

// The ranks, from the outermost to the innermost.
type (
	// Operation: held while files are read or a long operation runs, of which there may be
	// one at a time.
	Operation struct{}
	// Request: of one request, above those of what requests share.
	Request struct{}
	// Key: a key of the store, during a transaction. Several are taken in the order of keys.
	Key struct{}
	// View: of a view of the store, held for reading while it is read. Several are read at once.
	View struct{}
	// Commit: orders the commits of the store.
	Commit struct{}
	// Publisher: held while the store announces commits.
	Publisher struct{}
	// Follower: of whatever follows the store. The publisher calls it with each commit.
	Follower struct{}
	// Derived: of values that a follower derives from commits.
	Derived struct{}
	// Inner: taken under one of those, and above a leaf.
	Inner struct{}
	// Made: of values that are made when they are first used, of others such.
	Made struct{}
	// Leaf: no lock is taken under it.
	Leaf struct{}
)

func (Operation) place() (int, bool) { return 1, false }
func (Request) place() (int, bool)   { return 2, false }
func (Key) place() (int, bool)       { return 3, true }
func (View) place() (int, bool)      { return 4, true }
func (Commit) place() (int, bool)    { return 5, false }
func (Publisher) place() (int, bool) { return 6, false }
func (Follower) place() (int, bool)  { return 7, false }
func (Derived) place() (int, bool)   { return 8, false }
func (Inner) place() (int, bool)     { return 9, false }
func (Made) place() (int, bool)      { return 10, true }
func (Leaf) place() (int, bool)      { return 11, false }
