package policy

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// ValidateCSINode checks the names of drivers, and that those that stay are unchanged.
func (p Policy) ValidateCSINode(obj, old document.Value) []schema.Cause {
	var c causes
	before := map[string]document.Value{}
	for _, driver := range old.At("spec", "drivers").Elements() {
		before[driver.Get("name").Text()] = driver
	}
	for _, driver := range obj.At("spec", "drivers").Elements() {
		name := driver.Get("name")
		p.driverName(&c, member(driver, "name"), name.Text())
		c.topologyKeys(driver)
		was, stays := before[name.Text()]
		switch {
		case !stays || document.Equal(driver, was) || p.on("MutableCSINodeAllocatableCount") && sameBut(driver, was, "allocatable"):
		case p.since("1.33"):
			c.InvalidAt("spec.drivers", driver, "field is immutable")
		default:
			c.InvalidAt("CSINodeDriver", driver, "field is immutable")
		}
	}
	return c.Causes
}

// topologyKeys checks the labels of the topology of a driver's volumes. Causes name the
// driver.
func (c *causes) topologyKeys(driver document.Value) {
	var keys document.Texts
	for _, key := range driver.Get("topologyKeys").Elements() {
		if isEmpty(key) {
			c.Required(driver.Path(), "")
		}
		if !keys.Add(key.Text()) {
			c.Add(schema.CauseDuplicate, driver.Path(), "Duplicate value: "+document.Shown(key))
		}
		c.FormatText(driver.Path(), key.Text(), "qualified-name")
	}
}
