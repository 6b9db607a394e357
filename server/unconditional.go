package server

import (
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// checkConditional refuses what replaces an object that exists without the version that
// its resource demands.
func checkConditional(t target, meta document.Value) error {
	if v := meta.Get("resourceVersion").Text(); v != "" && v != "0" || !t.resource.Storage().ConditionalUpdate {
		return nil
	}
	return api.Invalid(t.resource.GV.Group, t.resource.Plural, t.name, []schema.Cause{{Reason: schema.CauseInvalid, Field: "metadata.resourceVersion",
		Message: "Invalid value: 0x0: must be specified for an update"}})
}
