package emit

import (
	"testing"

	"github.com/capstan-dev/capstan/generator/internal/model"
)

// TestDeprecatedOperations: the document of a release marks an action from the release on in which its end was announced.
func TestDeprecatedOperations(t *testing.T) {
	action := &model.Action{Deprecation: model.Deprecation{DeprecatedSince: "1.2"}}
	for now, want := range map[string]bool{"": true, "1.0": false, "1.2": true, "1.10": true} {
		m := &model.Model{}
		if now != "" {
			m.Releases = model.Releases{All: []string{"1.0", "1.2", "1.10"}, Now: now}
		}
		head := newComponents(m, version3).head(&operation{does: action})
		if _, marked := head["deprecated"]; marked != want {
			t.Errorf("in release %q the mark is there: %v, want %v", now, marked, want)
		}
	}
}
