package policy

import (
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// ValidateEnvVar checks where an environment variable gets its value from.
func (Policy) ValidateEnvVar(env document.Value) []schema.Cause {
	var c causes
	from := env.Get("valueFrom")
	if !isSet(from) {
		return nil
	}
	sources := 0
	for _, name := range [...]string{"fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef"} {
		if isSet(from.Get(name)) {
			sources++
		}
	}
	if ref := from.Get("fieldRef"); isSet(ref) {
		c.fieldRef(ref.Path(), ref, envFields)
	}
	if ref := from.Get("resourceFieldRef"); isSet(ref) {
		c.resourceFieldRef(ref.Path(), ref, false)
	}
	switch {
	case sources == 0:
		c.invalidText(from.Path(), "", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`")
	case env.Get("value").Text() != "":
		c.invalidText(from.Path(), "", "may not be specified when `value` is not empty")
	case sources > 1:
		c.invalidText(from.Path(), "", "may not have more than one field specified at a time")
	}
	return c
}

// Fields of a pod that its containers can see: as variables, as files, and all
// that the names are known of.
var (
	envFields = []string{"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
		"status.hostIP", "status.podIP", "status.podIPs"}
	volumeFields = []string{"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"}
	podFields    = []string{"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid",
		"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
		"status.hostIP", "status.phase", "status.podIP", "status.podIPs"}
)

// fieldRef checks a reference to a field of the pod itself. field is where the
// reference is reported, allowed what may be referred to.
func (c *causes) fieldRef(field string, ref document.Value, allowed []string) {
	if version := ref.Get("apiVersion"); !version.Equals("v1") {
		if isEmpty(version) {
			c.required(field+".apiVersion", "")
		} else {
			c.invalidAt(field+".fieldPath", ref.Get("fieldPath"), "error converting fieldPath: unsupported pod version: "+version.Text())
		}
		return
	}
	path := ref.Get("fieldPath").Text()
	if path == "" {
		return // required by the schema
	}
	name, subscript, subscripted := cutSubscript(path)
	switch {
	case subscripted && name == "metadata.annotations":
		c.subscript(field, strings.ToLower(subscript))
	case subscripted && name == "metadata.labels":
		c.subscript(field, subscript)
	case subscripted && slices.Contains(podFields, name):
		c.invalidText(field, name, "does not support subscript")
	case subscripted || !slices.Contains(podFields, name):
		c.invalidText(field+".fieldPath", path, "error converting fieldPath: field label not supported: "+path)
	case !slices.Contains(allowed, name):
		c.notSupportedAt(field+".fieldPath", ref.Get("fieldPath"), allowed...)
	}
}

func (c *causes) subscript(field, name string) { c.formatText(field, name, "qualified-name") }

// cutSubscript splits "metadata.labels['app']".
func cutSubscript(path string) (name, subscript string, ok bool) {
	rest, found := strings.CutSuffix(path, "']")
	if !found {
		return path, "", false
	}
	name, subscript, ok = strings.Cut(rest, "['")
	if !ok || name == "" {
		return path, "", false
	}
	return name, subscript, true
}

// shownResources are the resources of a container that it can see.
var shownResources = []string{"limits.cpu", "limits.ephemeral-storage", "limits.memory",
	"requests.cpu", "requests.ephemeral-storage", "requests.memory"}

// Units in which resources can be shown.
var (
	cpuUnits  = []string{"1m", "1"}
	sizeUnits = []string{"1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"}
)

// resourceFieldRef checks a reference to a container's resources, at field. In
// files it has to say which container is meant.
func (c *causes) resourceFieldRef(field string, ref document.Value, inFile bool) {
	name := ref.Get("resource").Text()
	huge := strings.HasPrefix(name, "limits.hugepages-") || strings.HasPrefix(name, "requests.hugepages-")
	switch {
	case inFile && isEmpty(ref.Get("containerName")):
		c.required(field+".containerName", "")
	case name == "":
		c.required(field+".resource", "")
	case !huge && !slices.Contains(shownResources, name):
		c.notSupportedAt(field+".resource", ref.Get("resource"), shownResources...)
	}
	units := sizeUnits
	switch {
	case strings.HasSuffix(name, "s.cpu"):
		units = cpuUnits
	case !huge && !slices.Contains(shownResources, name):
		return
	}
	if divisor := ref.Get("divisor"); !isZero(divisor) && !slices.Contains(units, divisor.Text()) {
		c.invalidText(field+".divisor", name, "only the divisors "+strings.Join(units, ", ")+" are supported for this resource")
	}
}
