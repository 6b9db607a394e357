package command

import (
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/load"
)

// alphaOn are the flags that turn on the alpha versions of the documents, before those of the user, which win: a document that is
// followed shall be seen.
func alphaOn(root string) (args []string) {
	m, err := load.Load(root)
	if err != nil {
		return nil // reported before
	}
	for _, gv := range m.GroupVersions {
		if gv.Served && !gv.BuiltIn && m.Module != "" && strings.Contains(gv.Version, "alpha") {
			args = append(args, "--runtime-config="+gv.Group+"/"+gv.Version+"=true")
		}
	}
	return args
}
