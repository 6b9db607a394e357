package policy

import (
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
)

// Names of resources in the requests of containers, in quotas and in limit ranges.
//
//	"cpu"                      standard: a short list, which differs by position
//	"hugepages-2Mi"            huge pages of a size
//	"example.com/gpu"          extended: anybody's, counted in whole numbers
//	"x.kubernetes.io/y"        native: named, but the system's own

var containerResources = []string{"cpu", "memory", "ephemeral-storage"}

// countedResources are amounts of objects.
var countedResources = []string{
	"pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "persistentvolumeclaims", "configmaps",
	"services.nodeports", "services.loadbalancers",
}

// hugePagesPrefix comes before the size of pages.
const hugePagesPrefix = "hugepages-"

func isHugePages(name string) bool { return strings.HasPrefix(name, hugePagesPrefix) }

func isContainerResource(name string) bool {
	return slices.Contains(containerResources, name) || isHugePages(name)
}

func isNative(name string) bool {
	return !strings.Contains(name, "/") || strings.Contains(name, labelDomain+"/")
}

func isExtended(name string) bool {
	return !isNative(name) && !strings.HasPrefix(name, "requests.") &&
		len(document.CheckFormat("qualified-name", "requests."+name)) == 0
}

// mayOvercommit reports whether the limit may exceed the request.
func mayOvercommit(name string) bool { return isNative(name) && !isHugePages(name) }

// containerResourceName checks the name of a resource that a container can request.
func (c *causes) containerResourceName(field, name string) {
	c.FormatText(field, name, "resource-name")
	switch {
	case !strings.Contains(name, "/"):
		if !isContainerResource(name) {
			c.InvalidText(field, name, "must be a standard resource for containers")
		}
	case !isNative(name) && !isExtended(name):
		c.InvalidText(field, name, "doesn't follow extended resource name standard")
	}
}

// resourceAmount checks an entry of amounts: not negative, and whole for counted
// resources.
func (c *causes) resourceAmount(field, name string, v document.Value) {
	if isNegative(v) {
		c.InvalidAt(field, v, "must be greater than or equal to 0")
	}
	if (slices.Contains(countedResources, name) || !isNative(name) && isExtended(name)) && !isWhole(v) {
		c.InvalidAt(field, v, "must be an integer")
	}
}

// requirements checks the requests and limits of a container.
func (c *causes) requirements(resources document.Value) {
	if !isEmpty(resources) {
		c.amounts(resources.Path, resources.Get("requests"), resources.Get("limits"))
	}
}

// amounts checks requests and limits of a container. at is the path of both.
func (c *causes) amounts(at func() string, requests, limits document.Value) {
	c.amountsNamed(at, requests, limits, (*causes).containerResourceName)
}

// amountsNamed checks requests and limits of resources whose names have a check.
func (c *causes) amountsNamed(at func() string, requests, limits document.Value, checkName func(c *causes, field, name string)) {
	hugePages, others := false, false
	check := func(list string, name string, v document.Value) {
		hugePages = hugePages || isHugePages(name)
		others = others || name == "cpu" || name == "memory"
		if (name == "cpu" || name == "memory") && !isNegative(v) {
			return // other causes need their path
		}
		field := at() + "." + list + "[" + name + "]"
		checkName(c, field, name)
		c.resourceAmount(field, name, v)
		if isHugePages(name) && !isMultiple(v, strings.TrimPrefix(name, hugePagesPrefix)) {
			c.InvalidAt(field, v, "is not a positive multiple of the page size of "+name)
		}
	}
	for name, v := range limits.Members() {
		check("limits", name, v)
	}
	for name, request := range requests.Members() {
		check("requests", name, request)
		limit := limits.Get(name)
		switch {
		case !limit.Exists() && !mayOvercommit(name):
			c.Required(at()+".limits", "Limit must be set for non overcommitable resources")
		case !limit.Exists():
		case !mayOvercommit(name) && compare(request, limit) != 0:
			c.InvalidAt(at()+".requests", request, "must be equal to "+name+" limit")
		case compare(request, limit) > 0:
			c.InvalidAt(at()+".requests", request, "must be less than or equal to "+name+" limit")
		}
	}
	if hugePages && !others {
		c.Forbidden(at(), "HugePages require cpu or memory")
	}
}
