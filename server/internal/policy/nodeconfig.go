package policy

import "github.com/capstan-dev/capstan/internal/document"

// Where a node says that its configuration comes from. It does not any more; what
// is still stored is checked as ever.

// configSource checks a source of a node's configuration. pinned reports whether
// it has to name one version of the object, as in status, or must not.
func (c *causes) configSource(source document.Value, pinned bool) {
	if !isSet(source) {
		return
	}
	object := source.Get("configMap")
	if !isSet(object) {
		c.invalid(source, "exactly one reference subfield must be non-nil")
		return
	}
	for _, name := range [...]string{"uid", "resourceVersion"} {
		switch v := object.Get(name); {
		case pinned && isEmpty(v):
			c.required(member(object, name), name+" must be set in status")
		case !pinned && !isEmpty(v):
			c.forbidden(v.Path(), name+" must not be set in spec")
		}
	}
	for _, f := range [...][2]string{{"namespace", "dns1123-label"}, {"name", "dns1123-subdomain"}, {"kubeletConfigKey", "config-key"}} {
		if v := object.Get(f[0]); isEmpty(v) {
			c.required(member(object, f[0]), f[0]+" must be set")
		} else {
			c.format(v, f[1])
		}
	}
}
