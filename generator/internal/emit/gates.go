package emit

import (
	"maps"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
)

// gatedFeature is a feature gate with the fields that it drops, for the help.
type gatedFeature struct{ Gate, Fields string }

// gatedFeatures gathers the fields behind gates, by gate. A field that types of
// several versions have is named once.
func gatedFeatures(m *model.Model) []gatedFeature {
	fields := map[string][]string{}
	for _, gv := range m.GroupVersions {
		for _, t := range gv.Types {
			for _, p := range t.Schema.Properties {
				if gate := p.Schema.FeatureGate; gate != "" {
					fields[gate] = append(fields[gate], t.Name+"."+p.Name)
				}
			}
		}
	}
	var out []gatedFeature
	for _, gate := range slices.Sorted(maps.Keys(fields)) {
		slices.Sort(fields[gate])
		out = append(out, gatedFeature{gate, strings.Join(slices.Compact(fields[gate]), ", ")})
	}
	return out
}
