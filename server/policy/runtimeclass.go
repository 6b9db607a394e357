package policy

import (
	"fmt"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// ValidateRuntimeClass checks the name of the handler, and where pods of the class
// may run.
func (Policy) ValidateRuntimeClass(obj, _ document.Value) []schema.Cause {
	var c causes
	c.formatText("handler", obj.Get("handler").Text(), "dns1123-label")
	scheduling := obj.Get("scheduling")
	c.labels(scheduling.Get("nodeSelector"))
	tolerations := scheduling.Get("tolerations")
	c.tolerations(tolerations)
	var all names
	for _, t := range tolerations.Elements() {
		if !all.add(fmt.Sprintf("%q %q %q %q", t.Get("key").Text(), t.Get("operator").Text(), t.Get("value").Text(), t.Get("effect").Text())) {
			c.duplicate(t)
		}
	}
	return c
}
