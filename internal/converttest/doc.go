// Package converttest is for tests: it takes drawn objects through the conversions between the versions of a kind, both ways, and finds
// fields that do not come back as they were, and fields that no object carried there and back.
package converttest
