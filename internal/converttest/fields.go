package converttest

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// copied reports whether a plan takes a field along without hand-written code.
func copied(p *api.Plan, path string) bool {
	steps := strings.Split(strings.ReplaceAll(path, "[]", ""), ".")
	if slices.ContainsFunc(p.Carry, func(c api.Carried) bool {
		return len(c.Path) <= len(steps) && slices.Equal(c.Path, steps[:len(c.Path)])
	}) {
		return true
	}
	for all := p.Copy; len(steps) > 0; steps = steps[1:] {
		i := slices.IndexFunc(all, func(c api.Copy) bool { return cmp.Or(c.From, c.Name) == steps[0] })
		if i < 0 || all[i].Below == nil {
			return i >= 0
		}
		all = all[i].Below
	}
	return false
}

// leaves are the scalars of an object, and its values of any JSON, by their paths.
func leaves(v document.Value, path string, to map[string]string) {
	table, ref := v.Type()
	untyped := table == nil || ref < 0 || table.Types[ref].Kind == schema.Any
	switch v.Kind() {
	case document.Object:
		if untyped && path != "" {
			break
		}
		for name, m := range v.Members() {
			switch {
			case path == "" && (name == "kind" || name == "apiVersion"):
			case ref >= 0 && table.Types[ref].Kind == schema.Map:
				leaves(m, path+"["+name+"]", to)
			case path == "":
				leaves(m, name, to)
			default:
				leaves(m, path+"."+name, to)
			}
		}
		return
	case document.Array:
		if untyped {
			break
		}
		for i, e := range v.Elements() {
			leaves(e, fmt.Sprintf("%s[%d]", path, i), to)
		}
		return
	case document.Null, document.Absent:
		return
	}
	to[path] = string(v.AppendJSON(nil))
}

var inBrackets = regexp.MustCompile(`\[[^]]*\]`)

// plain is a path without the places of elements.
func plain(path string) string { return inBrackets.ReplaceAllString(path, "[]") }

// fields are the paths of all fields with scalars or any JSON, without those of metadata.
func fields(of *api.Resource) (paths []string) {
	table := of.GV.Types()
	var walk func(ref schema.Ref, path string, above []schema.Ref)
	walk = func(ref schema.Ref, path string, above []schema.Ref) {
		if ref < 0 || slices.Contains(above, ref) {
			return
		}
		switch t := &table.Types[ref]; t.Kind {
		case schema.Object:
			above = append(slices.Clone(above), ref)
			for _, f := range t.Fields {
				switch {
				case path != "":
					walk(f.Type, path+"."+f.Name, above)
				case f.Name != "kind" && f.Name != "apiVersion" && f.Name != "metadata":
					walk(f.Type, f.Name, above)
				}
			}
		case schema.Map, schema.List:
			walk(t.Elem, path+"[]", above)
		default:
			paths = append(paths, path)
		}
	}
	walk(of.Type, "", nil)
	return paths
}
