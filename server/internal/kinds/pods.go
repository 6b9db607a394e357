package kinds

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/quantity"
)

// BestEffort reports whether no container of a pod's spec requests or limits cpu or memory.
// The status says so too, but only after the pod was prepared for its storage.
func BestEffort(spec document.Value) bool {
	for _, list := range [...]string{"containers", "initContainers"} {
		for _, c := range spec.Get(list).Elements() {
			for _, member := range [...]string{"requests", "limits"} {
				for _, name := range [...]string{"cpu", "memory"} {
					if q, err := quantity.Parse(c.At("resources", member, name).Text()); err == nil && q.Sign() > 0 {
						return false
					}
				}
			}
		}
	}
	return true
}
