package facts

import (
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
)

// servedResources compares the resources of the documents of a release with its table.
type servedResources struct {
	suffix       string
	checked      func(dir string) bool
	lifecycles   map[string]row // by the group version and kind
	all          map[string]*model.Resource
	subresources map[string]*model.Subresource
	versions     map[string]bool
}

func (s *servedResources) compare(m *model.Model, rows []row, found differences) {
	s.collect(m)
	for _, r := range rows {
		gv := r["group"] + "/" + r["version"]
		if !s.checked(dir(gv, s.suffix)) {
			continue
		}
		delete(s.versions, gv)
		name := gv + " " + r["resource"]
		sub, res := s.subresources[name], s.all[name]
		switch {
		case sub != nil:
			found.compare(name, "kind", r["kind"], sub.Type.Name)
			compareVerbs(name, r, sub.Verbs, found)
			delete(s.subresources, name)
		case res != nil:
			s.compareResource(name, r, res, found)
			delete(s.all, name)
		default:
			found.missing(name)
		}
	}
	for name := range s.all {
		found.unexpected(name)
	}
	for name := range s.subresources {
		found.unexpected(name)
	}
	for gv := range s.versions {
		found.unexpected(gv)
	}
}

// collect finds what the documents serve, by names like "apps/v1 deployments/scale".
func (s *servedResources) collect(m *model.Model) {
	s.all, s.subresources, s.versions = map[string]*model.Resource{}, map[string]*model.Subresource{}, map[string]bool{}
	for _, gv := range m.GroupVersions {
		if !gv.Served || !s.checked(gv.Dir) {
			continue
		}
		s.versions[groupName(gv)+"/"+gv.Version] = true
		for _, res := range gv.Resources {
			name := groupName(gv) + "/" + gv.Version + " " + res.Plural
			s.all[name] = res
			for i := range res.Subresources {
				s.subresources[name+"/"+res.Subresources[i].Name] = &res.Subresources[i]
			}
		}
	}
}

func (s *servedResources) compareResource(name string, r row, res *model.Resource, found differences) {
	found.compare(name, "kind", r["kind"], res.Kind)
	found.compare(name, "namespaced", r["namespaced"], yes(res.Namespaced))
	compareVerbs(name, r, res.Verbs, found)
	l, ok := s.lifecycles[r["group"]+"/"+r["version"]+"."+r["kind"]]
	if !ok {
		return // earlier releases lack those of stable kinds
	}
	found.compare(name, "deprecated since", l["deprecated"], word(res.DeprecatedSince))
	found.compare(name, "removed in", l["removed"], word(res.RemovedIn))
	replacement := l["replacement"]
	if i := strings.LastIndexByte(replacement, '/'); i >= 0 {
		replacement = replacement[:i] + "." + replacement[i+1:]
	}
	found.compare(name, "replacement", replacement, word(res.Replacement))
}

// compareVerbs compares verbs. The tables do not have the methods of connections.
func compareVerbs(name string, r row, verbs []string, found differences) {
	if r["verbs"] != "connect" {
		found.compare(name, "verbs", sorted(r.list("verbs")), sorted(verbs))
	}
}
