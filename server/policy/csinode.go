package policy

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// ValidateCSINode checks that drivers can be told apart, and that those which
// stay are what they were.
func (Policy) ValidateCSINode(obj, old document.Value) []schema.Cause {
	var c causes
	before := map[string]document.Value{}
	for _, driver := range old.At("spec", "drivers").Elements() {
		before[driver.Get("name").Text()] = driver
	}
	var drivers names
	for _, driver := range obj.At("spec", "drivers").Elements() {
		name := driver.Get("name")
		if !drivers.add(name.Text()) {
			c.duplicate(name)
		}
		var keys names
		for _, key := range driver.Get("topologyKeys").Elements() {
			if !keys.add(key.Text()) {
				c.add(schema.CauseDuplicate, member(driver, "topologyKeys"), "Duplicate value: "+show(key))
			}
		}
		if was, ok := before[name.Text()]; ok && !same(driver, was) {
			c.invalidAt("CSINodeDriver", driver, "field is immutable")
		}
	}
	return c
}

// CellCSINodeDrivers counts the drivers.
func (Policy) CellCSINodeDrivers(obj document.Value) any {
	return int64(obj.At("spec", "drivers").Len())
}
