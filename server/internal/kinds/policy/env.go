package policy

import (
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// ValidateEnvVar checks the source of an environment variable's value.
func (p Policy) ValidateEnvVar(env document.Value) []schema.Cause {
	var c causes
	from := env.Get("valueFrom")
	if !isSet(from) {
		return nil
	}
	if ref := from.Get("fieldRef"); isSet(ref) {
		fields := envFields
		if p.on("PodHostIPs") {
			fields = laterEnvFields
		}
		p.fieldRef(&c, ref, fields)
	}
	if ref := from.Get("resourceFieldRef"); isSet(ref) {
		c.resourceFieldRef(ref, false)
	}
	switch sources := setOf(from, "fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"); {
	case sources == 0:
		c.InvalidText(from.Path(), "", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`")
	case env.Get("value").Text() != "":
		c.InvalidText(from.Path(), "", "may not be specified when `value` is not empty")
	case sources > 1:
		c.InvalidText(from.Path(), "", "may not have more than one field specified at a time")
	}
	return c.Causes
}

// Fields of a pod that its containers can see: as variables, as files, and all known
// ones.
var (
	envFields = []string{"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
		"status.hostIP", "status.podIP", "status.podIPs"}
	laterEnvFields = []string{"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
		"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"}
	volumeFields = []string{"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"}
	podFields    = []string{"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid",
		"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
		"status.hostIP", "status.phase", "status.podIP", "status.podIPs"}
)

// fieldRef checks a reference to a field of the pod itself, of those that are allowed.
func (p Policy) fieldRef(c *causes, ref document.Value, allowed []string) {
	field := ref.Get("fieldPath")
	if version := ref.Get("apiVersion"); isEmpty(version) {
		c.Required(member(ref, "apiVersion"), "")
		return
	} else if !version.Equals("v1") {
		c.InvalidAt(member(ref, "fieldPath"), field, "error converting fieldPath: unsupported pod version: "+version.Text())
		return
	}
	name, subscript, subscripted := cutSubscript(field.Text())
	known := slices.Contains(podFields, name) || name == "status.hostIPs" && p.on("PodHostIPs")
	switch {
	case name == "": // required by the schema
	case subscripted && name == "metadata.annotations":
		c.FormatText(ref.Path(), strings.ToLower(subscript), "qualified-name")
	case subscripted && name == "metadata.labels":
		c.FormatText(ref.Path(), subscript, "qualified-name")
	case subscripted && known:
		c.InvalidText(ref.Path(), name, "does not support subscript")
	case subscripted || !known:
		c.Invalid(field, "error converting fieldPath: field label not supported: "+field.Text())
	case !slices.Contains(allowed, name):
		c.NotSupported(field, allowed...)
	}
}

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

// resourceFieldRef checks a reference to a container's resources. In files it has to name
// the container.
func (c *causes) resourceFieldRef(ref document.Value, inFile bool) {
	resource := ref.Get("resource")
	name := resource.Text()
	huge := strings.HasPrefix(name, "limits.hugepages-") || strings.HasPrefix(name, "requests.hugepages-")
	switch {
	case inFile && isEmpty(ref.Get("containerName")):
		c.Required(member(ref, "containerName"), "")
	case name == "":
		c.Required(member(ref, "resource"), "")
	case !huge && !slices.Contains(shownResources, name):
		c.NotSupported(resource, shownResources...)
	}
	units := sizeUnits
	switch {
	case strings.HasSuffix(name, "s.cpu"):
		units = cpuUnits
	case !huge && !slices.Contains(shownResources, name):
		return
	}
	if divisor := ref.Get("divisor"); !isZero(divisor) && !slices.Contains(units, divisor.Text()) {
		c.InvalidText(member(ref, "divisor"), name, "only the divisors "+strings.Join(units, ", ")+" are supported for this resource")
	}
}
