package api

// Check is one validation in an update. A mistake is reported once per check that finds
// it, in their order. All updates first check the metadata and its changes; the rest
// depends on the kind.
type Check uint8

// The checks.
const (
	CheckMetadata       Check = iota // the metadata
	CheckMetadataChange              // the changes of the metadata
	CheckCreated                     // the object, like a new one
	CheckObject                      // the object; without CheckChange its changes too, at the last such check
	CheckChange                      // the changes of the object; at the end if the list has neither this nor CheckObject
)

// The checks of kinds that declare none.
var (
	UsualChecks       = []Check{CheckMetadataChange, CheckMetadata, CheckObject}
	UsualStatusChecks = []Check{CheckMetadataChange, CheckObject}
)
