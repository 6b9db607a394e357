package discovery

import (
	"strings"
	"unicode"

	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// renamer copies a part of the model's document for another kind.
type renamer struct {
	row   *catalog.Row
	texts *strings.Replacer
}

func newRenamer(row *catalog.Row, m *model) *renamer {
	gv := camel(row.GV.Group) + camel(row.GV.Version)
	scope := "Namespaced"
	if !row.Namespaced {
		scope = ""
	}
	tag := strings.ToLower(gv[:1]) + strings.TrimSuffix(gv[1:], camel(row.GV.Version)) + "_" + row.GV.Version
	return &renamer{row, strings.NewReplacer(m.refs+m.kind+"List", m.refs+schemaName(row, row.ListKind), m.refs+m.kind, m.refs+schemaName(row, row.Kind),
		"AppsV1Collection", gv+"Collection", "AppsV1Namespaced", gv+scope, "CollectionNamespaced", "Collection"+scope, "AppsV1", gv, "apps_v1",
		tag, "Deployment", row.Kind)}
}

// camel writes a name as one word: "shop.example.com" is "ShopExampleCom".
func camel(name string) string {
	var b strings.Builder
	upper := true
	for _, c := range name {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			upper = true
			continue
		}
		if upper {
			c = unicode.ToUpper(c)
		}
		upper = false
		b.WriteRune(c)
	}
	return b.String()
}

// path is a path of the model for the kind.
func (r *renamer) path(path string) string {
	rest := strings.TrimPrefix(path, modelPrefix)
	if !r.row.Namespaced {
		rest = strings.TrimPrefix(rest, "namespaces/{namespace}/")
	}
	return r.row.GV.Prefix() + "/" + strings.Replace(rest, "deployments", r.row.Plural, 1)
}

// notCustom are media types that custom resources do not have.
func notCustom(media string) bool {
	return media == "application/strategic-merge-patch+json" || strings.Contains(media, ".protobuf")
}

// renamed is a part of a document for the kind.
func (r *renamer) renamed(v any) any {
	switch v := v.(type) {
	case node:
		if v["group"] == "apps" && v["kind"] != nil {
			return node{"group": r.row.GV.Group, "version": r.row.GV.Version, "kind": r.row.Kind}
		}
		out := make(node, len(v))
		for name, below := range v {
			if !notCustom(name) {
				out[name] = r.renamed(below)
			}
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, below := range v {
			if media, ok := below.(string); ok && notCustom(media) {
				continue
			}
			if p, ok := below.(node); ok && !r.row.Namespaced && p["name"] == "namespace" && p["in"] == "path" {
				continue
			}
			out = append(out, r.renamed(below))
		}
		return out
	case string:
		text := r.texts.Replace(v)
		return text
	}
	return v
}
