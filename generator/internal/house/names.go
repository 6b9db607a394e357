package house

import (
	"io/fs"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/openapi"
)

// builtInNames are the plurals, singulars and short names of the built-in resources, with the kind that has each.
func builtInNames() map[string]string {
	names := map[string]string{}
	files, _ := fs.Glob(openapi.Documents, "*/*.yaml")
	for _, file := range files {
		var doc struct {
			Resources map[string]struct {
				Kind       string   `yaml:"kind"`
				Singular   string   `yaml:"singular"`
				ShortNames []string `yaml:"shortNames"`
			} `yaml:"x-cluster-resources"`
		}
		if text, err := openapi.Documents.ReadFile(file); err != nil || yaml.Unmarshal(text, &doc) != nil {
			continue // another command reports it
		}
		for plural, r := range doc.Resources {
			for _, name := range append(r.ShortNames, plural, r.Singular, strings.ToLower(r.Kind)) {
				if name != "" {
					names[name] = r.Kind
				}
			}
		}
	}
	return names
}

// builtInCategories are the words that name several built-in resources.
var builtInCategories = []string{"all", "api-extensions"}

// names finds the names by which kubectl finds a built-in resource.
func (c *checker) names(r *model.Resource) {
	if c.builtin == nil {
		return
	}
	taken := func(name string) string {
		if slices.Contains(builtInCategories, name) {
			return "a category of built-in kinds"
		}
		if kind := c.builtin[name]; kind != "" {
			return "a name of the built-in kind " + kind
		}
		return ""
	}
	for _, name := range r.ShortNames {
		if whose := taken(name); whose != "" {
			c.add(r.Pos, "builtin-name", false, "choose another", "has the short name %s, %s: kubectl finds that one", name, whose)
		}
	}
	for _, name := range []string{r.Plural, r.Singular} {
		if whose := taken(name); name != "" && whose != "" {
			c.add(r.Pos, "builtin-name", true, "choose another, or tell users to write "+name+"."+r.GV.Group, "has the name %s, %s: kubectl finds that one", name, whose)
			break
		}
	}
	for _, name := range r.Categories {
		if kind := c.builtin[name]; kind != "" {
			c.add(r.Pos, "builtin-name", false, "choose another", "has the category %s, a name of the built-in kind %s: kubectl finds that one", name, kind)
		}
	}
}

// groups finds versions in one folder that are of two groups, and versions of a group that clients cannot put into an order.
func (c *checker) groups(m *model.Model) {
	first, folders := map[string]map[int]*model.GroupVersion{}, map[string]*model.GroupVersion{}
	for _, gv := range m.GroupVersions {
		if !gv.Served || gv.BuiltIn || released(m, gv) {
			continue
		}
		folder, _, _ := strings.Cut(gv.Dir, "/")
		if other := folders[folder]; other != nil && other.Group != gv.Group {
			c.element = gv.Dir
			c.add(gv.Pos, "two-groups", false, "write one name in all versions, or move one of them to a folder of its own", "is of the group %s, while %s is of %s",
				gv.Group, other.Dir, other.Group)
		}
		folders[folder] = gv
		if first[gv.Group] == nil {
			first[gv.Group] = map[int]*model.GroupVersion{}
		}
		if other := first[gv.Group][gv.VersionPriority]; other != nil {
			c.element = gv.Dir
			c.add(gv.Pos, "version-priority", false, "give the version that clients should prefer the greater one", "has the versionPriority %d, as %s has",
				gv.VersionPriority, other.Dir)
			continue
		}
		first[gv.Group][gv.VersionPriority] = gv
	}
}

// readOnly finds required fields that authors cannot send: what they send is dropped.
func (c *checker) readOnly(r *model.Resource) {
	if slices.Contains(r.Hooks, "create") {
		return // it may fill them in
	}
	for _, path := range r.ReadOnly {
		at := place{r.Type.Schema, r.Type}
		for _, name := range strings.Split(path, ".") {
			at = c.resolve(at)
			i := slices.IndexFunc(at.s.Properties, func(p schema.Property) bool { return p.Name == name })
			if i < 0 {
				break
			}
			p := at.s.Properties[i]
			if p.Schema.ReadOnly && at.s.Enforces(name) && p.Schema.Default == nil && !at.s.DefaultHook {
				c.element = at.in.GV.Dir + "." + at.in.Name + "." + name
				c.add(p.Pos, "required-read-only", false, "make it optional, or set it in a hook: hooks: [create]",
					"is required and readOnly: what authors send is dropped, so every object is refused")
			}
			at.s = p.Schema
		}
	}
}
