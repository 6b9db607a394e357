package emit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Client emits the typed client: one accessor per group version, one per
// resource and one per subresource with a kind of its own. All work is done by
// the package client.
func Client(m *model.Model) ([]File, error) {
	var groups []clientGroup
	files, folders := []File{}, map[string]string{}
	for _, gv := range m.GroupVersions {
		if !gv.Served || len(gv.Resources) == 0 {
			continue
		}
		if other := folders[goPackage(gv.Dir)]; other != "" {
			return nil, &schema.Error{Pos: schema.Position{File: "openapi/" + gv.Dir + ".yaml", Line: 1},
				What: fmt.Sprintf("the package %s in Go would be that of %s and of %s", goPackage(gv.Dir), other, gv.Dir), Fix: "give one of the folders another name"}
		}
		folders[goPackage(gv.Dir)] = gv.Dir
		g := newClientGroup(gv)
		source, err := executeGo("client_group.go.tmpl", g)
		if err != nil {
			return nil, err
		}
		groups = append(groups, g)
		files = append(files, File{"client/" + goPackage(gv.Dir) + ".go", source})
	}
	source, err := executeGo("client.go.tmpl", groups)
	if err != nil {
		return nil, err
	}
	return append(files, File{"client/client.go", source}), nil
}

// clientGroup is one group version in the client.
type clientGroup struct {
	Name         string // "AppsV1"
	APIVersion   string
	Prefix       string // "/apis/apps/v1"
	Imports      []clientImport
	Resources    []clientResource
	Subresources []clientSubresource
}

type clientImport struct{ Alias, Path string }

// clientResource is one accessor. Access is the part of the client that the
// resource's verbs need: Resource, Reader or Creator.
type clientResource struct {
	Method, Plural, Kind, Access, Type string
	Deprecated, Replacement            string // release; replacement
	Namespaced                         bool
}

type clientSubresource struct {
	Method, Plural, Name, Kind, Type string
	Answer                           string // of an action with a body, or that streams
	Does                             string // of an action
	Refusals                         []string
	Deprecated, Replacement          string // of an action: release; replacement
	Action                           string // the type of the client that calls it
	Namespaced                       bool
}

func newClientGroup(gv *model.GroupVersion) clientGroup {
	g := clientGroup{Name: camelDir(gv.Dir), APIVersion: apiVersion(gv), Prefix: groupPath(gv)}
	dirs := map[string]bool{}
	goType := func(t *model.Type) string {
		dirs[t.GV.Dir] = true
		return goPackage(t.GV.Dir) + "." + goTypeName(t.Name, t.Schema.Goname)
	}
	for _, r := range gv.Resources {
		if access := accessOf(r.Verbs); r.Action != nil {
			g.Subresources = append(g.Subresources, clientSubresource{Method: clientPlural(r), Plural: r.Plural, Kind: r.Kind, Type: goType(r.Type),
				Namespaced: r.Namespaced, Answer: goType(r.Action.Answer), Does: r.Action.Description, Refusals: refusalLines(r.Action),
				Action: "Task" + streamed(r.Action), Deprecated: r.DeprecatedSince, Replacement: r.Replacement})
		} else if access != "" {
			name := goType(r.Type)
			g.Resources = append(g.Resources, clientResource{
				Method: clientPlural(r), Plural: r.Plural, Kind: r.Kind, Access: access, Type: name, Namespaced: r.Namespaced,
				Deprecated: r.DeprecatedSince, Replacement: r.Replacement,
			})
		}
		for _, s := range r.Subresources {
			// Those with the resource's own kind are reached through the
			// resource; those with options hand the connection through.
			if s.Action == nil && (s.Type == r.Type || !hasObjectMeta(s.Type)) {
				continue
			}
			sub := clientSubresource{
				Method: r.Kind + camelName(s.Name), Plural: r.Plural, Name: s.Name, Kind: s.Type.Name, Type: goType(s.Type), Namespaced: r.Namespaced,
			}
			if s.Action != nil {
				sub.Does, sub.Refusals, sub.Deprecated, sub.Replacement = s.Action.Description, refusalLines(s.Action), s.Action.DeprecatedSince, s.Action.Replacement
				if get := slices.Contains(s.Verbs, "get"); !get || s.Action.Streams() {
					sub.Answer, sub.Action = goType(s.Action.Answer), "Action"+streamed(s.Action)
					if get {
						sub.Action = "Feed"
					}
				}
			}
			g.Subresources = append(g.Subresources, sub)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		g.Imports = append(g.Imports, clientImport{goPackage(dir), module + "/gen/" + dir})
	}
	return g
}

// streamed ends the name of the type of the client that calls an action.
func streamed(a *model.Action) string {
	if a.Streams() {
		return "Stream"
	}
	return ""
}

// accessOf names the access of a resource with these verbs; "" for none that the client
// knows.
func accessOf(verbs []string) string {
	switch {
	case slices.Contains(verbs, "update") && slices.Contains(verbs, "create"):
		return "Resource"
	case slices.Contains(verbs, "list"):
		return "Reader"
	case slices.Contains(verbs, "create"):
		return "Creator"
	}
	return ""
}

// clientPlural is the accessor's name: the kind with the ending of the plural,
// so that words begin with capital letters ("ReplicaSets").
func clientPlural(r *model.Resource) string {
	singular := strings.ToLower(r.Kind)
	switch {
	case strings.HasPrefix(r.Plural, singular):
		return r.Kind + r.Plural[len(singular):]
	case strings.HasSuffix(singular, "y") && strings.HasPrefix(r.Plural, singular[:len(singular)-1]):
		return r.Kind[:len(r.Kind)-1] + r.Plural[len(singular)-1:]
	}
	return upperFirst(r.Plural)
}
