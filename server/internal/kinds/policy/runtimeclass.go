package policy

import (
	"fmt"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// ValidateRuntimeClass checks the name of the handler, the overhead of pods, and their
// scheduling.
func (p Policy) ValidateRuntimeClass(obj, _ document.Value) []schema.Cause {
	var c causes
	if handler := obj.Get("handler").Text(); handler == "" && p.since("1.36") {
		c.Required("handler", "")
	} else {
		c.FormatText("handler", handler, "dns1123-label")
	}
	c.amounts(func() string { return "overhead" }, document.Value{}, obj.At("overhead", "podFixed"))
	scheduling := obj.Get("scheduling")
	var all document.Texts
	for i, t := range scheduling.Get("tolerations").Elements() {
		if !all.Add(fmt.Sprintf("%q %q %q %q", t.Get("key").Text(), t.Get("operator").Text(), t.Get("value").Text(), t.Get("effect").Text())) {
			c.Add(schema.CauseDuplicate, element(member(scheduling, "tolerations"), i), "Duplicate value: "+document.Shown(t))
		}
	}
	return c.Causes
}
