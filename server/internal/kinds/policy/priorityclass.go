package policy

import (
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// maxUserPriority is the highest priority that users can give; above it are the
// classes of the system.
const maxUserPriority = 1_000_000_000

// systemPriorities are the classes that the server itself creates.
var systemPriorities = map[string]int64{"system-cluster-critical": 2 * maxUserPriority, "system-node-critical": 2*maxUserPriority + 1000}

// CreatePriorityClass gives a class its generation, which never changes: its mutable
// fields are only descriptions.
func (Policy) CreatePriorityClass(obj document.Value) {
	obj.SetObject("metadata").SetInt("generation", 1)
}

// ValidatePriorityClass keeps users out of the range of the system.
func (Policy) ValidatePriorityClass(obj, old document.Value) []schema.Cause {
	var c causes
	if old.Exists() {
		return c.Causes
	}
	name, value := obj.At("metadata", "name").Text(), number(obj.Get("value"))
	switch known, system := systemPriorities[name]; {
	case system && value == known && !obj.Get("globalDefault").Bool():
	case strings.HasPrefix(name, "system-"):
		c.Forbidden("metadata.name", "priority class names with 'system-' prefix are reserved for system use only. error: "+name+" is not a known system priority class")
	case value > maxUserPriority:
		c.Forbidden("value", "maximum allowed value of a user defined priority is "+strconv.Itoa(maxUserPriority))
	}
	switch policy := obj.Get("preemptionPolicy"); {
	case isEmpty(policy):
		c.Required("preemptionPolicy", "")
	case !policy.Equals("PreemptLowerPriority") && !policy.Equals("Never"):
		c.NotSupported(policy, "Never", "PreemptLowerPriority")
	}
	return c.Causes
}
