package compat

import (
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/load"
	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Surface is one side of a comparison: all that clients of an API can see of it, as far as
// its source says.
type Surface struct {
	Name     string // the source, as in messages
	Release  *Release
	profile  *model.Profile // nil where the source does not say it
	versions []*version
	kinds    map[string]*kind // by ID
	promises promises
	converts map[string]*conversion // of custom resources, by group and plural
	knows    facets
	prefix   string // of the files of positions
}

// facets are parts of an API that a source describes. Two sides are compared in the parts
// that both describe.
type facets uint8

const (
	facetWire      facets = 1 << iota // presence, binary form, patches, hooks, gates, enforced rules
	facetLife                         // the switches of resources, storage
	facetNames                        // short names, singular, categories, list kinds
	facetColumns                      // table columns
	facetSelectors                    // selectable fields
	facetStorage                      // storage versions
	facetGo                           // names of types in Go and OpenAPI
	facetPriority                     // order of groups and versions
	facetAll       facets = 1<<8 - 1
)

// version is a group version.
type version struct {
	*model.GroupVersion
	resources []*model.Resource
}

// kind is a named type that clients exchange as a whole.
type kind struct {
	id, name string
	of       *model.GroupVersion
	shape    *shape
}

// Documents is the surface of the documents in a folder that has openapi/ and schemas/.
// The mistakes in them are joined, as *schema.Error.
func Documents(dir string) (*Surface, error) {
	m, err := load.Load(dir)
	if err != nil {
		return nil, err
	}
	return surfaceOf(m), nil
}

// surfaceOf is the surface of a model.
func surfaceOf(m *model.Model) *Surface {
	s := &Surface{profile: &m.Profile, promises: promises{m.Promises}, kinds: map[string]*kind{}, knows: facetAll}
	b := builder{types: model.TypesByID(m.GroupVersions), done: map[*schema.Schema]*shape{}}
	for _, gv := range m.GroupVersions {
		s.versions = append(s.versions, &version{gv, gv.Resources})
		for _, t := range gv.Types {
			if t.Kind {
				s.kinds[t.ID] = &kind{t.ID, t.Name, gv, b.shape(t.Schema, t)}
			} else {
				b.shape(t.Schema, t)
			}
		}
	}
	for _, t := range b.done {
		t.fillDefaults()
	}
	s.mark()
	return s
}

// find is the group version of a directory, or nil.
func (s *Surface) find(dir string) *version {
	for _, v := range s.versions {
		if v.Dir == dir {
			return v
		}
	}
	return nil
}

// served is the group version that clients name, or nil.
func (s *Surface) served(group, name string) *version {
	for _, v := range s.versions {
		if v.Served && v.Group == group && v.Version == name {
			return v
		}
	}
	return nil
}

// resource is a resource of a group version, or nil.
func (v *version) resource(plural string) *model.Resource {
	if v == nil {
		return nil
	}
	for _, r := range v.resources {
		if r.Plural == plural {
			return r
		}
	}
	return nil
}

// at is a position in the files of the surface.
func (s *Surface) at(pos schema.Position) schema.Position {
	if pos.File != "" {
		pos.File = s.prefix + pos.File
	}
	return pos
}

func folder(dir string) string {
	group, _, _ := strings.Cut(dir, "/")
	return group
}
