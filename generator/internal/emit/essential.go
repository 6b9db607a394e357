package emit

import (
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Essential emits the kinds that a server has without the built-in groups, as an API of
// their own: the same rows, with tables of the types that they reach, and documents of
// their own. Columns of expressions are left out, since these need the engine of
// expressions.
func Essential(m *model.Model) ([]File, error) {
	if m.Module != "" {
		return nil, nil
	}
	few, err := essentials(m)
	if err != nil {
		return nil, err
	}
	groups, err := servedGroups(few)
	if err != nil {
		return nil, err
	}
	files, err := PackedOpenAPI(few)
	if err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(f File) bool { return strings.HasSuffix(f.Path, ".json") }) // parts of those of all kinds
	for _, g := range groups {
		table, err := tableSource(g.GroupVersion)
		if err != nil {
			return nil, err
		}
		hooks, err := executeGo("hooks.go.tmpl", &g)
		if err != nil {
			return nil, err
		}
		rows, err := executeGo("catalog.go.tmpl", &g)
		if err != nil {
			return nil, err
		}
		files = append(files, File{g.Dir + "/table.go", table}, File{g.Dir + "/hooks.go", hooks}, File{g.Dir + "/catalog.go", rows})
	}
	source, err := executeGo("outside.go.tmpl", apiPackage{"essential", "has the kinds of every server, as an API.", groups})
	if err != nil {
		return nil, err
	}
	files = append(files, File{"essential.go", source})
	here := strings.NewReplacer(`"`+module+"/internal/gen/", `"`+module+"/internal/gen/essential/")
	for i, f := range files {
		files[i].Path = "essential/" + f.Path
		if strings.HasSuffix(f.Path, ".go") {
			files[i].Data = []byte(here.Replace(string(f.Data)))
		}
	}
	return files, nil
}

// essentials are the documents with the essential resources only. All types are there,
// for references.
func essentials(m *model.Model) (*model.Model, error) {
	few, named := *m, map[string]*schema.Named{}
	few.GroupVersions = nil
	for _, gv := range m.GroupVersions {
		for _, t := range gv.Types {
			named[t.ID] = &schema.Named{ID: t.ID, Dir: gv.Dir, Kind: t.Kind, Schema: t.Schema}
		}
	}
	for _, gv := range m.GroupVersions {
		some, roots := *gv, map[string]string{}
		some.Resources, some.Served = nil, false
		for _, res := range gv.Resources {
			if !res.Essential {
				continue
			}
			one := *res
			one.GV, some.Served = &some, true
			one.Columns = slices.DeleteFunc(slices.Clone(res.Columns), func(c model.Column) bool { return c.Shows != "" })
			some.Resources = append(some.Resources, &one)
			roots[res.Type.Name] = res.Type.ID
			for _, sub := range res.Subresources {
				roots[sub.Type.Name] = sub.Type.ID
			}
		}
		if some.Served {
			src := schema.Source{Group: gv.Group, Version: gv.Version, Types: named}
			for name, id := range roots {
				src.Roots = append(src.Roots, schema.RootName{Name: name, ID: id})
			}
			slices.SortFunc(src.Roots, func(a, b schema.RootName) int { return strings.Compare(a.Name, b.Name) })
			table, err := schema.Compile(src)
			if err != nil {
				return nil, err
			}
			some.Table = table
		}
		few.GroupVersions = append(few.GroupVersions, &some)
	}
	return &few, nil
}
