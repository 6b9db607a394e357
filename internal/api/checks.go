package api

// Check is one look of an update at a part of an object. What is wrong with it is
// told as often as there are looks, in their order. All updates look at the
// metadata and at what has changed of it first; the rest is up to the kind.
type Check uint8

// The looks that there are.
const (
	CheckMetadata       Check = iota // the metadata
	CheckMetadataChange              // what has changed of the metadata
	CheckCreated                     // the object, as if it was new
	CheckObject                      // the object; without CheckChange, what has changed of it too at the last one
	CheckChange                      // what has changed of the object; at the end where there is neither this nor CheckObject
)

// What kinds do that say nothing else.
var (
	UsualChecks       = []Check{CheckMetadataChange, CheckMetadata, CheckObject}
	UsualStatusChecks = []Check{CheckMetadataChange, CheckObject}
)
