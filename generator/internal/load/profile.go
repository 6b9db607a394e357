package load

import (
	"regexp"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
)

var (
	typeName   = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
	domainName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	extension  = regexp.MustCompile(`^x-([a-z0-9]+-)+$`)
)

// profile reads the names that an installation may change. Other documents
// write <groupSuffix>, <labelDomain>, <mediaTypeWord> and <extensionPrefix> for them.
func (r *reader) profile(name string) model.Profile {
	var p model.Profile
	n, _, ok := r.file(name)
	if !ok {
		return p
	}
	fields := map[string]*string{"groupSuffix": &p.GroupSuffix, "labelDomain": &p.LabelDomain, "mediaTypeWord": &p.MediaTypeWord,
		"extensionPrefix": &p.ExtensionPrefix}
	set := map[string]func(node){}
	for name, to := range fields {
		pattern, fix := domainName, "write a domain name in small letters"
		if name == "extensionPrefix" {
			pattern, fix = extension, `write something like "x-kubernetes-"`
		}
		set[name] = func(n node) {
			if r.text(to)(n); *to != "" && !pattern.MatchString(*to) {
				r.fail(n.pos(), fix, "%s cannot be %q", name, *to)
			}
		}
	}
	r.object(n, "the profile", set)
	for _, name := range sortedKeys(fields) {
		if *fields[name] == "" {
			r.fail(n.pos(), "add it", "the profile does not say %s", name)
		}
	}
	if strings.Contains(p.MediaTypeWord, ".") {
		r.fail(n.pos(), "write one word", "mediaTypeWord cannot be %q", p.MediaTypeWord)
	}
	return p
}
