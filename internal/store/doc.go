// Package store keeps versioned bytes. It knows no kinds: a key names an
// object, a value is what clients receive, a revision orders all changes.
//
// The interface is split by power: Snapshots reads, Transactions writes, Feed
// follows changes, Store is all of them. The engine in this package keeps
// everything in Pebble; internal/storetest holds the acceptance suite that every
// engine passes.
//
// # Contents of the tree
//
// After a was created (revision 1), b created (2), a updated (3) and b deleted
// (4), the engine's tree holds, in its order,
//
//	h a 0x00 fffffffffffffffc      a's header of revision 3
//	h a 0x00 fffffffffffffffe      a's header of revision 1
//	h b 0x00 fffffffffffffffb t    empty, as b was as before but for its revision
//	h b 0x00 fffffffffffffffd      b's header of revision 2
//	l 0000000000000001             create, before 0, a
//	l 0000000000000002             create, before 0, b
//	l 0000000000000003             update, before 1, a
//	l 0000000000000004             delete, before 2, b
//	m cluster                      the store's identity
//	m format                       capstan-store-2
//	o a 0x00 fffffffffffffffc      a's value of revision 3
//	o a 0x00 fffffffffffffffe      a's value of revision 1
//	o b 0x00 fffffffffffffffb t    where the deletion's revision is in b's final state
//	o b 0x00 fffffffffffffffd      b's value of revision 2
//	s 183f2a6c00000000             at that time the newest revision was 4
//
// A version's key is the object's key, a zero byte and the revision with its bits
// inverted (eight bytes, shown in hexadecimal), so that the newest version comes first
// and a view at r begins at the first version at or after ^r. A letter t marks the
// version that a deletion wrote, which has the final state as a value only where that
// differs from the version before. A value is uvarint(len(Meta)) Meta Body. The header,
// Meta, is also stored on its own, so that counting and reading headers do not read the
// bodies of a large collection. Log records name the previous revision. With that the
// feed finds the state before a change, and trimming deletes it: see trimmer for the
// removal of history, publisher for how writes become visible.
//
// # Decisions
//
// A failing disk freezes the store. After the first failed write of the log or the manifest nothing
// is written any more and nothing acknowledged; reads go on until a restart. On a full disk deletes
// go on from a reserve.
//
// A missing log is noticed. Pebble opens with the logs that it finds. The names of the logs that
// may hold writes are kept next to them (logs.go), so that a start without one of them is refused
// instead of losing acknowledged writes.
//
// History has a time of its own, which only advances (advance in trim.go). A clock that is set,
// forward or back, neither trims too much nor stops trimming, and is logged.
//
// No lock guards several keys of a decision. A write names the revisions of other keys by which it
// was decided, and the store commits it only while they stand (seen.go): a lock of the process does
// not reach other servers, and locks that are taken in no order stop for ever. The engine remembers
// by hash when keys were last written, so that a commit compares in nanoseconds and without reading
// under its lock.
package store
