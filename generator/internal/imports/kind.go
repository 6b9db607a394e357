package imports

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/generator/internal/foreign"
	"github.com/capstan-dev/capstan/generator/internal/model"
)

// kind is a kind on its way into a schema document.
type kind struct {
	*result
	file       *foreign.File
	name, dir  string // "Truck", "fleet/v1"
	structural bool   // the schema is of a custom resource
	defs       mapping
	nodes      int
	once       sync.Once
	refer      func(foreign.Place, mapping) // describes the type that a $ref names
	head       bool                         // the kind has apiVersion, kind and metadata
}

func (k *kind) note(at foreign.Place, fix, format string, args ...any) {
	k.result.note(k.file.Position(at), fix, k.name+": "+fmt.Sprintf(format, args...))
}

// document is the schema document of the kind.
func (k *kind) document(root foreign.Place) mapping {
	k.defs = newMapping(foreign.LineOf(root))
	doc, def := newMapping(foreign.LineOf(root)), newMapping(foreign.LineOf(root))
	if root.Extension("preserve-unknown-fields").Yes() {
		k.note(root, "describe the members; any JSON is possible below spec", "unknown members at the top of an object are not kept")
	}
	k.members(root, def, nil)
	k.keywords(root, def, "object")
	for _, r := range k.rulesOf(root) {
		def.add("x-cluster-rules", r.node())
	}
	if d := root.At("description"); d.Here() {
		doc.text("description", strings.TrimSpace(d.Text()), foreign.LineOf(d))
	}
	if k.head {
		arrange(def)
	}
	doc.Content = append(doc.Content, def.Content...)
	if len(k.defs.Content) > 0 {
		doc.set("$defs", k.defs.Node)
	}
	return doc
}

// arrange puts the members that kinds usually have in front.
func arrange(def mapping) {
	all, rest := newMapping(def.Line), mapping{}
	if rest.Node = def.get("properties"); rest.Node == nil {
		rest = newMapping(def.Line)
	}
	all.set("metadata", newMapping(def.Line).Node)
	for _, name := range []string{"metadata", "spec", "status"} {
		if p := rest.get(name); p != nil {
			all.set(name, p)
			rest.remove(name)
		}
	}
	all.Content = append(all.Content, rest.Content...)
	def.set("properties", all.Node)
}

// define names a type. Equal types of a kind are one; others get the last words of their way
// that no other has.
func (k *kind) define(words []string, def mapping) string {
	name := ""
	for i := len(words) - 1; ; i-- {
		name = k.name
		for _, w := range words[max(i, 0):] {
			name += camel(w)
		}
		if i < 0 {
			name += strconv.Itoa(len(k.defs.Content))
		}
		if len(words) > 1 && i >= 0 && (name == k.name+"Spec" || name == k.name+"Status") {
			continue // names of the kind's own members
		}
		other := k.defs.get(name)
		if other != nil && sameNode(other, def.Node) {
			return name
		}
		if other == nil && !k.taken[k.dir+"."+name] {
			break
		}
	}
	k.taken[k.dir+"."+name] = true
	k.defs.set(name, def.Node)
	return name
}

var wordParts = regexp.MustCompile(`[A-Za-z0-9]+`)

// camel is a name in CamelCase.
func camel(name string) (text string) {
	for _, part := range wordParts.FindAllString(name, -1) {
		text += strings.ToUpper(part[:1]) + part[1:]
	}
	return text
}

// resource is the entry of a resource; stored is the version that keeps its objects.
func (k *kind) resource(r *model.Resource, version foreign.Place, stored string) mapping {
	line := r.Pos.Line
	out := newMapping(line)
	out.text("kind", r.Kind, line)
	out.text("scope", map[bool]string{true: "Namespaced", false: "Cluster"}[r.Namespaced], line)
	out.text("singular", r.Singular, line)
	if r.ListKind != r.Kind+"List" {
		out.text("listKind", r.ListKind, line)
	}
	out.texts("shortNames", r.ShortNames, line)
	out.texts("categories", r.Categories, line)
	if len(r.Verbs) > 0 && len(r.Verbs) < 8 {
		out.texts("verbs", r.Verbs, line)
	}
	if stored != "" {
		out.text("storedAs", stored, line)
	} else {
		if k.structural {
			out.yes("generation", line)
		}
		k.columns(r, version.At("schema").At("openAPIV3Schema"), out)
	}
	if r.DeprecatedSince != "" {
		deprecated := newMapping(line)
		deprecated.text("since", k.since, line)
		out.set("deprecated", deprecated.Node)
		if w := version.At("deprecationWarning"); w.Here() {
			k.note(w, "say the replacement in deprecated: of the resource", "the server makes the warning %q itself", w.Text())
		}
	}
	k.subresources(r, out)
	fields := make([]string, 0, len(r.Selectable))
	for _, s := range r.Selectable {
		if k.left(s.Pos.Line) {
			continue
		}
		fields = append(fields, s.Name)
	}
	out.texts("selectable", fields, line)
	return out
}

func (k *kind) subresources(r *model.Resource, out mapping) {
	all := newMapping(r.Pos.Line)
	if r.HasStatus {
		status := newMapping(r.Pos.Line)
		status.Style = yaml.FlowStyle
		all.set("status", status.Node)
	}
	for _, s := range r.Subresources {
		one := newMapping(s.Pos.Line)
		one.Style = yaml.FlowStyle
		switch s.Name {
		case "status":
			continue
		case "scale":
			for _, p := range []struct{ key, path string }{{"specReplicas", s.SpecReplicas}, {"statusReplicas", s.StatusReplicas}, {"selector", s.Selector}} {
				one.text(p.key, p.path, s.Pos.Line)
			}
		default:
			k.note(foreign.Place{Node: &yaml.Node{Line: s.Pos.Line}}, "add it with the endpoint that does its work", "the subresource %s is not taken over", s.Name)
			continue
		}
		all.set(s.Name, one.Node)
	}
	if len(all.Content) > 0 {
		out.set("subresources", all.Node)
	}
}

const created = ".metadata.creationTimestamp"

// condition is a JSON path to a member of the elements of a list that have a text in
// another member.
var condition = regexp.MustCompile(`^((?:\.[A-Za-z0-9_]+)+)\[\?\(@\.([A-Za-z0-9_]+)\s*==\s*(?:'([^'"\\]*)'|"([^'"\\]*)")\)\]\.([A-Za-z0-9_]+)$`)

// keyed is a JSON path to a key with dots of a map, in either spelling.
var keyed = regexp.MustCompile(`^((?:\.[A-Za-z0-9_]+)+)(?:\.((?:[^.\\\[]|\\\.)*\\\.(?:[^.\\\[]|\\\.)*)|\[['"]([^'"]+)['"]\])$`)

// firstOf is a JSON path to a member of the elements of a list.
var firstOf = regexp.MustCompile(`^((?:\.[A-Za-z0-9_]+)+)\[\*\]((?:\.[A-Za-z0-9_]+)+)$`)

// shown is the expression that shows what a JSON path leads to, "" for a plain path. A
// column shows the first value of several.
func shown(path string) string {
	if p := condition.FindStringSubmatch(path); p != nil {
		return fmt.Sprintf("self%s.filter(e, e.%s == %s).map(e, string(e.%s)).join(\" \")", p[1], p[2], strconv.Quote(p[3]+p[4]), p[5])
	}
	if p := keyed.FindStringSubmatch(path); p != nil {
		key := strconv.Quote(strings.ReplaceAll(p[2]+p[3], `\.`, "."))
		return fmt.Sprintf("%s in self%s ? self%s[%s] : \"\"", key, p[1], p[1], key)
	}
	if p := firstOf.FindStringSubmatch(path); p != nil {
		return fmt.Sprintf("self%s.size() == 0 ? \"\" : string(self%s[0]%s)", p[1], p[1], p[2])
	}
	return ""
}

// isTime reports whether a path leads to a point in time.
func isTime(at foreign.Place, path string) bool {
	for _, name := range strings.Split(strings.TrimPrefix(path, "."), ".") {
		at = at.At("properties").At(name)
	}
	return at.At("format").Text() == "date-time" || path == created
}

// columns reads the columns of tables. The server adds the name, and where there are none
// the age.
func (k *kind) columns(r *model.Resource, root foreign.Place, out mapping) {
	list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Line: r.Pos.Line}
	age := false
	for _, c := range r.Columns {
		line := c.Pos.Line
		isList := k.shownAsList(line)
		if !isList && k.left(line) {
			continue
		}
		if age = age || c.Name == "Age"; c.Name == "Age" && c.Type == "date" && c.Path == created && c.Priority == 0 && c.Description == "" {
			list.Content = append(list.Content, textNode("age", line))
			continue
		}
		m := newMapping(line)
		m.Style = yaml.FlowStyle
		m.text("name", c.Name, line)
		kind := cmp.Or(map[string]string{"date": "string"}[c.Type], c.Type)
		if isTime(root, c.Path) && c.Type == "string" {
			kind = "date" // documents show a time so, and the time since in a string
		}
		if kind != "string" {
			m.text("type", kind, line)
		}
		if c.Format != "" {
			m.text("format", c.Format, line)
		}
		if c.Priority != 0 {
			m.number("priority", c.Priority, line)
		}
		shows := shown(c.Path)
		switch {
		case isList:
			m.text("shows", "self"+c.Path+`.size() == 0 ? "" : "[\"" + self`+c.Path+`.join("\",\"") + "\"]"`, line)
		case shows != "" && c.Type != "date":
			m.text("shows", shows, line)
		case shows != "" || strings.ContainsAny(c.Path, "[?*@"):
			k.note(foreign.Place{Node: &yaml.Node{Line: line}}, "write shows, an expression in CEL", "the column %q shows %s, a path through lists", c.Name, c.Path)
			continue
		default:
			m.text("path", c.Path, line)
		}
		m.text("description", cmp.Or(c.Description, "Shows "+c.Path+"."), line)
		list.Content = append(list.Content, m.Node)
	}
	if !age {
		out.set("age", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "false", Line: r.Pos.Line})
	}
	if list.Content = slices.DeleteFunc(list.Content, func(n *yaml.Node) bool { return n == nil }); len(list.Content) > 0 {
		out.set("columns", list)
	}
}
