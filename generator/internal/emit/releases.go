package emit

import (
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
)

// A server of documents with a history can serve any of their releases. Each release but the usual one has tables,
// rows and published documents of its own below releases/, and all share hooks, types and clients.

// releaseName is the name of a release in folders and in the code.
func releaseName(release string) string {
	return "r" + strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' {
			return c
		}
		return '_'
	}, strings.ToLower(release))
}

// OtherReleases emits the releases of the documents of another module besides the usual one.
func OtherReleases(m *model.Model) ([]File, error) {
	if m.Module == "" {
		return nil, nil
	}
	var all []File
	for _, other := range m.Others {
		for _, of := range []func(*model.Model) ([]File, error){Tables, Catalog, PackedOpenAPI} {
			files, err := of(other)
			if err != nil {
				return nil, err
			}
			for _, f := range files {
				all = append(all, File{releasesFolder + releaseName(other.Releases.Now) + "/" + f.Path, f.Data})
			}
		}
	}
	return all, nil
}

const releasesFolder = "releases/"

// apiRelease is a release in the package with the kinds of a module.
type apiRelease struct {
	Name, Suffix, Folder string // Suffix ends the names of packages; "" for the usual release
	Groups               []catalogGroup
}

// releasesOf are the releases of a module in their order, or the one state of documents without a history.
func releasesOf(m *model.Model) (all []apiRelease, err error) {
	add := func(of *model.Model, suffix, folder string) {
		if err != nil {
			return
		}
		r := apiRelease{Name: of.Releases.Now, Suffix: suffix, Folder: folder}
		r.Groups, err = servedGroups(of)
		all = append(all, r)
	}
	add(m, "", "")
	for _, other := range m.Others {
		name := releaseName(other.Releases.Now)
		add(other, name, releasesFolder+name+"/")
	}
	return all, err
}
