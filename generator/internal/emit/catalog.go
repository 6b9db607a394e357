package emit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Catalog emits the server's tables: a row per resource, the interfaces of hand-written
// rules, and the profile.
func Catalog(m *model.Model) ([]File, error) {
	var files []File
	add := func(path, template string, data any) error {
		source, err := executeGo(template, data)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		files = append(files, File{path, source})
		return nil
	}
	groups, err := groupsOfReleases(m)
	if err != nil {
		return nil, err
	}
	all := struct {
		Profile  model.Profile
		Groups   []catalogGroup
		Gates    []gate
		Historic bool
		Releases model.Releases
	}{Profile: m.Profile, Groups: groups, Gates: gatesOf(m), Historic: historic(m), Releases: m.Releases}
	for _, g := range all.Groups {
		if err := add(g.Dir+"/hooks.go", "hooks.go.tmpl", &g); err != nil {
			return nil, err
		}
		if err := add(g.Dir+"/catalog.go", "catalog.go.tmpl", &g); err != nil {
			return nil, err
		}
	}
	if m.Module != "" {
		return files, nil
	}
	if err := add("catalog/catalog.go", "catalog_catalog.go.tmpl", all); err != nil {
		return nil, err
	}
	if err := add("gates/gates.go", "gates.go.tmpl", all); err != nil {
		return nil, err
	}
	return files, add("profile/profile.go", "profile.go.tmpl", all)
}

// servedGroups are the group versions that are served, by folder.
func servedGroups(m *model.Model) ([]catalogGroup, error) {
	var groups []catalogGroup
	for _, gv := range m.GroupVersions {
		if !gv.Served {
			continue
		}
		g, err := newCatalogGroup(m, gv)
		if err != nil {
			return nil, err
		}
		groups = append(groups, g)
	}
	if err := distinctActions(groups); err != nil {
		return nil, err
	}
	return groups, nil
}

// catalogGroup is a group version as the templates see it.
type catalogGroup struct {
	*model.GroupVersion
	Package    string
	Outside    bool            // of another module, whose hooks see public types only
	provided   map[string]bool // methods that this module has for built-in types in tables of another
	Historic   bool            // in some release other than in another
	Hidden     string          // the condition for the releases in which the group version is not in discovery, as Go
	Priorities []priorityIn    // in releases in which they differ
	OffIn      string          // the same for those in which it is off by default
	In         string          // the condition for the releases that have the group version, as Go; "" for all
	Rows       []catalogRow
	Validates  bool // some type or resource has a validate hook
	Finds      bool // some type has a rule with an expression
	Expressive bool // some column has an expression
	Converts   []hookMethod
	Defaults   []string // type names with a default hook, in the order of their numbers
	Checks     []string // the same with a validation hook
	Skips      []string // the same with a hook that leaves members out of the validation
	Methods    []hookMethod
	Actions    []actionMethod
	Resources  []catalogResource
}

type hookMethod struct{ Name, Signature, Doc string }

type catalogResource struct {
	*model.Resource
	VerbSet      string
	Columns      []catalogColumn
	Fields       []catalogField
	Subresources []catalogSubresource
	Create       bool
	Update       bool
	Validate     bool
	Check        bool
	CheckDelete  bool
	Parts        bool
	Warn, Status bool
	Resize       bool
	HookName     string // the end of the hooks' names
	Convert      string // Go literal, "" for none
	Method       string // of the hooks, for an action
}

type catalogColumn struct {
	model.Column
	Method string // h.CellPodReady, or that of an expression; "" for a path
}

type catalogField struct {
	model.Selectable
	Parts string // []string{"spec", "nodeName"} as Go, or nil
	Other string // the same of Else
}

type catalogSubresource struct {
	model.Subresource
	VerbSet              string
	Group, Version, Kind string
	Scale                string // Go literal, "" for none
	Method               string // of the hooks, for an action
}

func newCatalogGroup(m *model.Model, gv *model.GroupVersion) (catalogGroup, error) {
	g := catalogGroup{GroupVersion: gv, Package: goPackage(gv.Dir), Outside: m.Module != "", Hidden: strconv.FormatBool(gv.Unlisted),
		OffIn: strconv.FormatBool(gv.Off), provided: providedHooks(m, gv.Table)}
	g.addTypeHooks()
	for _, res := range gv.Resources {
		r := catalogResource{Resource: res, VerbSet: verbSet(res.Verbs), HookName: res.Kind}
		if res.StoredAs != nil {
			r.HookName = res.Kind + "In" + camelDir(gv.Dir)
			r.Convert = conversionLiteral(res, g.Outside, func(method string) string { return g.adapted("c", "Replace", method) })
			if res.Conversion.Hook {
				g.Converts = append(g.Converts, conversionMethods(res, g.Outside)...)
			}
		}
		r.Method = g.performed(m, res)
		g.Validates = g.Validates || slices.ContainsFunc(res.Hooks, func(h string) bool { return h == "validate" || strings.HasPrefix(h, "check") })
		r.Create, r.Update = slices.Contains(res.Hooks, "create"), slices.Contains(res.Hooks, "update")
		r.Validate, r.Warn = slices.Contains(res.Hooks, "validate"), slices.Contains(res.Hooks, "warn")
		r.Status, r.Check, r.CheckDelete = slices.Contains(res.Hooks, "status"), slices.Contains(res.Hooks, "check"), slices.Contains(res.Hooks, "checkDelete")
		r.Resize, r.Parts = slices.Contains(res.Hooks, "resize"), slices.Contains(res.Hooks, "validateParts")
		for _, h := range []struct {
			on             bool
			verb, sig, doc string
		}{
			{r.Create, "Create", "(obj document.Value)", "sets what the server owns on a new " + res.Kind + "."},
			{r.Update, "Update", "(obj, old document.Value)", "keeps of old what only the server may change."},
			{r.Status, "Status", "(obj, old document.Value)", "gives what the status endpoint makes of " + res.Kind + " what belongs to the rest of old."},
			{r.Resize, "Resize", "(obj, old document.Value)", "keeps of old what a write of resources does not change."},
			{r.Resize, "ValidateResize", "(obj, old document.Value) []api.FieldError", "finds what a write of resources may not do."},
			{r.Validate, "Validate", "(obj, old document.Value) []api.FieldError", "finds what the schema cannot say; old is absent on create."},
			{r.Parts, "ValidateParts", "(obj, old document.Value, rules *document.Hooks) []api.FieldError", "finds mistakes of parts that are checked in another form."},
			{r.Check, "Check", "(view api.View, obj, old document.Value) []api.FieldError", "finds what is wrong of a " + res.Kind + " next to others."},
			{r.CheckDelete, "CheckDelete", "(view api.View, obj document.Value) []api.FieldError", "finds why a " + res.Kind + " may not be deleted."},
			{r.Warn, "Warn", "(obj, old document.Value) []string", "says what its author should know of a valid " + res.Kind + "; old is absent on create."},
		} {
			if h.on {
				g.Methods = append(g.Methods, hookMethod{h.verb + r.HookName, h.sig, h.doc})
			}
		}
		for _, c := range res.Columns {
			if res.StoredAs != nil {
				break // the storage version is shown
			}
			r.Columns = append(r.Columns, g.column(res, c))
		}
		for _, f := range res.Selectable {
			r.Fields = append(r.Fields, catalogField{f, pathLiteral(f.Path), pathLiteral(f.Else)})
		}
		for _, sub := range res.Subresources {
			r.Subresources = append(r.Subresources, g.subresource(&r, sub))
		}
		g.Resources = append(g.Resources, r)
	}
	g.publish()
	if err := g.sortMethods(); err != nil {
		return g, err
	}
	return g, g.addRows()
}

// sortMethods puts the methods of the hooks in order, each once.
func (g *catalogGroup) sortMethods() error {
	slices.SortFunc(g.Methods, func(a, b hookMethod) int { return strings.Compare(a.Name, b.Name) })
	g.Methods = slices.Compact(g.Methods)
	for i := 1; i < len(g.Methods); i++ {
		if g.Methods[i].Name == g.Methods[i-1].Name {
			return &schema.Error{Pos: g.Pos, What: "two hooks are called " + g.Methods[i].Name, Fix: "rename a cell"}
		}
	}
	return nil
}

// column adds the method of a column, if it needs one.
func (g *catalogGroup) column(res *model.Resource, c model.Column) catalogColumn {
	if c.Shows != "" {
		g.Expressive = true
		return catalogColumn{Column: c, Method: fmt.Sprintf("expression.NewCell(gv.Table, gv.Table.Root(%q), %q).Show", res.Type.Name, c.Shows)}
	}
	if c.Cell == "" {
		return catalogColumn{Column: c}
	}
	method := hookMethod{"Cell" + res.Kind + upperFirst(c.Cell), "(obj document.Value) any", "gives the column " + c.Name + " of " + res.Plural + "."}
	if c.Path != "" {
		method = hookMethod{"Cell" + upperFirst(c.Cell), "(v document.Value) any", "gives columns that show what is at a path."}
	}
	g.Methods = append(g.Methods, method)
	return catalogColumn{Column: c, Method: g.Hook("Cell", method.Name)}
}

// addTypeHooks adds the hooks that types name.
func (g *catalogGroup) addTypeHooks() {
	g.Defaults = hookedTypes(g.Table, func(t *schema.Type) uint16 { return t.Hook })
	for _, name := range known(g.Defaults) {
		g.method(hookMethod{"Default" + name, "(v document.Value)", "sets the defaults of " + name + " that depend on other fields."})
	}
	g.Checks = hookedTypes(g.Table, func(t *schema.Type) uint16 { return t.Check })
	for _, name := range known(g.Checks) {
		g.method(hookMethod{"Validate" + name, "(v document.Value) []api.FieldError", "finds what the schema cannot say of a " + name + ", wherever it is."})
	}
	g.Skips = hookedTypes(g.Table, func(t *schema.Type) uint16 { return t.Skip })
	for _, name := range known(g.Skips) {
		g.method(hookMethod{"Skip" + name, "(v document.Value) []string", "names the members that are not validated in a " + name + "."})
	}
	g.Validates = len(g.Checks) > 0
	finds := func(d schema.Demand) bool { return d.Finds != "" }
	g.Finds = slices.ContainsFunc(g.Table.Types, func(t schema.Type) bool {
		return t.Demands != nil && (slices.ContainsFunc(t.Demands.State, finds) || slices.ContainsFunc(t.Demands.Change, finds))
	})
}

// hookedTypes lists the names of the types with a hook, in the order of its numbers; "" for a number that only other releases
// have.
func hookedTypes(table *schema.Table, number func(*schema.Type) uint16) (names []string) {
	for i := range table.Types {
		if t := &table.Types[i]; number(t) != 0 {
			names = append(names, make([]string, max(0, int(number(t))-len(names)))...)
			names[number(t)-1] = t.Name[strings.LastIndexByte(t.Name, '.')+1:]
		}
	}
	return names
}

// known are the names that are not "".
func known(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "" })
}

func (g *catalogGroup) subresource(of *catalogResource, sub model.Subresource) catalogSubresource {
	s := catalogSubresource{Subresource: sub, VerbSet: verbSet(sub.Verbs), Kind: sub.Type.Name}
	s.Group, s.Version = sub.Type.GV.Group, sub.Type.GV.Version
	if sub.Action != nil {
		s.Method = g.act(camelName(sub.Name)+of.HookName, of.Resource, &sub)
	}
	if sub.SpecReplicas != "" {
		s.Scale = "&api.ScalePaths{SpecReplicas: " + pathLiteral(sub.SpecReplicas) + ", StatusReplicas: " + pathLiteral(sub.StatusReplicas) + ", Selector: " +
			pathLiteral(sub.Selector) + "}"
	}
	return s
}

// graceLiteral is the grace period as a Go literal, "" for none.
func (r catalogResource) graceLiteral() string {
	g := r.Graceful
	if g == nil {
		return ""
	}
	return fmt.Sprintf("&api.Grace{Period: %s, Default: %d, Needs: %s}", pathLiteral(g.Period), g.Default, pathLiteral(g.Needs))
}

// WritingPart lists the fields of a row about writes, as Go source.
func (r catalogResource) WritingPart() string {
	return fields{}.yes("ConditionalUpdate", r.ConditionalUpdate).yes("StatusOnCreate", r.StatusOnCreate).is("Keeps", pathsLiteral(r.Keeps)).
		is("ReadOnly", pathsLiteral(r.ReadOnly)).is("WriteOnly", pathsLiteral(r.WriteOnly)).text()
}

// CheckingPart lists the fields of a row about checks, as Go source.
func (r catalogResource) CheckingPart() string {
	f := fields{}.quoted("NameFormat", r.NameFormat).yes("AnyFinalizer", r.AnyFinalizer).is("Checks", checksLiteral(r.Checks))
	if r.ChecksOnCreate != 0 {
		f = f.is("ChecksOnCreate", strconv.Itoa(r.ChecksOnCreate))
	}
	return f.yes("CheckedWhenMissing", r.CheckedWhenMissing).yes("MetadataLast", r.MetadataLast).quoted("ErrorGroup", r.ErrorGroup).text()
}

// DeletionPart lists the fields of a row about the ends of objects, as Go source.
func (r catalogResource) DeletionPart() string {
	f := fields{}.quoted("Dependents", r.Dependents).quoted("OrphanWarning", r.OrphanWarning)
	if len(r.ProtectedNames) > 0 {
		f = f.is("ProtectedNames", fmt.Sprintf("%#v", r.ProtectedNames))
	}
	return f.is("Graceful", r.graceLiteral()).yes("Completes", r.Completes).yes("Expires", r.Expires).
		yes("DeleteReturnsObject", r.DeleteReturnsObject).text()
}

// Checked, Kept and Unrecorded are the checks and paths as Go literals, "" for none.
func (s catalogSubresource) Checked() string    { return checksLiteral(s.Checks) }
func (s catalogSubresource) Kept() string       { return pathsLiteral(s.Keeps) }
func (s catalogSubresource) Unrecorded() string { return pathsLiteral(s.Unowned) }

// Missing is the resource in a read's error for a missing object, as a Go literal; "" for
// the resource itself.
func (s catalogSubresource) Missing() string {
	if s.MissingAs == "" {
		return ""
	}
	resource, group, _ := strings.Cut(s.MissingAs, ".")
	return fmt.Sprintf("api.GroupResource{Group: %q, Resource: %q}", group, resource)
}

func pathsLiteral(paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	split := make([][]string, len(paths))
	for i, path := range paths {
		split[i] = strings.Split(strings.TrimPrefix(path, "."), ".")
	}
	return fmt.Sprintf("%#v", split)
}

func pathLiteral(path string) string {
	if path == "" {
		return "nil"
	}
	return fmt.Sprintf("%#v", strings.Split(strings.TrimPrefix(path, "."), "."))
}

func verbSet(verbs []string) string {
	if len(verbs) == 0 {
		return "0"
	}
	names := map[string]string{"create": "Create", "delete": "Delete", "deletecollection": "DeleteCollection", "get": "Get",
		"list": "List", "patch": "Patch", "update": "Update", "watch": "Watch"}
	var out []string
	for _, v := range verbs {
		out = append(out, "api.Verb"+names[v])
	}
	return strings.Join(out, " | ")
}

// checksLiteral writes the checks of an update; nothing for the usual ones.
func checksLiteral(checks []string) string {
	if checks == nil {
		return ""
	}
	names := make([]string, len(checks))
	for i, name := range checks {
		names[i] = "api.Check" + strings.ToUpper(name[:1]) + name[1:]
	}
	return "[]api.Check{" + strings.Join(names, ", ") + "}"
}
