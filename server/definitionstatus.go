package server

import "github.com/capstan-dev/capstan/internal/document"

// definitionConditions are the conditions that the server sets, in the order in
// which new ones are added.
var definitionConditions = [...]string{"NamesAccepted", "Established", "KubernetesAPIApprovalPolicyConformant"}

// write puts what was decided into the status.
func (d *definitions) write(obj document.Value, decided *definition) {
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
			setCondition(status.SetArray("conditions"), kind, o, d.server.now())
		}
	}
}

// setCondition makes a list of conditions say the outcome. The time is that at which
// the status last changed.
func setCondition(conditions document.Value, kind string, o outcome, now string) {
	var c document.Value
	for _, have := range conditions.Elements() {
		if have.Get("type").Equals(kind) {
			c = have
		}
	}
	if !c.Exists() {
		c = conditions.AppendObject()
		c.SetString("type", kind)
	}
	if !c.Get("status").Equals(o.status) {
		c.SetString("status", o.status)
		c.SetString("lastTransitionTime", now)
	}
	c.SetString("reason", o.reason)
	c.SetString("message", o.message)
}

// holdDefinition makes a definition that is to be deleted wait until its objects are
// gone, and says so.
func (s *Server) holdDefinition(obj document.Value) {
	if finalizers := obj.Get("metadata").SetArray("finalizers"); !hasText(finalizers, definitionFinalizer) {
		finalizers.AppendString(definitionFinalizer)
	}
	setCondition(obj.SetObject("status").SetArray("conditions"), "Terminating",
		outcome{"True", "InstanceDeletionPending", "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"}, s.now())
}

func hasText(list document.Value, text string) bool {
	for _, v := range list.Elements() {
		if v.Equals(text) {
			return true
		}
	}
	return false
}
