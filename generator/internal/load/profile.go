package load

import (
	"regexp"

	"github.com/capstan-dev/capstan/generator/internal/model"
)

var (
	typeName   = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
	domainName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
)

// profile reads the names that an installation may change. Other documents
// write <groupSuffix>, <labelDomain>, <mediaTypeWord> and <extensionPrefix> for them.
func (r *reader) profile(name string) (p model.Profile) {
	if n, _, ok := r.file(name); ok && r.wellFormed(n, "profile") {
		r.object(n, r.profileKeys(&p))
	}
	return p
}

func (r *reader) profileKeys(p *model.Profile) map[string]func(node) {
	return map[string]func(node){"groupSuffix": r.text(&p.GroupSuffix), "labelDomain": r.text(&p.LabelDomain), "mediaTypeWord": r.text(&p.MediaTypeWord),
		"extensionPrefix": r.text(&p.ExtensionPrefix)}
}
