package addresses

import "github.com/capstan-dev/capstan/internal/allocate"

// Repair frees items that no service has, and finds services that have items they should
// not: they are logged at once, and returned if the next repair finds them again.
func (v *Services) Repair() (lasting []allocate.Conflict) {
	stored := map[string][]allocate.Item{}
	for key, items := range v.View().Under("") {
		stored[key] = *items
	}
	freed, wrong := v.all.Repair(stored)
	for _, f := range freed {
		v.log.Warn("freed what no service has", "what", f.Item.String(), "service", f.Owner)
	}
	seen := make(map[allocate.Conflict]int, len(wrong))
	for _, w := range wrong {
		seen[w] = v.seen[w] + 1
		switch seen[w] {
		case 1:
			v.complain([]allocate.Conflict{w})
		case 2:
			lasting = append(lasting, w)
		}
	}
	v.seen = seen
	return lasting
}
