package policy

import (
	"strconv"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// LocalService is the condition of a group version that this server serves itself.
var LocalService = api.Condition{Type: "Available", Status: "True", Reason: "Local", Message: "Local APIServices are always available"}

// CreateAPIService says that what this server serves itself is available.
func (p Policy) CreateAPIService(obj document.Value) {
	if isSet(obj.At("spec", "service")) {
		return
	}
	LocalService.Set(obj.SetObject("status").SetArray("conditions"), p.Now().UTC().Format(time.RFC3339))
}

// onlyName checks the name of an object that can have one name only, and what it is to
// be generated from, which therefore is always wrong.
func (c *causes) onlyName(obj document.Value, want, why string) {
	for _, field := range [...]string{"generateName", "name"} {
		if name := obj.At("metadata", field); !isEmpty(name) && !name.Equals(want) {
			c.invalidText("metadata."+field, name.Text(), why)
		}
	}
}

// ValidateAPIService checks a group version and the service behind it.
func (Policy) ValidateAPIService(obj, _ document.Value) []schema.Cause {
	var c causes
	spec := obj.Get("spec")
	group, version := spec.Get("group"), spec.Get("version")
	want := version.Text() + "." + group.Text()
	c.onlyName(obj, want, "must be `spec.version+\".\"+spec.group`: "+strconv.Quote(want))
	if !isEmpty(group) {
		c.format(group, "dns1123-subdomain")
	} else if !version.Equals("v1") {
		c.required(member(spec, "group"), "only v1 may have an empty group")
	}
	for _, condition := range obj.At("status", "conditions").Elements() {
		c.oneOf(condition, "status", "True", "False", "Unknown")
	}
	for _, problem := range document.CheckFormat("dns1035-label", version.Text()) {
		c.invalidText("spec.version", version.Text(), problem)
	}
	for _, priority := range [...]struct {
		name  string
		limit int64
	}{{"groupPriorityMinimum", 20000}, {"versionPriority", 1000}} {
		if n := number(spec.Get(priority.name)); n < 1 || n > priority.limit {
			c.invalidText(member(spec, priority.name), strconv.FormatInt(n, 10), "must be positive and at most "+strconv.FormatInt(priority.limit, 10))
		}
	}
	bundle, insecure, service := spec.Get("caBundle"), spec.Get("insecureSkipTLSVerify"), spec.Get("service")
	if !isSet(service) {
		if !isEmpty(bundle) {
			c.invalidText(member(spec, "caBundle"), "<certificates>", "local APIServices may not have a caBundle")
		}
		if insecure.Bool() {
			c.invalid(insecure, "local APIServices may not have insecureSkipTLSVerify")
		}
		return c
	}
	for _, name := range [...]string{"namespace", "name"} {
		if isEmpty(service.Get(name)) {
			c.required(member(service, name), "")
		}
	}
	if insecure.Bool() && !isEmpty(bundle) {
		c.invalid(insecure, "may not be true if caBundle is present")
	}
	return c
}

// CellAPIServiceService shows who serves the group version.
func (Policy) CellAPIServiceService(obj document.Value) any {
	service := obj.At("spec", "service")
	if !isSet(service) {
		return "Local"
	}
	return service.Get("namespace").Text() + "/" + service.Get("name").Text()
}

// CellAPIServiceAvailable shows the condition Available.
func (Policy) CellAPIServiceAvailable(obj document.Value) any {
	condition := obj.At("status", "conditions").ElementBy("type", "Available")
	switch status := condition.Get("status").Text(); {
	case !condition.Exists():
		return "Unknown"
	case status == "True":
		return status
	default:
		return status + " (" + condition.Get("reason").Text() + ")"
	}
}
