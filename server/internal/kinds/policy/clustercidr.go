package policy

import (
	"github.com/capstan-dev/capstan/internal/document"
)

// CellClusterCIDRNodeSelector shows the selected nodes.
func (Policy) CellClusterCIDRNodeSelector(obj document.Value) any {
	if v := obj.At("spec", "nodeSelector"); isSet(v) {
		return string(v.AppendJSON(nil))
	}
	return "<none>"
}
