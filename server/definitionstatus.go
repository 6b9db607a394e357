package server

import (
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
)

// definitionConditions are the conditions that the server sets, in the order in
// which new ones are added.
var definitionConditions = [...]string{"NamesAccepted", "Established", "KubernetesAPIApprovalPolicyConformant"}

// write writes the decision into the status.
func (d *definitionFollower) write(obj document.Value, decided *definition) {
	status := obj.SetObject("status")
	status.Remove("acceptedNames")
	names := status.SetObject("acceptedNames")
	n := &decided.accepted
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
	for _, kind := range definitionConditions {
		if o, ok := decided.conditions[kind]; ok {
			api.Condition{Type: kind, Status: o.status, Reason: o.reason, Message: o.message}.Set(status.SetArray("conditions"), d.server.objects.Now())
		}
	}
}
