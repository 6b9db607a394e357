package custom

import (
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
)

// conditionTypes are the conditions that the follower sets, in the order in which new
// ones are added.
var conditionTypes = [...]string{"NamesAccepted", "Established", "NonStructuralSchema", "KubernetesAPIApprovalPolicyConformant"}

// outcome is a condition without its type and time.
type outcome struct{ status, reason, message string }

// set writes the outcome as a condition of an object.
func (o outcome) set(obj document.Value, kind, now string) {
	api.Condition{Type: kind, Status: o.status, Reason: o.reason, Message: o.message}.Set(obj.SetObject("status").SetArray("conditions"), now)
}

// write writes the decision into the status.
func (d *definition) write(obj document.Value, now string) {
	status := obj.SetObject("status")
	status.Remove("acceptedNames")
	names := status.SetObject("acceptedNames")
	n := &d.names
	for _, s := range [...]struct{ name, text string }{{"plural", n.plural}, {"singular", n.singular}, {"kind", n.kind}, {"listKind", n.listKind}} {
		if names.SetString(s.name, s.text); s.text == "" && (s.name == "singular" || s.name == "listKind") {
			names.Remove(s.name)
		}
	}
	for _, l := range [...]struct {
		name string
		list []string
	}{{"shortNames", n.shortNames}, {"categories", n.categories}} {
		for _, s := range l.list {
			names.SetArray(l.name).AppendString(s)
		}
	}
	for _, kind := range conditionTypes {
		if o, ok := d.conditions[kind]; ok {
			o.set(obj, kind, now)
		}
	}
}
