package emit

import (
	"maps"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
)

// gate is a feature gate with the fields that it drops, and its stages from release to release.
type gate struct {
	Name, Fields string
	Stages       []gateStage
}

// gateStage is a stage of a gate in releases that follow each other, by their places.
type gateStage struct {
	First, Last int
	Stage       string
	On, Locked  bool
	Needs       string // with spaces between
}

// gatesOf gathers the gates of all releases, and the fields behind gates. A field that types of several versions have is named
// once.
func gatesOf(m *model.Model) []gate {
	all := map[string]*gate{}
	add := func(name string) *gate {
		if all[name] == nil {
			all[name] = &gate{Name: name}
		}
		return all[name]
	}
	for i, of := range m.InOrder() {
		if of.Promises == nil {
			continue
		}
		for name, g := range of.Promises.Gates {
			stages, now := &add(name).Stages, gateStage{i, i, g.Stage, g.On(), g.Fixed(), strings.Join(g.Needs, " ")}
			if last := len(*stages) - 1; last >= 0 && (*stages)[last] == (gateStage{(*stages)[last].First, i - 1, now.Stage, now.On, now.Locked, now.Needs}) {
				(*stages)[last].Last = i
			} else {
				*stages = append(*stages, now)
			}
		}
	}
	for name, fields := range gatedFields(m.Whole()) {
		slices.Sort(fields)
		add(name).Fields = strings.Join(slices.Compact(fields), ", ")
	}
	out := make([]gate, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, *all[name])
	}
	return out
}

func gatedFields(m *model.Model) map[string][]string {
	fields := map[string][]string{}
	for _, gv := range m.GroupVersions {
		for _, t := range gv.Types {
			for _, p := range t.Schema.Properties {
				if name := p.Schema.FeatureGate; name != "" {
					fields[name] = append(fields[name], t.Name+"."+p.Name)
				}
			}
		}
	}
	return fields
}
