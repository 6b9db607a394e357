package policy

import "github.com/capstan-dev/capstan/internal/document"

// StatusServiceCIDR keeps the metadata of a range, which a sender of the status may own all the same.
func (p Policy) StatusServiceCIDR(obj, old document.Value) {
	if p.since("1.32") {
		keepMetadata(obj, old)
	}
}
