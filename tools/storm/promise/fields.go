package promise

import (
	"fmt"
	"strings"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/record"
)

// Hooked is the label that webhooks set, and the begin of those of policies: nobody owns the
// changes of admission.
const Hooked = "hooked"

// fields compares the labels, annotations and data of config maps with the fields that
// their managers own.
func fields(r *record.Record) (wrong []string) {
	for _, e := range r.Tape {
		if e.Resource != "configmaps" || e.Type == history.Deleted || strings.HasPrefix(e.Meta.Name, "kube-") {
			continue
		}
		data := make(map[string]string)
		if m, ok := e.Field("data").(map[string]any); ok {
			for name, value := range m {
				data[name] = fmt.Sprint(value)
			}
		}
		for _, part := range []struct {
			path []string
			has  map[string]string
		}{{[]string{"f:metadata", "f:labels"}, e.Meta.Labels}, {[]string{"f:metadata", "f:annotations"}, e.Meta.Annotations}, {[]string{"f:data"}, data}} {
			owned := make(map[string]bool)
			for _, m := range e.Meta.ManagedFields {
				for name := range below(m.Fields, part.path) {
					if name = strings.TrimPrefix(name, "f:"); name != "." {
						owned[name] = true
					}
				}
			}
			for name := range part.has {
				if !owned[name] && !strings.HasPrefix(name, Hooked) {
					wrong = append(wrong, fmt.Sprintf("%s@%d: nobody owns %v %s", e.Key(), e.Revision, part.path, name))
				}
				delete(owned, name)
			}
			for name := range owned {
				wrong = append(wrong, fmt.Sprintf("%s@%d: a manager owns %v %s, which is not there", e.Key(), e.Revision, part.path, name))
			}
		}
	}
	return wrong
}

// below are the fields of a set under a path.
func below(set map[string]any, path []string) map[string]any {
	for _, name := range path {
		set, _ = set[name].(map[string]any)
	}
	return set
}
