package background

import (
	"slices"
	"testing"
)

// Within the grace period only the objects that every cluster needs count, as in 1.25.
func TestGraceOfTheStart(t *testing.T) {
	p := newStartup()
	failing := func(grace bool) (names []string) {
		for _, h := range p.hooks() {
			if h.Check(grace) != nil {
				names = append(names, h.Name)
			}
		}
		return names
	}
	needed := []string{"poststarthook/rbac/bootstrap-roles", "poststarthook/scheduling/bootstrap-system-priority-classes", "poststarthook/priority-and-fairness-config-producer"}
	if got := failing(true); !slices.Equal(got, needed) {
		t.Errorf("with grace %v fail", got)
	}
	if got := failing(false); len(got) <= len(needed) || !slices.Contains(got, "autoregister-completion") {
		t.Errorf("without grace only %v fail", got)
	}
	for _, step := range []*startupStep{p.objects, p.ranges, p.service, p.addresses, p.extensions, p.apis, p.flows} {
		close(step.done)
	}
	if got := failing(false); got != nil {
		t.Errorf("after the start %v fail", got)
	}
}
