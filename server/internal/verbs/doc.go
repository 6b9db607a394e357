// Package verbs holds the API's verbs for stored objects: get, list, watch, create,
// update, patch, apply and delete.
//
// # Decisions
//
// A PUT of a missing object creates the object only when the body names neither uid nor
// resourceVersion: a late controller must not bring back a deleted object.
//
// A watch holds no reader of the store while it sends. Its initial state is read page by page, so
// that a slow client keeps no old versions alive.
//
// A list in the binary form begins with its length. The size of an object is noted whenever the
// object is encoded, for a watch too, so the length of a list is a scan of headers: 18 ms of CPU
// for 100,000 pods, and the list is sent while it is read. Where the size of an object is not
// known, as after a start, the list is gathered while there is room (--list-memory-bytes), and read
// twice when there is none.
//
// The token of a page carries the revision, the key, and the number of objects from there on, which
// only the first page counts. A MAC protects the token, and its key is in the store: a token
// outlives a restart, and a token that was edited or belongs to another collection is refused.
package verbs
