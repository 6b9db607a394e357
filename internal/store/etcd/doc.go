// Package etcd is the store of several servers on one etcd. Objects lie there in the form in which
// kube-apiserver keeps them, so that servers of both kinds can work on one etcd.
//
// Each server follows etcd into a replica, an embedded store whose revisions are etcd's. All reads
// are served from the replica. A write is evaluated on the replica's state, and becomes one
// transaction of etcd, which compares everything that the write depends on: the revision of its key
// and its read set. A transaction whose comparisons fail is evaluated again on the newer state. A
// write is acknowledged when the replica has it: clients read their own writes.
//
// # Reads of the newest state
//
// Other servers write too, so the replica may lack a write that was acknowledged to somebody before
// a read began. A read of the newest state asks etcd for its revision and waits until the replica
// has it. One question serves all reads that begin while the question before is under way
// (newest.go). A function of a write runs without the question: the comparisons of the transaction
// replace it. Its refusal, or its decision to write nothing, is compared with nothing. So it runs
// again on a state that is known to be new before it counts.
//
// # Members that hang
//
// A member of etcd that hangs keeps its connections: whatever the client sends it has no answer, until
// the client's keepalive finds out. So where etcd has several members a question without an answer is
// asked again, which the client does at another member, and the members that do not answer are left
// out until they do (members.go). A write is not repeated: it may have been made, or may be made when
// the member goes on. The watch begins anew when a member is left out, or says nothing though a read
// waits (follow.go, stream.go).
//
// # Values that cannot be read
//
// A value that cannot be read has a note in the replica, and fails reads of its key alone
// (unreadable.go). One whose key management service is away stops the replica for a time, and is read
// later (heal.go).
//
// # The replica is a cache
//
// Its folder may be deleted. With it a server that starts asks etcd only for what it missed: the changes
// since its stop, or since up to a minute before it was killed, as the replica writes no log. If etcd
// has compacted that away, the replica takes over the differences (catchup.go): it shows them as
// changes at the revisions that they have, or for deletions at the last moment that is possible.
// History before that is trimmed, since it lacks states in between.
package etcd
