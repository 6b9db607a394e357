package policy

import (
	"path"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
)

// Files that volumes make from other objects.

// projected checks a volume of several sources. Their files must not collide.
func (c *causes) projected(v document.Value) {
	var paths names
	claim := func(path document.Value, source string) {
		if text := path.Text(); text != "" && !paths.add(text) {
			c.invalidText(v.Path(), source, "conflicting duplicate paths")
		}
	}
	for _, source := range v.Get("sources").Elements() {
		count := 0
		for _, name := range [...]string{"secret", "downwardAPI", "configMap", "serviceAccountToken"} {
			from := source.Get(name)
			if !isSet(from) {
				continue
			}
			if count++; count > 1 {
				c.forbidden(source.Path(), "may not specify more than 1 volume type")
			}
			if name == "serviceAccountToken" {
				if isEmpty(from.Get("path")) {
					c.required(member(v, "path"), "")
				}
				continue
			}
			for _, item := range from.Get("items").Elements() {
				if name == "downwardAPI" {
					c.downwardFile(from.Path(), item)
				} else {
					c.reserved(item.Get("path"))
				}
				claim(item.Get("path"), from.Get("name").Text())
			}
		}
	}
}

// items checks where the keys of a secret or a config map go.
func (c *causes) items(items document.Value) {
	for _, item := range items.Elements() {
		c.reserved(item.Get("path"))
	}
}

// downwardFile checks a file that shows a field of the pod. Its causes are
// reported at field, the volume's source.
func (c *causes) downwardFile(field string, file document.Value) {
	if p := file.Get("path"); p.Text() != "" {
		c.reservedAt(field+".path", p)
	}
	ref, resource := file.Get("fieldRef"), file.Get("resourceFieldRef")
	switch {
	case isSet(ref):
		c.fieldRef(field+".fieldRef", ref, volumeFields)
		if isSet(resource) {
			c.invalidText(field, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
		}
	case isSet(resource):
		c.resourceFieldRef(field+".resourceFieldRef", resource, true)
	default:
		c.required(field, "one of fieldRef and resourceFieldRef is required")
	}
}

// reserved checks the path of a file in a volume.
func (c *causes) reserved(v document.Value) {
	if v.Text() != "" {
		c.reservedAt(v.Path(), v)
	}
}

func (c *causes) reservedAt(field string, v document.Value) {
	c.descendingAt(field, v)
	if text := v.Text(); strings.HasPrefix(text, "..") && !strings.HasPrefix(text, "../") {
		c.invalidAt(field, v, "must not start with '..'")
	}
}

// descending checks a path that must not lead out of where it begins. An empty
// one is right.
func (c *causes) descending(v document.Value) {
	if v.Text() != "" {
		c.descendingAt(v.Path(), v)
	}
}

func (c *causes) descendingAt(field string, v document.Value) { c.descendingText(field, v.Text()) }

func (c *causes) descendingText(field, text string) {
	if path.IsAbs(text) {
		c.invalidText(field, text, "must be a relative path")
	}
	if hasBackstep(text) {
		c.invalidText(field, text, "must not contain '..'")
	}
}

// noBacksteps checks an absolute path.
func (c *causes) noBacksteps(v document.Value) {
	if hasBackstep(v.Text()) {
		c.invalid(v, "must not contain '..'")
	}
}

// hasBackstep reports whether a path has "..".
func hasBackstep(path string) bool {
	for step := range strings.SplitSeq(path, "/") {
		if step == ".." {
			return true
		}
	}
	return false
}
