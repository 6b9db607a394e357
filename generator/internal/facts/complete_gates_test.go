package facts

import (
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
)

// compareGates compares the feature gates of a release with its table, and with that of the gates that others need.
func compareGates(m *model.Model, rows, needs []row, found differences) {
	known, needed := map[string]bool{}, map[string]string{}
	for _, r := range needs {
		needed[r["gate"]] = r["needs"]
	}
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
		found.compare(subject, "needs", needed[r["gate"]], strings.Join(gate.Needs, " "))
	}
	for name := range m.Promises.Gates {
		if !known[name] {
			found.unexpected("feature gate " + name)
		}
	}
}
