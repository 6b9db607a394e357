package emit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// The code of another module cannot import this one's internal packages. It has the same
// text with other imports: kit/ has their names as far as generated code needs them, and
// hooks see objects through the package object.

// publish gives the hooks of another module their public types.
func (g *catalogGroup) publish() {
	if !g.Outside {
		return
	}
	public := strings.NewReplacer("api.View", "*object.View", "document.Value", "object.Value", "api.FieldError", "object.Cause")
	for _, methods := range [][]hookMethod{g.Methods, g.Converts} {
		for i := range methods {
			methods[i].Signature = public.Replace(methods[i].Signature)
		}
	}
}

// Hook is a hook as the catalog calls it.
func (g *catalogGroup) Hook(adapter, method string) string { return g.adapted("h", adapter, method) }

func (g *catalogGroup) adapted(receiver, adapter, method string) string {
	switch {
	case g.provided[method]:
		return "builtin.Hooks()." + method
	case g.Outside:
		return fmt.Sprintf("object.%s(%s.%s)", adapter, receiver, method)
	}
	return receiver + "." + method
}

// method asks the hand-written code for a hook, unless it has it already.
func (g *catalogGroup) method(m hookMethod) {
	if !g.provided[m.Name] {
		g.Methods = append(g.Methods, m)
	}
}

// providedHooks are the hooks of the built-in types in the table of another module.
func providedHooks(m *model.Model, table *schema.Table) map[string]bool {
	provided := map[string]bool{}
	for _, gv := range m.GroupVersions {
		if !gv.BuiltIn {
			continue
		}
		for i := range table.Types {
			if name, of := strings.CutPrefix(table.Types[i].Name, gv.Dir+"."); of {
				for _, hook := range []string{"Default", "Validate", "Skip"} {
					provided[hook+name] = true
				}
			}
		}
	}
	return provided
}

// UsesBuiltin reports whether the hooks' file refers to the hooks of built-in types.
func (g *catalogGroup) UsesBuiltin() bool {
	return slices.ContainsFunc(g.Defaults, func(n string) bool { return g.provided["Default"+n] }) ||
		slices.ContainsFunc(g.Checks, func(n string) bool { return g.provided["Validate"+n] }) ||
		slices.ContainsFunc(g.Skips, func(n string) bool { return g.provided["Skip"+n] })
}

// UsesAPI, UsesObject and AdaptsHooks report what the hooks' file and the catalog's import.
func (g *catalogGroup) UsesAPI() bool {
	return len(g.Checks) > 0 || g.Validates && !g.Outside
}

func (g *catalogGroup) UsesObject() bool { return g.Outside && len(g.Methods)+len(g.Converts) > 0 }

func (g *catalogGroup) AdaptsHooks() bool {
	return g.UsesObject() && slices.ContainsFunc(g.Resources, func(r catalogResource) bool {
		return r.Create || r.Update || r.Status || r.Validate || r.Check || r.CheckDelete || r.Warn || strings.Contains(r.Convert, "object.") ||
			slices.ContainsFunc(r.Columns, func(c catalogColumn) bool { return strings.HasPrefix(c.Method, "object.") })
	})
}

// apiPackage is a package with the kinds of some groups, as an API.
type apiPackage struct {
	Name, Is string
	Releases []apiRelease // the usual one first
}

// Outside emits the package of another module that a server is given.
func Outside(m *model.Model) ([]File, error) {
	if m.Module == "" {
		return nil, nil
	}
	releases, err := releasesOf(m)
	if err != nil {
		return nil, err
	}
	source, err := executeGo("outside.go.tmpl", apiPackage{"api", "is what the documents of this module add to a server.", releases})
	if err != nil {
		return nil, err
	}
	files := []File{{"api/api.go", source}}
	if of := HandConverted(m); m.Hooks && len(of) > 0 {
		test, err := executeGo("conversions_test.go.tmpl", map[string]string{"Module": m.Module, "Of": strings.Join(of, ", ")})
		if err != nil {
			return nil, err
		}
		files = append(files, File{"api/conversions_test.go", test})
	}
	return files, nil
}

// HandConverted names the kinds of another module whose conversions are hand-written.
func HandConverted(m *model.Model) (kinds []string) {
	for _, gv := range m.GroupVersions {
		for _, res := range gv.Resources {
			if c := res.Conversion; !gv.BuiltIn && m.Module != "" && c != nil && c.Hook {
				kinds = append(kinds, res.Kind+" of "+gv.Dir)
			}
		}
	}
	return kinds
}

// Relocate gives the files of another module their imports.
func Relocate(m *model.Model, files []File) {
	if m.Module == "" {
		return
	}
	pairs := []string{`"` + module + "/internal/gen/", `"` + m.Module + "/internal/gen/"}
	for _, name := range []string{"api", "document", "expression", "schema"} {
		pairs = append(pairs, `"`+module+"/internal/"+name+`"`, `"`+module+"/kit/"+name+`"`)
	}
	for _, gv := range m.GroupVersions {
		if !gv.BuiltIn {
			pairs = append(pairs, `"`+module+"/gen/"+gv.Dir+`"`, `"`+m.Module+"/gen/"+gv.Dir+`"`)
		}
	}
	imports := strings.NewReplacer(pairs...)
	for i, f := range files {
		if strings.HasSuffix(f.Path, ".go") && bytes.Contains(f.Data, []byte(module)) {
			files[i].Data = []byte(imports.Replace(string(f.Data)))
		}
	}
}
