package server

import (
	"slices"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// conditional are the resources of which a PUT must say what version it replaces, as
// in 1.25. All others may be replaced whatever they are.
var conditional = []string{"apiservices", "csidrivers", "csinodes", "csistoragecapacities", "customresourcedefinitions", "leases",
	"mutatingwebhookconfigurations", "poddisruptionbudgets", "runtimeclasses", "storageversions", "validatingwebhookconfigurations", "volumeattachments"}

// checkConditional refuses what replaces an object that exists without the version that
// its resource demands.
func checkConditional(t target, meta document.Value) error {
	if v := meta.Get("resourceVersion").Text(); v != "" && v != "0" || !slices.Contains(conditional, t.resource.Plural) {
		return nil
	}
	return api.Invalid(t.resource.GV.Group, t.resource.Plural, t.name, []schema.Cause{{Reason: schema.CauseInvalid, Field: "metadata.resourceVersion",
		Message: "Invalid value: 0x0: must be specified for an update"}})
}
