package policy

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Files that volumes make from other objects.

// ValidateProjectedVolumeSource checks that each element has one source, and that the
// files of the sources do not collide.
func (p Policy) ValidateProjectedVolumeSource(v document.Value) []schema.Cause {
	var c causes
	var paths document.Texts
	for _, source := range v.Get("sources").Elements() {
		more := setOf(source, "secret", "downwardAPI", "configMap", "serviceAccountToken", "clusterTrustBundle", "podCertificate") - 1
		if p.since("1.33") {
			more = min(more, 1)
		}
		for range more {
			c.Forbidden(source.Path(), "may not specify more than 1 volume type")
		}
		switch token := source.Get("serviceAccountToken"); {
		case !isSet(token):
		case isEmpty(token.Get("path")):
			c.Required(member(v, "path"), "")
		case p.since("1.30"):
			c.FormatText(member(v, "path"), token.Get("path").Text(), "file-path")
		}
		for _, name := range [...]string{"secret", "downwardAPI", "configMap"} {
			from := source.Get(name)
			for _, item := range from.Get("items").Elements() {
				if path := item.Get("path").Text(); path != "" && !paths.Add(path) {
					c.InvalidText(v.Path(), from.Get("name").Text(), "conflicting duplicate paths")
				}
			}
		}
		for _, path := range [...]document.Value{source.At("clusterTrustBundle", "path"), source.At("podCertificate", "credentialBundlePath"),
			source.At("podCertificate", "keyPath"), source.At("podCertificate", "certificateChainPath")} {
			if path.Text() != "" && !paths.Add(path.Text()) {
				c.InvalidText(v.Path(), path.Text(), "conflicting duplicate paths")
			}
		}
	}
	return c.Causes
}

// ValidateDownwardAPIVolumeFile checks a file that shows a field of the pod.
func (p Policy) ValidateDownwardAPIVolumeFile(file document.Value) []schema.Cause {
	var c causes
	ref, resource := file.Get("fieldRef"), file.Get("resourceFieldRef")
	switch {
	case isSet(ref):
		p.fieldRef(&c, ref, volumeFields)
		if isSet(resource) {
			c.InvalidText(file.Path(), "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
		}
	case isSet(resource):
		c.resourceFieldRef(resource, true)
	default:
		c.Required(file.Path(), "one of fieldRef and resourceFieldRef is required")
	}
	return c.Causes
}
