package policy

import (
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// maxDriverName bounds the name of a storage driver, in bytes.
const maxDriverName = 63

// DefaultCSIDriverSpec turns labels off by default.
func (p Policy) DefaultCSIDriverSpec(spec document.Value) {
	if p.on("SELinuxMountReadWriteOncePod") && !isSet(spec.Get("seLinuxMount")) {
		spec.SetBool("seLinuxMount", false)
	}
}

// UpdateCSIDriver counts the changes of members that may change without notice to the
// driver.
func (Policy) UpdateCSIDriver(obj, old document.Value) {
	if sameMembers(obj.Get("spec"), old.Get("spec"), "tokenRequests", "requiresRepublish", "seLinuxMount") {
		return
	}
	obj.SetObject("metadata").SetInt("generation", number(old.At("metadata", "generation"))+1)
}

// sameMembers reports whether two objects agree in the named members.
func sameMembers(a, b document.Value, names ...string) bool {
	for _, name := range names {
		if !document.Equal(a.Get(name), b.Get(name)) {
			return false
		}
	}
	return true
}

// driverName checks the name of a storage driver, which may be missing.
func (c *causes) driverName(field, name string) {
	if name == "" {
		c.Required(field, "")
	}
	if len(name) > maxDriverName {
		c.TooLong(field, maxDriverName)
	}
	for _, problem := range document.CheckFormat("dns1123-subdomain", strings.ToLower(name)) {
		c.InvalidText(field, name, problem)
	}
}

// leastExpiration is the shortest lifetime of a token, in seconds.
const leastExpiration = 600

// ValidateCSIDriver checks the token requests of the driver: once more with the immutable
// members.
func (Policy) ValidateCSIDriver(obj, old document.Value) []schema.Cause {
	var c causes
	c.tokenRequests(obj.At("spec", "tokenRequests"))
	if first := len(c.Causes); first > 0 && old.Exists() && !document.Equal(obj, old) {
		c.tokenRequests(obj.At("spec", "tokenRequests"))
		c.PlaceAt(first, "spec")
	}
	return c.Causes
}

// tokenRequests checks that no audience gets two tokens, and their lifetimes.
func (c *causes) tokenRequests(list document.Value) {
	var audiences document.Texts
	for _, request := range list.Elements() {
		if audience := request.Get("audience"); !audiences.Add(audience.Text()) {
			c.Add(schema.CauseDuplicate, member(request, "audience"), "Duplicate value: "+strconv.Quote(audience.Text()))
			continue
		}
		switch seconds := request.Get("expirationSeconds"); {
		case !isSet(seconds):
		case number(seconds) < leastExpiration:
			c.Invalid(seconds, "may not specify a duration less than 10 minutes")
		case number(seconds) > 1<<32:
			c.Invalid(seconds, "may not specify a duration larger than 2^32 seconds")
		}
	}
}
