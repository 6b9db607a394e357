package facts

import "github.com/capstan-dev/capstan/generator/internal/model"

// compareGates compares the feature gates of a release with its table.
func compareGates(m *model.Model, rows []row, found differences) {
	known := map[string]bool{}
	for _, r := range rows {
		known[r["gate"]] = true
		subject := "feature gate " + r["gate"]
		gate, ok := m.Promises.Gates[r["gate"]]
		if !ok {
			found.missing(subject)
			continue
		}
		found.compare(subject, "stage", r["stage"], gate.Stage)
		found.compare(subject, "enabled", r["enabled"], yes(gate.On()))
		found.compare(subject, "locked", r["locked"], yes(gate.Fixed()))
	}
	for name := range m.Promises.Gates {
		if !known[name] {
			found.unexpected("feature gate " + name)
		}
	}
}
