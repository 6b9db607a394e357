package policy

import (
	"strconv"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server/internal/kinds"
)

// CreateAPIService sets the condition that a group version of this server is available.
func (p Policy) CreateAPIService(obj document.Value) {
	if isSet(obj.At("spec", "service")) {
		return
	}
	kinds.LocalService.Set(obj.SetObject("status").SetArray("conditions"), p.now())
}

// onlyName checks the name of an object that can have one name only, and its
// generateName, which therefore is always wrong. One that no object can have has a cause
// already.
func (c *causes) onlyName(obj document.Value, want, why string) {
	for _, field := range [...]string{"generateName", "name"} {
		if name := obj.At("metadata", field); !isEmpty(name) && !name.Equals(want) && len(document.CheckFormat("path-segment", name.Text())) == 0 {
			c.InvalidText("metadata."+field, name.Text(), why)
		}
	}
}

// ValidateAPIService checks the name of a group version.
func (Policy) ValidateAPIService(obj, _ document.Value) []schema.Cause {
	var c causes
	want := obj.At("spec", "version").Text() + "." + obj.At("spec", "group").Text()
	c.onlyName(obj, want, "must be `spec.version+\".\"+spec.group`: "+strconv.Quote(want))
	return c.Causes
}
