package policy

import "github.com/capstan-dev/capstan/internal/document"

// StatusPodCertificateRequest keeps the metadata of a request, which a sender of the status may own all the same.
func (Policy) StatusPodCertificateRequest(obj, old document.Value) { keepMetadata(obj, old) }
