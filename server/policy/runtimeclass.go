package policy

import (
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
	c.tolerations(scheduling.Get("tolerations"))
	return c
}
