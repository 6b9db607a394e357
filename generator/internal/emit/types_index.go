package emit

import (
	"fmt"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// typeIndex finds the named types of a model by their ids.
type typeIndex map[string]*model.Type

func indexTypes(m *model.Model) typeIndex {
	return model.TypesByID(m.GroupVersions)
}

// id returns the type with an id like "core/v1.PodSpec", or nil.
func (x typeIndex) id(id string) *model.Type { return x[id] }

// resolve follows the reference of a schema in the document that declares t.
func (x typeIndex) resolve(t *model.Type, s *schema.Schema) (*model.Type, error) {
	dir, name := t.GV.Dir, strings.TrimPrefix(s.Ref, "#/$defs/")
	if name == s.Ref {
		i := strings.LastIndexByte(s.Ref, '/')
		dir, name = strings.Trim(s.Ref[:max(i, 0)], "/"), s.Ref[i+1:]
	}
	if target := x[dir+"."+name]; target != nil {
		return target, nil
	}
	return nil, fmt.Errorf("%s: $ref %q points at no type: declare %s in schemas/%s", s.Pos, s.Ref, name, dir)
}
