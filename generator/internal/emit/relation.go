package emit

import (
	"fmt"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
)

// RelationsPart lists the fields of a row about other kinds, as Go source. References are those of the stored version.
func (r catalogResource) RelationsPart() string {
	var references, reads []string
	if r.StoredAs == nil {
		for i := range r.References {
			references = append(references, referenceLiteral(&r.References[i]))
		}
	}
	for _, read := range r.Reads {
		reads = append(reads, fmt.Sprintf("{GroupResource: %s, Kind: %q, Own: %t}", groupResourceLiteral(read.To), read.To.Kind, read.Own))
	}
	return fields{}.is("References", listLiteral("api.Reference", references)).is("Reads", listLiteral("api.ReadKind", reads)).
		yes("Listed", r.Listed).yes("Restricted", r.Restricted).text()
}

func referenceLiteral(r *model.Reference) string {
	return fmt.Sprintf("{Path: %#v, GroupResource: %s, Kind: %q, Missing: %q, OnDelete: %q}", r.Path,
		groupResourceLiteral(r.To), r.To.Kind, r.OnMissing, r.OnDelete)
}

func groupResourceLiteral(to *model.Resource) string {
	return fmt.Sprintf("api.GroupResource{Group: %q, Resource: %q}", to.GV.Group, to.Plural)
}

// listLiteral is a list as Go source, "" for an empty one.
func listLiteral(of string, elements []string) string {
	if len(elements) == 0 {
		return ""
	}
	return "[]" + of + "{" + strings.Join(elements, ", ") + "}"
}
