package emit

import (
	"github.com/capstan-dev/capstan/generator/internal/model"
	"slices"
)

// security names the scheme that both dialects declare.
var security = []object{{"BearerToken": []string{}}}

// usualRelease is the release of the surface that the documents describe where no other is asked for.
const usualRelease = "v1.25.16"

// publishedRelease is the release in published documents.
func publishedRelease(m *model.Model) string {
	if m.Releases.Now == m.Releases.Default {
		return usualRelease
	}
	return "v" + m.Releases.Now + ".0"
}

// document is the published document that describes the paths added so far.
func (p *paths) document() (lines, error) {
	refusals, err := p.refusals()
	if err != nil {
		return nil, err
	}
	if err := p.flush(); err != nil {
		return nil, err
	}
	token := object{"type": "apiKey", "name": "authorization", "in": "header", "description": "Bearer token"}
	doc := lines{
		"info":  object{"title": p.title, "version": p.version},
		"paths": lines(p.out), "security": security,
	}
	if p.v3 {
		if doc["openapi"] = "3.0.0"; p.standard {
			doc["openapi"] = "3.1.0"
		}
		doc["components"] = lines{"responses": refusals, "schemas": lines(p.done), "securitySchemes": object{"BearerToken": token}}
	} else {
		doc["swagger"], doc["definitions"], doc["securityDefinitions"] = "2.0", lines(p.done), object{"BearerToken": token}
		doc["responses"] = refusals
	}
	return doc, nil
}

// discovery adds the path of a discovery document.
func (p *paths) discovery(path, id, tag, what, answer string) error {
	ref, err := p.metaRef(answer)
	if err != nil {
		return err
	}
	types := p.media.object
	if answer == "Info" {
		types = p.media.object[:1]
	}
	p.out[path] = object{"get": p.render(operation{
		id: id, tag: tag, description: what, answer: ref, codes: []string{"200"}, answerTypes: types,
	})}
	return nil
}

// part is a group of paths that 1.25 publishes as one document of the third
// version.
type part struct {
	path  string // "apis/apps/v1"
	off   bool   // by default, and so not in the one document of the second version
	group string // of somebody else, whose documents have its name
	write func(*paths) error
}

// parts lists the documents of the third version, ordered by path.
func parts(m *model.Model) []part {
	out := []part{
		{"api", false, "", func(p *paths) error {
			return p.discovery("/api/", "getCoreAPIVersions", "core", "List the versions of the core group.", "APIVersions")
		}},
		{"apis", false, "", func(p *paths) error {
			return p.discovery("/apis/", "getAPIVersions", "apis", "List the groups.", "APIGroupList")
		}},
		{"version", false, "", func(p *paths) error {
			return p.discovery("/version/", "getCodeVersion", "version", "Read the version of the server.", "Info")
		}},
	}
	if m.Module != "" {
		out = nil // the built-in groups have them
	}
	groups := map[string]bool{"": true}
	for _, gv := range m.GroupVersions {
		if !gv.Served {
			continue
		}
		if !groups[gv.Group] {
			groups[gv.Group] = true
			word := groupWord(m.Profile, gv.Group)
			path := "apis/" + gv.Group
			out = append(out, part{path, onlyOff(m, gv.Group), ownGroup(m, gv), func(p *paths) error {
				return p.discovery("/"+path+"/", "get"+upperFirst(word)+"APIGroup", word, "List the versions of the group.", "APIGroup")
			}})
		}
		out = append(out, part{groupPath(gv)[1:], gv.Off, ownGroup(m, gv), func(p *paths) error { return p.groupVersion(gv) }})
	}
	return out
}

// onlyOff reports whether a group has only versions that are off by default.
func onlyOff(m *model.Model, group string) bool {
	return !slices.ContainsFunc(m.GroupVersions, func(gv *model.GroupVersion) bool {
		return gv.Served && gv.Group == group && !gv.Off
	})
}

// groupVersion adds all paths of a group version.
func (p *paths) groupVersion(gv *model.GroupVersion) error {
	tag := groupWord(p.profile, gv.Group) + "_" + gv.Version
	id := "get" + operationWord(p.profile, gv) + "APIResources"
	if err := p.discovery(groupPath(gv)+"/", id, tag, "List the resources of the group version.", "APIResourceList"); err != nil {
		return err
	}
	for _, r := range gv.Resources {
		if err := p.resource(r); err != nil {
			return err
		}
	}
	return nil
}

func newPaths(m *model.Model, d dialect) *paths {
	return &paths{components: newComponents(m, d), profile: m.Profile, media: newMediaTypes(m.Profile), out: object{},
		title: upperFirst(m.Profile.MediaTypeWord), version: publishedRelease(m)}
}

// name gives the document the name of a group that is not a part of the release.
func (p *paths) name(group string) {
	if group != "" {
		p.title, p.version = group, "unversioned"
	}
}
