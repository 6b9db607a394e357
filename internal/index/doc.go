// Package index keeps the headers of objects (store.Entry.Meta) in memory, in key order,
// so that a list with selectors finds its objects without reading all the others. It
// holds only resources that are requested, and only as many as fit; a caller that gets no
// view scans the store.
//
// # Decisions
//
// The room for headers is bounded. A few bits of each header exclude most objects that a selector
// does not match, so that only matching objects are read.
package index
