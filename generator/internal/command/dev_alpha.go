package command

import (
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
)

// alphaOn are the flags that turn on the alpha versions of the documents, before those of the user, which win: a document that is
// followed shall be seen.
func alphaOn(m *model.Model) (args []string) {
	if m.Module == "" {
		return nil
	}
	for _, gv := range ownVersions(m) {
		if strings.Contains(gv.Version, "alpha") {
			args = append(args, "--runtime-config="+gv.Group+"/"+gv.Version+"=true")
		}
	}
	return args
}
