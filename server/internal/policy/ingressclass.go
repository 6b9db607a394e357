package policy

import "github.com/capstan-dev/capstan/internal/document"

// CellIngressClassParameters names the parameters: "Kind.group/name".
func (Policy) CellIngressClassParameters(obj document.Value) any {
	parameters := obj.At("spec", "parameters")
	if !isSet(parameters) {
		return none
	}
	text := parameters.Get("kind").Text()
	if group := parameters.Get("apiGroup"); isSet(group) {
		text += "." + group.Text()
	}
	return text + "/" + parameters.Get("name").Text()
}
