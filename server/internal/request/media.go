package request

import (
	"net/http"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
)

// The media types of patches.
const (
	JSONPatch      = "application/json-patch+json"
	MergePatch     = "application/merge-patch+json"
	StrategicPatch = "application/strategic-merge-patch+json"
	applyPatch     = "application/apply-patch+yaml"
	applyCBOR      = "application/apply-patch+cbor" // in releases that have it
)

// Media is the media type of the body, without parameters.
func (r *Request) Media() string {
	media, _, _ := strings.Cut(r.HTTP.Header.Get("Content-Type"), ";")
	return strings.TrimSpace(media)
}

// Applies reports whether the request is a server-side apply.
func (r *Request) Applies() bool {
	if r.HTTP.Method != http.MethodPatch {
		return false
	}
	media := r.Media()
	return media == applyPatch || r.cbor && media == applyCBOR
}

// patchable refuses media types that are not of a patch.
func (r *Request) patchable() error {
	if r.HTTP.Method != http.MethodPatch || r.Target.Row == nil || r.Target.Connects() {
		return nil
	}
	known := []string{JSONPatch, MergePatch, StrategicPatch, applyPatch}
	if r.Target.Row.Definition != nil {
		known = []string{JSONPatch, MergePatch, applyPatch}
		r.inCBOR = r.cbor // unlike for built-in kinds, where this comes before the negotiation
	}
	if r.cbor {
		known = append(known, applyCBOR)
	}
	if slices.Contains(known, r.Media()) {
		return nil
	}
	err := api.UnsupportedMediaType(known)
	err.HasDetails = true
	return err
}
