package policy

import (
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// ValidateStorageVersion checks that the name is that of a group and a resource, that
// servers can read the version that they store, and that the common version is one.
func (Policy) ValidateStorageVersion(obj, _ document.Value) []schema.Cause {
	var c causes
	if name := obj.At("metadata", "name").Text(); name != "" && !strings.Contains(name, ".") {
		c.InvalidText("metadata.name", name, "name must be in the form of <group>.<resource>")
	}
	status := obj.Get("status")
	common, agree := "", true
	for i, server := range status.Get("storageVersions").Elements() {
		stores := server.Get("encodingVersion").Text()
		if i == 0 {
			common = stores
		}
		agree = agree && stores == common
		reads := false
		for _, v := range server.Get("decodableVersions").Elements() {
			reads = reads || v.Equals(stores)
		}
		if !reads {
			c.InvalidAt(member(server, "decodableVersions"), server.Get("decodableVersions"), "decodableVersions must include encodingVersion "+stores)
		}
	}
	said := status.Get("commonEncodingVersion")
	switch {
	case (!agree || common == "") && isSet(said):
		c.Invalid(said, "should be nil if servers do not agree on the version, or if there is no server reporting the supported versions yet")
	case agree && common != "" && !said.Equals(common):
		c.InvalidAt("status.commonEncodingVersion", said, "the common encoding version is "+common)
	}
	return c.Causes
}
